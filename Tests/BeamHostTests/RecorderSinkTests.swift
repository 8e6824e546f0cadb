import BeamClock
import BeamCodec
import BeamMedia
import Foundation
import Synchronization
import Testing

@testable import BeamHost

/// The recorder as a sink: real files and frames, and disks that stall or are full.
struct RecorderSinkTests {
    /// Collects the recorder's events.
    private final class RecorderEvents: Sendable {
        let files = Mutex<[String]>([])
        let gaps = Mutex(0)
        let failures = Mutex<[CodecError]>([])

        var handlers: RecorderSink.Handlers {
            RecorderSink.Handlers(
                onFile: { path in self.files.withLock { $0.append(path) } },
                onGap: { self.gaps.withLock { $0 += 1 } },
                onFailure: { error in self.failures.withLock { $0.append(error) } })
        }
    }

    /// A directory that is removed with this object.
    private final class Scratch {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("beamroom-\(UUID().uuidString)").path

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: path) }

        func file(_ name: String) -> String { "\(path)/\(name)" }
        var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
    }

    /// Frames of noise of some 10 kB each. The first is a keyframe.
    private final class Camera {
        private let encoder: VideoEncoder
        private let size: PixelSize
        private let interval: Duration
        private(set) var count: UInt64 = 0
        private var generator = SystemRandomNumberGenerator()

        init(_ size: PixelSize = PixelSize(width: 320, height: 180), interval: Duration = .milliseconds(33)) throws {
            self.size = size
            self.interval = interval
            encoder = try VideoEncoder(
                EncoderSettings(name: "libx264", size: size, frameRate: 30, bitRate: 20_000_000))
        }

        func frame(keyframe: Bool = false) throws -> EncodedFrame {
            let buffer = PixelBuffer(format: .i420, size: size)
            for plane in 0..<3 {
                let (rowBytes, rows) = buffer.format.plane(plane, of: size)
                for y in 0..<rows {
                    let row = buffer.planes[plane].base + y * buffer.planes[plane].stride
                    for x in 0..<rowBytes { row.storeBytes(of: generator.next(), toByteOffset: x, as: UInt8.self) }
                }
            }
            count += 1
            let time = MediaTime.zero + interval * Int(count)
            return try #require(
                try encoder.encode(Picture(buffer: buffer, time: time, number: count), keyframe: keyframe))
        }
    }

    private static func count(of path: String) throws -> Int { try decoded(path).count }

    /// One letter (I, P or B) for each picture that can be decoded. Throws if ffprobe finds an error in the file.
    private static func decoded(_ path: String) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/ffprobe")
        process.arguments = [
            "-v", "error", "-select_streams", "v:0", "-show_entries", "frame=pict_type", "-of", "csv=p=0", path,
        ]
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let complaints = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(complaints == "")
        return text.filter { "IPB".contains($0) }
    }

    static let hasProbe = FileManager.default.isExecutableFile(atPath: "/usr/bin/ffprobe")

    @Test(.enabled(if: hasProbe, "ffprobe is not installed"), arguments: ["mkv", "mp4"])
    func theRecordingHasLayer0FromTheFirstKeyframeOn(_ ending: String) throws {
        let scratch = try Scratch()
        let (told, camera) = (RecorderEvents(), try Camera())
        let wanted = EncoderDemand(wake: {})
        let path = scratch.file("a.\(ending)")
        let sink = try RecorderSink(
            path: path, consumer: wanted.addConsumer(), clock: nil, handlers: told.handlers)
        #expect(!wanted.isWatched, "the demand is empty before the sink is open")
        sink.open()
        #expect(wanted.demand(layer: 0, at: .zero) == StreamDemand(isWatched: true, isWhole: true))
        #expect(wanted.needsKeyframe(layer: 0) && !wanted.demand(layer: 1, at: .zero).isWatched)
        _ = try camera.frame()
        // Frames before the keyframe and frames of layer 1 are left out.
        for number in 0..<12 {
            var frame = try camera.frame(keyframe: number == 2)
            sink.push(frame)
            frame.layer = 1
            sink.push(frame)
        }
        sink.close()
        #expect(sink.report.frames == 10 && sink.report.dropped == 0)
        #expect(told.files.withLock { $0 } == [path] && told.failures.withLock(\.isEmpty))
        #expect(try Self.decoded(path) == "I" + String(repeating: "P", count: 9))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test(.enabled(if: hasProbe, "ffprobe is not installed")) func anotherSizeStartsAnotherFile() throws {
        let scratch = try Scratch()
        let told = RecorderEvents()
        let wanted = EncoderDemand(wake: {})
        let path = scratch.file("a.mkv")
        let sink = try RecorderSink(
            path: path, consumer: wanted.addConsumer(), clock: nil, handlers: told.handlers)
        sink.open()
        for size in [PixelSize(width: 320, height: 180), PixelSize(width: 160, height: 120)] {
            let camera = try Camera(size)
            for _ in 0..<5 { sink.push(try camera.frame()) }
        }
        sink.close()
        #expect(told.files.withLock { $0 } == [path, scratch.file("a-2.mkv")])
        #expect(sink.report.path == path && sink.report.lastPath == scratch.file("a-2.mkv"))
        for file in [path, scratch.file("a-2.mkv")] { #expect(try Self.count(of: file) == 5) }
    }

    /// A full pipe stands in for a disk that doesn't write.
    @Test(.enabled(if: hasProbe, "ffprobe is not installed")) func aStalledDiskDoesNotBlockTheEncoder() async throws {
        let scratch = try Scratch()
        let (told, camera) = (RecorderEvents(), try Camera(interval: .milliseconds(600)))
        let pipe = scratch.file("pipe.mkv")
        #expect(mkfifo(pipe, 0o600) == 0)
        let reader = open(pipe, O_RDONLY | O_NONBLOCK)
        // F_SETPIPE_SZ, which Swift can't import: 4096 bytes is the smallest pipe.
        try #require(reader >= 0 && fcntl(reader, 1031, 4096) == 4096)
        let wanted = EncoderDemand(wake: {})
        let queue = BoundedQueue<BackgroundRecorder.Entry>(capacity: 8)
        let sink = try RecorderSink(
            path: pipe, consumer: wanted.addConsumer(), queue: queue, clock: nil, handlers: told.handlers)
        sink.open()
        wanted.keyframeMade(layer: 0)
        // Nobody reads the pipe. Each frame is written separately, so one of the first blocks the writer.
        var pushed = 0
        repeat {
            sink.push(try camera.frame())
            pushed += 1
            for _ in 0..<200 where queue.count > 0 { try await Task.sleep(for: .milliseconds(10)) }
        } while queue.count == 0 && pushed < 20
        #expect(pushed < 20 && told.gaps.withLock { $0 } == 0)
        // The queue fills up, and the recorder drops the rest.
        let tooMany = 10
        for _ in queue.count..<8 + tooMany { sink.push(try camera.frame()) }
        #expect(told.gaps.withLock { $0 } == 1 && (7...10).contains(sink.report.dropped))
        #expect(!wanted.needsKeyframe(layer: 0), "a keyframe is of no use while the disk is stalled")
        // The recorder also drops a keyframe that comes before the disk has caught up.
        let dropped = sink.report.dropped
        sink.push(try camera.frame(keyframe: true))
        #expect(sink.report.dropped == dropped + 1)

        // The disk works again.
        _ = fcntl(reader, F_SETFL, 0)
        let copy = scratch.file("copy.mkv")
        let copier = StageThread("copier") {
            let file = open(copy, O_WRONLY | O_CREAT, 0o600)
            var buffer = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = read(reader, &buffer, buffer.count)
                guard count > 0, write(file, buffer, count) == count else { break }
            }
            Glibc.close(file)
            Glibc.close(reader)
        }
        try await eventually { wanted.needsKeyframe(layer: 0) }
        wanted.keyframeMade(layer: 0)
        // Frames that come before the requested keyframe are dropped.
        sink.push(try camera.frame())
        let missed = sink.report.dropped
        for number in 0..<6 { sink.push(try camera.frame(keyframe: number == 0)) }
        sink.close()
        copier.join()
        #expect(told.gaps.withLock { $0 } == 1 && told.failures.withLock(\.isEmpty))
        #expect(sink.report.dropped == missed && missed == dropped + 2)
        #expect(sink.report.frames + sink.report.dropped == camera.count)
        #expect(!wanted.needsKeyframe(layer: 0))
        // The file decodes without errors before and after the gap.
        let pictures = try Self.decoded(copy)
        #expect(pictures.count == Int(sink.report.frames) && pictures.hasSuffix("IPPPPP"))
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full"), "there is no /dev/full"))
    func aFullDiskEndsTheRecordingOnly() async throws {
        let scratch = try Scratch()
        let (told, camera) = (RecorderEvents(), try Camera())
        let path = scratch.file("full.mkv")
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/full")
        let wanted = EncoderDemand(wake: {})
        let (network, recorder) = (wanted.addConsumer(), wanted.addConsumer())
        network.set(StreamDemand(isWatched: true, bitRate: 1_000_000), layer: 0)
        let sink = try RecorderSink(path: path, consumer: recorder, handlers: told.handlers)
        sink.open()
        for number in 0..<60 { sink.push(try camera.frame(keyframe: number == 0)) }
        try await eventually { !told.failures.withLock(\.isEmpty) }
        #expect(
            told.failures.withLock { $0 } == [.cannotWriteFile(path: path, reason: "no space left on device")])
        // The recorder no longer counts in the demand, and takes no more frames.
        #expect(wanted.demand(layer: 0, at: .zero) == StreamDemand(isWatched: true, bitRate: 1_000_000))
        let report = sink.report
        sink.push(try camera.frame(keyframe: true))
        sink.close()
        #expect(sink.report == report && told.failures.withLock(\.count) == 1)
    }

    @Test func anUnusablePathIsAnErrorBeforeTheRecordingStarts() throws {
        let scratch = try Scratch()
        let wanted = EncoderDemand(wake: {})
        let consumer = wanted.addConsumer()
        try Data("precious".utf8).write(to: URL(fileURLWithPath: scratch.file("there.mkv")))
        for path in ["/nowhere/a.mkv", scratch.file("a.docx"), scratch.file("there.mkv"), scratch.path] {
            #expect(throws: CodecError.self) {
                try RecorderSink(path: path, consumer: consumer, handlers: RecorderEvents().handlers)
            }
        }
        #expect(scratch.names == ["there.mkv"])
    }

    @Test func aHostThatCannotStartLeavesNoFile() throws {
        let scratch = try Scratch()
        let consumer = EncoderDemand(wake: {}).addConsumer()
        for _ in 0..<2 {
            let sink = try RecorderSink(
                path: scratch.file("a.mkv"), consumer: consumer, handlers: RecorderEvents().handlers)
            #expect(scratch.names == ["a.mkv"])
            sink.close()
            #expect(scratch.names == [])
        }
    }
}
