import BeamCodec
import BeamMedia
import Foundation

/// A seeded generator (SplitMix64), so that a failure can be repeated.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

extension PixelBuffer {
    /// Row `row` of plane `index`.
    func row(_ index: Int, _ row: Int) -> UnsafeMutableRawBufferPointer {
        let (rowBytes, _) = format.plane(index, of: size)
        return UnsafeMutableRawBufferPointer(
            start: planes[index].base + row * planes[index].stride, count: rowBytes)
    }

    func fill(_ values: UInt8...) {
        for index in 0..<format.planeCount {
            for y in 0..<format.plane(index, of: size).rows {
                _ = row(index, y).initializeMemory(as: UInt8.self, repeating: values[min(index, values.count - 1)])
            }
        }
    }
}

/// Lines of made-up text on a coloured background that scroll up by four rows a picture: sharp edges and motion.
struct MovingContent {
    let size: PixelSize
    private let lines: [[UInt8]]

    init(_ size: PixelSize, seed: UInt64 = 1) {
        self.size = size
        var generator = SeededGenerator(seed: seed)
        // Eight lines of text, 16 rows apart, of glyphs 5 × 7 in a grid of 8 × 16.
        var lines: [[UInt8]] = []
        for _ in 0..<8 {
            let glyphs = (0..<(size.width + 7) / 8).map { column -> UInt64 in
                let random = generator.next()
                // Words, in the left half of the line at most.
                return column % 9 < 7 && column * 16 < size.width ? random : 0
            }
            for row in 0..<16 {
                lines.append(
                    (0..<size.width).map { x in
                        let column = x % 8
                        let isInk =
                            (4..<11).contains(row) && column < 5 && glyphs[x / 8] >> ((row - 4) * 5 + column) & 1 == 1
                        return isInk ? 60 : 200
                    })
            }
        }
        self.lines = lines
    }

    /// Picture `number` as i420, 1/30 s after the one before.
    func picture(_ number: Int) -> Picture {
        let buffer = PixelBuffer(format: .i420, size: size)
        for y in 0..<size.height { buffer.row(0, y).copyBytes(from: lines[(y + 4 * number) % lines.count]) }
        for y in 0..<(size.height + 1) / 2 {
            for plane in 1...2 {
                _ = buffer.row(plane, y).initializeMemory(
                    as: UInt8.self, repeating: UInt8(100 + (y + 2 * number + 20 * plane) / 8 % 56))
            }
        }
        return Picture(buffer: buffer, time: Self.time(number), number: UInt64(number))
    }

    static func time(_ number: Int) -> MediaTime { MediaTime(nanoseconds: 5_000_000_000 + Int64(number) * 33_333_333) }

    /// `count` encoded pictures: the first is a keyframe, and so are `keyframes`.
    func coded(
        _ count: Int, keyframes: Set<Int> = [], frameRate: Double = 30, bitRate: Int? = nil
    ) throws -> [AccessUnit] {
        try frames(count, keyframes: keyframes, frameRate: frameRate, bitRate: bitRate).map(\.unit)
    }

    /// The same, with the pictures' times.
    func frames(
        _ count: Int, keyframes: Set<Int> = [], frameRate: Double = 30, bitRate: Int? = nil
    ) throws -> [EncodedFrame] {
        let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: frameRate, bitRate: bitRate))
        return try (0..<count).compactMap { number in
            try encoder.encode(picture(number), keyframe: keyframes.contains(number))
        }
    }
}

extension ReceivedFrame {
    /// A frame of which all parts arrived at `time`.
    init(_ unit: AccessUnit, number: Int = 0, time: MediaTime = .zero) {
        self.init(unit: unit, number: UInt32(number), firstArrival: time, lastArrival: time)
    }
}

extension VideoDecoder {
    /// Decodes a unit whose time and number don't matter.
    func decode(_ unit: AccessUnit) throws(CodecError) -> Picture? { try decode(ReceivedFrame(unit)) }
}

/// A directory that is removed with this object.
final class TemporaryDirectory {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("beamroom-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { "\(path)/\(name)" }
}

struct Hang: Error {}

/// Waits until `isSo` holds; throws `Hang` after 60 s.
func eventually(_ isSo: () throws -> Bool) async throws {
    for _ in 0..<6000 {
        if try isSo() { return }
        try await Task.sleep(for: .milliseconds(10))
    }
    throw Hang()
}

/// ffprobe, as an independent reader of recordings.
enum Probe {
    static let path = ["/usr/bin/ffprobe", "/usr/local/bin/ffprobe"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    static var isThere: Bool { path != nil }

    struct Result {
        var lines: [String]
        var errors: String
    }

    /// ffprobe's bare values: one line for each frame, packet or stream.
    static func run(_ file: String, _ arguments: String...) throws -> Result {
        let ended = try Tool.run(
            path ?? "/usr/bin/ffprobe", ["-v", "error", "-of", "csv=p=0"] + arguments + [file])
        let lines = ended.output.split(separator: "\n").map {
            $0.trimmingCharacters(in: CharacterSet(charactersIn: ", "))
        }
        return Result(lines: lines, errors: ended.errors)
    }
}

/// Programs that we didn't write.
enum Tool {
    struct Ended {
        var output: String
        var errors: String
        var status: Int32
    }

    /// Runs a program to its end.
    static func run(_ path: String, _ arguments: [String]) throws -> Ended {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        process.standardInput = FileHandle.nullDevice
        try process.run()
        // The errors are few and fit into the pipe, so the output can be read to its end first.
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let complaints = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return Ended(output: text, errors: complaints, status: process.terminationStatus)
    }
}

extension AccessUnit {
    /// The units' `nal_unit_type`s and sizes.
    var nalUnits: [(type: UInt8, size: Int)] {
        let bytes = Array(avcc)
        var units: [(type: UInt8, size: Int)] = []
        var offset = 0
        while offset + 4 < bytes.count {
            let length = bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
            units.append((bytes[offset + 4] & 0x1f, length))
            offset += 4 + length
        }
        return units
    }

    /// The unit as an Annex B byte stream, parameter sets first.
    var annexB: [UInt8] {
        var stream: [UInt8] = []
        for set in (parameterSets?.sps ?? []) + (parameterSets?.pps ?? []) { stream += [0, 0, 0, 1] + set }
        let bytes = Array(avcc)
        var offset = 0
        for unit in nalUnits {
            stream += [0, 0, 0, 1] + bytes[offset + 4..<offset + 4 + unit.size]
            offset += 4 + unit.size
        }
        return stream
    }
}

/// The seeds of a fuzz body; `usual` is its usual number of inputs. `BEAMROOM_FUZZ_ITERATIONS` (100,000 is an ordinary
/// run) scales it, `BEAMROOM_FUZZ_SEED` sets the first seed.
func fuzzSeeds(_ usual: Int) -> Range<UInt64> {
    let environment = ProcessInfo.processInfo.environment
    let first = environment["BEAMROOM_FUZZ_SEED"].flatMap { UInt64($0) } ?? 1
    let wanted = environment["BEAMROOM_FUZZ_ITERATIONS"].flatMap { Int($0) } ?? 100_000
    return first..<first + UInt64(max(1, wanted * usual / 100_000))
}
