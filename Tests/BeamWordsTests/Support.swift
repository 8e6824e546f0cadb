import BeamMedia
import BeamWords
import Foundation
import Synchronization

/// A directory that is removed with this object.
final class Scratch: Sendable {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("beamroom-\(UUID().uuidString)").path

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { "\(path)/\(name)" }
    func text(_ name: String) throws -> String { try String(contentsOfFile: file(name), encoding: .utf8) }

    /// Creates or appends to a file.
    func append(_ bytes: some Sequence<UInt8>, to name: String) throws {
        let handle = try SystemHandle(open(file(name), O_WRONLY | O_CREAT | O_APPEND, 0o600))
        try handle.write(Array(bytes))
    }
}

struct Hang: Error {}
struct SystemError: Error { var code = errno }

/// Waits until `isSo` holds; throws `Hang` after 60 s.
func eventually(_ isSo: () throws -> Bool) async throws {
    for _ in 0..<6000 {
        if try isSo() { return }
        try await Task.sleep(for: .milliseconds(10))
    }
    throw Hang()
}

/// A file descriptor, closed with this object.
final class SystemHandle: Sendable {
    let descriptor: CInt

    init(_ descriptor: CInt) throws {
        guard descriptor >= 0 else { throw SystemError() }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    func write(_ bytes: [UInt8]) throws {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + done, $0.count - done) }
            guard count > 0 else { throw SystemError() }
            done += count
        }
    }

    func write(_ text: String) throws { try write(Array(text.utf8)) }
}

/// A pipe whose path is `/proc/self/fd/N`, which is what a shell's `<(command)` gives.
final class AnonymousPipe: Sendable {
    let writer: SystemHandle
    private let reader: SystemHandle

    init() throws {
        var ends: [CInt] = [-1, -1]
        // As the program does: a reader that goes must not end the process.
        signal(SIGPIPE, SIG_IGN)
        guard pipe(&ends) == 0 else { throw SystemError() }
        reader = try SystemHandle(ends[0])
        writer = try SystemHandle(ends[1])
    }

    var path: String { "/proc/self/fd/\(reader.descriptor)" }
}

/// Collects a reader's events.
final class Heard: Sendable {
    private let all = Mutex<[CaptionReader.Event]>([])

    var events: [CaptionReader.Event] { all.withLock { $0 } }
    var finals: [String] {
        events.compactMap { if case .final(let text, _) = $0 { text } else { nil } }
    }
    var partials: [String] {
        events.compactMap { if case .partial(let text, _) = $0 { text } else { nil } }
    }
    var bad: [Int] {
        events.compactMap { if case .badLine(let number, _) = $0 { number } else { nil } }
    }

    func take(_ event: CaptionReader.Event) { all.withLock { $0.append(event) } }
}

/// A started reader, which is stopped with this object.
final class Reading {
    let heard = Heard()
    let reader: CaptionReader

    init(_ path: String) throws {
        reader = try CaptionReader(path: path)
        reader.start { [heard] in heard.take($0) }
    }

    deinit { reader.stop() }
}

/// Collects failures.
final class Failures: Sendable {
    private let all = Mutex<[WordsError]>([])
    var errors: [WordsError] { all.withLock { $0 } }
    func take(_ error: WordsError) { all.withLock { $0.append(error) } }
}

/// Programs that we didn't write.
enum Tool {
    static var isThere: Bool {
        ["ffmpeg", "ffprobe"].allSatisfy { FileManager.default.isExecutableFile(atPath: "/usr/bin/\($0)") }
    }

    struct Failed: Error { var text: String }

    /// Its output; throws if it writes an error or fails.
    static func run(_ name: String, _ arguments: String...) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/\(name)")
        process.arguments = ["-v", "error"] + arguments
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let complaints = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0, complaints.isEmpty else { throw Failed(text: complaints) }
        return text.replacingOccurrences(of: "\r\n", with: "\n")
    }

    struct Cue: Equatable {
        var start: Double
        var duration: Double
    }

    /// The cues that ffprobe finds in a subtitle file or track, in the file's order.
    static func cues(_ path: String) throws -> [Cue] {
        try run(
            "ffprobe", "-select_streams", "s:0", "-show_entries", "packet=pts_time,duration_time", "-of", "csv=p=0",
            path
        ).split(separator: "\n").compactMap { line in
            let fields = line.split(separator: ",").compactMap { Double($0) }
            return fields.count == 2 ? Cue(start: fields[0], duration: fields[1]) : nil
        }
    }
}

/// A file system of 16 KiB, unmounted with this object.
final class TinyDisk {
    let path: String

    /// Nil if this process may not mount one.
    init?(_ path: String) {
        self.path = path
        guard mkdir(path, 0o700) == 0,
            Self.run("mount", "-t", "tmpfs", "-o", "size=16k", "beamroom-tests", path)
        else { return nil }
    }

    deinit { _ = Self.run("umount", "-l", path) }

    static var isPossible: Bool {
        guard geteuid() == 0, let scratch = try? Scratch() else { return false }
        return TinyDisk(scratch.file("disk")) != nil
    }

    private static func run(_ name: String, _ arguments: String...) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/\(name)")
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}

/// A caption with usual names.
func caption(_ text: String, at seconds: Double, speaker: String? = nil, author: String = "desk") -> TranscriptLine {
    TranscriptLine(kind: .caption, author: author, speaker: speaker, text: text, time: .seconds(seconds))
}
