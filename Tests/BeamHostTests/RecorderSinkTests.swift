import BeamClock
import BeamCodec
import BeamMedia
import Foundation
import Synchronization
import Testing

@testable import BeamHost

/// The recorder beside the network: real files, real frames, and disks that don't do as they should.
struct RecorderSinkTests {
    /// What the recorder tells.
    private final class Told: Sendable {
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

    /// A directory that goes away with this object.
    private final class Scratch {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("beamroom-\(UUID().uuidString)").path

        init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        deinit { try? FileManager.default.removeItem(atPath: path) }

        func file(_ name: String) -> String { "\(path)/\(name)" }
        var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
    }

    /// Frames of noise, each some tens of kilobytes. The first is a keyframe.
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

    /// One letter for each picture that can be decoded. A file that can't be read, or not whole, is an error.
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
    func layerZeroIsRecordedFromAKeyframeOn(_ ending: String) throws {
        let scratch = try Scratch()
        let (told, camera) = (Told(), try Camera())
        let wanted = EncoderDemand(wake: {})
        let path = scratch.file("a.\(ending)")
        let sink = try RecorderSink(path: path, consumer: wanted.addConsumer(), handlers: told.handlers)
        #expect(!wanted.isWatched, "nothing is wanted before it is open")
        sink.open()
        #expect(wanted.demand(layer: 0, at: .zero) == StreamDemand(isWatched: true))
        #expect(wanted.needsKeyframe(layer: 0) && !wanted.demand(layer: 1, at: .zero).isWatched)
        _ = try camera.frame()
        // What nobody can decode is left out, and so is the other layer.
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

    @Test(.enabled(if: hasProbe, "ffprobe is not installed")) func anotherSizeIsAnotherFile() throws {
        let scratch = try Scratch()
        let told = Told()
        let wanted = EncoderDemand(wake: {})
        let path = scratch.file("a.mkv")
        let sink = try RecorderSink(path: path, consumer: wanted.addConsumer(), handlers: told.handlers)
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

    /// A pipe that is full stands for a disk that does nothing.
    @Test(.enabled(if: hasProbe, "ffprobe is not installed")) func aDiskThatStandsStillHoldsNobodyUp() async throws {
        let scratch = try Scratch()
        let (told, camera) = (Told(), try Camera(interval: .milliseconds(600)))
        let pipe = scratch.file("pipe.mkv")
        #expect(mkfifo(pipe, 0o600) == 0)
        let reader = open(pipe, O_RDONLY | O_NONBLOCK)
        // F_SETPIPE_SZ, which Swift doesn't see: the least that a pipe holds.
        try #require(reader >= 0 && fcntl(reader, 1031, 4096) == 4096)
        let wanted = EncoderDemand(wake: {})
        let queue = BoundedQueue<EncodedFrame>(capacity: 8)
        let sink = try RecorderSink(
            path: pipe, consumer: wanted.addConsumer(), queue: queue, handlers: told.handlers)
        sink.open()
        wanted.keyframeMade(layer: 0)
        // Nobody reads. Each frame is written for itself, so one of the first is stuck.
        var pushed = 0
        repeat {
            sink.push(try camera.frame())
            pushed += 1
            for _ in 0..<200 where queue.count > 0 { try await Task.sleep(for: .milliseconds(10)) }
        } while queue.count == 0 && pushed < 20
        #expect(pushed < 20 && told.gaps.withLock { $0 } == 0)
        // What there is room for waits in the queue, and the rest is left out.
        let tooMany = 10
        for _ in queue.count..<8 + tooMany { sink.push(try camera.frame()) }
        #expect(told.gaps.withLock { $0 } == 1 && (7...10).contains(sink.report.dropped))
        #expect(!wanted.needsKeyframe(layer: 0), "while the disk stands still, a keyframe is of no use")
        // A keyframe for somebody else comes too early for the recorder.
        let dropped = sink.report.dropped
        sink.push(try camera.frame(keyframe: true))
        #expect(sink.report.dropped == dropped + 1)

        // The disk is back.
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
        // Frames that were on their way come before it.
        sink.push(try camera.frame())
        let missed = sink.report.dropped
        for number in 0..<6 { sink.push(try camera.frame(keyframe: number == 0)) }
        sink.close()
        copier.join()
        #expect(told.gaps.withLock { $0 } == 1 && told.failures.withLock(\.isEmpty))
        #expect(sink.report.dropped == missed && missed == dropped + 2)
        #expect(sink.report.frames + sink.report.dropped == camera.count)
        #expect(!wanted.needsKeyframe(layer: 0))
        // What there is can be decoded without a complaint, before and after the gap.
        let pictures = try Self.decoded(copy)
        #expect(pictures.count == Int(sink.report.frames) && pictures.hasSuffix("IPPPPP"))
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full"), "there is no /dev/full"))
    func aFullDiskEndsTheRecordingAndNothingElse() async throws {
        let scratch = try Scratch()
        let (told, camera) = (Told(), try Camera())
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
        // It wants nothing any more, and takes nothing.
        #expect(wanted.demand(layer: 0, at: .zero) == StreamDemand(isWatched: true, bitRate: 1_000_000))
        let report = sink.report
        sink.push(try camera.frame(keyframe: true))
        sink.close()
        #expect(sink.report == report && told.failures.withLock(\.count) == 1)
    }

    @Test func whatCannotBeWrittenIsKnownBeforeAnythingBegins() throws {
        let scratch = try Scratch()
        let wanted = EncoderDemand(wake: {})
        let consumer = wanted.addConsumer()
        try Data("precious".utf8).write(to: URL(fileURLWithPath: scratch.file("there.mkv")))
        for path in ["/nowhere/a.mkv", scratch.file("a.docx"), scratch.file("there.mkv"), scratch.path] {
            #expect(throws: CodecError.self) {
                try RecorderSink(path: path, consumer: consumer, handlers: Told().handlers)
            }
        }
        #expect(scratch.names == ["there.mkv"])
    }

    @Test func aHostThatCannotStartLeavesNoFile() throws {
        let scratch = try Scratch()
        let consumer = EncoderDemand(wake: {}).addConsumer()
        for _ in 0..<2 {
            let sink = try RecorderSink(path: scratch.file("a.mkv"), consumer: consumer, handlers: Told().handlers)
            #expect(scratch.names == ["a.mkv"])
            sink.close()
            #expect(scratch.names == [])
        }
    }
}
