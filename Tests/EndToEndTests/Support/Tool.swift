import Foundation

/// Command-line tools that the tests check with.
enum Tool {
    /// Runs a tool to its end. Answers its standard output.
    @discardableResult
    static func run(_ command: String, _ arguments: [String], on display: String? = nil, timeout: Double = 60) throws
        -> String
    {
        let process = try ChildProcess(command, arguments, environment: display.map { ["DISPLAY": $0] } ?? [:])
        defer { process.end() }
        let ending = try process.waitForEnd(timeout: timeout)
        guard ending == .exited(0) else {
            throw HarnessError("\(command) \(arguments.joined(separator: " ")): \(ending)\n\(process.errorText)")
        }
        return process.outputText
    }

    /// Whether `command` is in PATH.
    static func exists(_ command: String) -> Bool {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let directories = path.split(separator: ":").map { String($0) } + ["/usr/sbin", "/sbin"]
        return directories.contains { FileManager.default.isExecutableFile(atPath: $0 + "/" + command) }
    }

    /// What ffprobe finds when it decodes a file's video.
    struct Video: Equatable {
        var codec: String
        var profile: String
        var width: Int
        var height: Int
        /// One letter for each decoded picture: I, P or B.
        var pictureTypes: String
        /// The decoder's errors.
        var complaints: String
    }

    static func probe(_ path: String) throws -> Video {
        let process = try ChildProcess(
            "ffprobe",
            [
                "-v", "error", "-select_streams", "v:0", "-of", "json", "-show_entries",
                "stream=codec_name,profile,width,height:frame=pict_type", path,
            ])
        defer { process.end() }
        let ending = try process.waitForEnd(timeout: 60)
        guard ending == .exited(0) else { throw HarnessError("ffprobe \(path): \(ending)\n\(process.errorText)") }
        struct Answer: Decodable {
            struct Stream: Decodable {
                var codec_name: String
                var profile: String?
                var width: Int
                var height: Int
            }
            struct Frame: Decodable { var pict_type: String? }
            var streams: [Stream]
            var frames: [Frame]?
        }
        let answer = try JSONDecoder().decode(Answer.self, from: Data(process.outputText.utf8))
        guard let stream = answer.streams.first else { throw HarnessError("\(path) holds no video") }
        return Video(
            codec: stream.codec_name, profile: stream.profile ?? "", width: stream.width, height: stream.height,
            pictureTypes: (answer.frames ?? []).map { $0.pict_type ?? "?" }.joined(), complaints: process.errorText)
    }
}

/// A temporary directory that is removed with its owner.
final class ScratchDirectory: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "beamroom-test-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    func file(_ name: String) -> String { path + "/" + name }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
