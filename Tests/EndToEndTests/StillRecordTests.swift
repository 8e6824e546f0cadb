import Foundation
import Testing

/// Recordings of a screen on which nothing changes any more, at both ends.
extension EndToEnd {
    @Suite(.needsProgram, .needsFFmpeg, .needsXServer) struct StillRecordTests {
        /// The host ends by Ctrl-C, the viewer by its time limit. Captions come long after the last change.
        @Test(arguments: ["mkv", "mp4"]) func aRecordingLastsUntilItEnds(kind: String) throws {
            let server = try XServer(width: 640, height: 360)
            let painter = try Painter(server.display, framesPerSecond: 0)
            let scratch = try ScratchDirectory()
            let ports = try Ports()
            let (hostFile, viewerFile) = (scratch.file("host.\(kind)"), scratch.file("viewer.\(kind)"))
            let captions = try CaptionPipe()
            let host = try Program.share(
                ["--display", server.display, "--record", hostFile, "--captions", captions.path], ports: ports)
            defer { host.end() }
            try host.waitFor("recording")
            let viewer = try Program.watch([ports.target, "--record", viewerFile, "--time-limit", "12"])
            defer { viewer.end() }
            try viewer.waitFor("recording")
            pause(seconds: 8)
            try captions.write("long after the last change\n")
            #expect(try viewer.waitForEnd() == .exited(0))
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))
            for (program, file) in [(host, hostFile), (viewer, viewerFile)] {
                let begun = try #require(program.events("recording").first?.number("t"))
                let ended = try #require(program.events("summary").first?.number("t"))
                let found = try StillFile(file)
                report("a still screen in \(kind)", "\(ended - begun) s, recorded \(found.duration) s")
                #expect(ended - begun > 8)
                let words = try #require(
                    program.errorText.firstMatch(of: /Recorded ([0-9]+) s in [^ ]+: [0-9]+ pictures?,/),
                    "\(program.errorText)")
                #expect(abs(Double(words.1).map { $0 - (ended - begun) } ?? 100) < 2)
                #expect(abs(found.duration - (ended - begun)) < 1.5)
                #expect(abs(found.lastPicture - found.duration) < 0.5)
                #expect(found.captions.contains("long after the last change"))
                #expect(try StillFile.hasPicture(file, at: found.duration - 0.5))
                #expect(try Tool.probe(file).complaints == "")
            }
            _ = painter
        }

        /// A host that is killed leaves most of what it recorded; the viewer's recording lasts while it looks for it.
        @Test(arguments: ["mkv", "mp4"]) func aKilledHostLeavesALongRecording(kind: String) throws {
            let server = try XServer(width: 640, height: 360)
            let painter = try Painter(server.display, framesPerSecond: 0)
            let scratch = try ScratchDirectory()
            let ports = try Ports()
            let (hostFile, viewerFile) = (scratch.file("host.\(kind)"), scratch.file("viewer.\(kind)"))
            let host = try Program.share(["--display", server.display, "--record", hostFile], ports: ports)
            defer { host.end() }
            try host.waitFor("recording")
            let viewer = try Program.watch([ports.target, "--record", viewerFile])
            defer { viewer.end() }
            let begun = try viewer.waitFor("recording").number("t") ?? 0
            pause(seconds: 12)
            kill(host.pid, SIGKILL)
            _ = try host.waitForEnd()
            pause(seconds: 6)
            viewer.interrupt()
            #expect(try viewer.waitForEnd() == .exited(0))
            let ended = try #require(viewer.events("summary").first?.number("t"))
            #expect(try StillFile(hostFile).lastPicture > 4)
            let found = try StillFile(viewerFile)
            report("a still screen in \(kind), its host killed", "\(ended - begun) s, recorded \(found.duration) s")
            #expect(ended - begun > 17 && abs(found.duration - (ended - begun)) < 1.5)
            _ = painter
        }
    }
}

/// What ffprobe and ffmpeg find in a recording.
private struct StillFile {
    /// Of the whole file, and the time of its last picture; in seconds.
    var duration: Double
    var lastPicture: Double
    var captions: String

    init(_ path: String) throws {
        let format = try Self.run("ffprobe", ["-show_entries", "format=duration", "-of", "csv=p=0", path])
        duration = Double(format.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0
        let frames = try Self.run(
            "ffprobe", ["-select_streams", "v:0", "-show_entries", "frame=pts_time", "-of", "csv=p=0", path])
        lastPicture =
            frames.split(whereSeparator: \.isNewline).last.flatMap {
                Double($0.trimmingCharacters(in: CharacterSet(charactersIn: ", ")))
            } ?? 0
        captions = try Self.run("ffmpeg", ["-i", path, "-map", "0:s?", "-f", "srt", "-"])
    }

    /// A player that seeks there finds a picture.
    static func hasPicture(_ path: String, at seconds: Double) throws -> Bool {
        try run(
            "ffmpeg",
            ["-ss", "\(seconds)", "-i", path, "-map", "0:v", "-frames:v", "1", "-f", "framemd5", "-"]
        ).contains("\n0, ")
    }

    private static func run(_ program: String, _ arguments: [String]) throws -> String {
        let process = try ChildProcess(program, ["-v", "error"] + arguments)
        defer { process.end() }
        guard try process.waitForEnd(timeout: 60) == .exited(0) else {
            throw HarnessError("\(program) \(arguments): \(process.errorText)")
        }
        return process.outputText
    }
}
