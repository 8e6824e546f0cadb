import BeamMedia
import Foundation
import Synchronization

@testable import BeamCapture

extension PixelBuffer {
    /// Row `row` of plane `index`.
    func samples(_ index: Int, _ row: Int) -> UnsafeMutableBufferPointer<UInt8> {
        let (rowBytes, _) = format.plane(index, of: size)
        let base = planes[index].base + row * planes[index].stride
        return UnsafeMutableBufferPointer(start: base.assumingMemoryBound(to: UInt8.self), count: rowBytes)
    }

    /// Every sample in order, without padding.
    var allSamples: [UInt8] {
        var all: [UInt8] = []
        for plane in 0..<format.planeCount {
            for row in 0..<format.plane(plane, of: size).rows { all += samples(plane, row) }
        }
        return all
    }

    /// FNV-1a, 64 bits, of all samples in order.
    var fingerprint: UInt64 {
        allSamples.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}

/// Runs a source on its own thread and records what it delivers.
final class RunningSource<Source: PictureSource>: Sendable {
    struct Outcome: Sendable {
        var pictures: [Picture] = []
        var error: CaptureError?
        var isEnded = false
    }

    let source: Source
    private let outcome: Outcomes
    private let thread: StageThread

    private final class Outcomes: Sendable {
        let value = Mutex(Outcome())
    }

    /// - Parameter delay: how long the consumer takes for each picture, in seconds.
    init(_ source: Source, delay: TimeInterval = 0) {
        self.source = source
        let outcome = Outcomes()
        self.outcome = outcome
        thread = StageThread("test-source") {
            do throws(CaptureError) {
                try source.run { picture in
                    outcome.value.withLock { $0.pictures.append(picture) }
                    if delay > 0 { Thread.sleep(forTimeInterval: delay) }
                }
            } catch {
                outcome.value.withLock { $0.error = error }
            }
            outcome.value.withLock { $0.isEnded = true }
        }
    }

    var now: Outcome { outcome.value.withLock { $0 } }

    var count: Int { outcome.value.withLock { $0.pictures.count } }

    /// Waits until `condition` holds; false after `seconds`.
    func wait(seconds: Double = 60, until condition: (Outcome) -> Bool) -> Bool {
        let limit = Date(timeIntervalSinceNow: seconds)
        while !condition(now) {
            if Date() > limit { return false }
            Thread.sleep(forTimeInterval: 0.002)
        }
        return true
    }

    /// Stops the source. Returns everything it delivered, once its thread has ended.
    @discardableResult
    func stop() -> Outcome {
        source.stop()
        thread.join()
        return now
    }
}

/// A temporary directory, removed in `deinit`.
final class ScratchDirectory {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "beamroom-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { path + "/" + name }

    /// Records frames of the test pattern as YUV4MPEG2.
    func pattern(
        _ name: String, _ size: PixelSize, frames: Int, frameRate: Int = 30, range: String? = nil
    ) throws -> String {
        let renderer = try PatternRenderer(PatternOptions(size: size, frameRate: Double(frameRate)))
        let range = range.map { " XCOLORRANGE=\($0)" } ?? ""
        var data = Data("YUV4MPEG2 W\(size.width) H\(size.height) F\(frameRate):1 Ip A1:1 C420jpeg\(range)\n".utf8)
        for number in 0..<frames {
            data += Data("FRAME\n".utf8)
            data += Data(renderer.picture(number).buffer.allSamples)
        }
        try data.write(to: URL(fileURLWithPath: file(name)))
        return file(name)
    }

    /// Runs the ffmpeg program in this directory.
    func ffmpeg(_ arguments: String...) throws { try ffmpeg(arguments) }

    func ffmpeg(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["ffmpeg", "-nostdin", "-v", "error", "-y"] + arguments
        process.currentDirectoryURL = URL(fileURLWithPath: path)
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw FFmpegFailure(description: "ffmpeg \(arguments) ended with \(process.terminationStatus)")
        }
    }
}

struct FFmpegFailure: Error, CustomStringConvertible { let description: String }

/// Whether the ffmpeg program is installed.
let hasFFmpeg: Bool = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").contains {
    FileManager.default.isExecutableFile(atPath: $0 + "/ffmpeg")
}
