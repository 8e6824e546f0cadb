import Foundation
import Testing

/// `share --record` with and without viewers.
extension EndToEnd {
    @Suite(.needsProgram, .needsFFmpeg) struct HostRecordTests {
        @Test(.needsXServer, arguments: ["mkv", "mp4"])
        func aScreenIsRecordedWithoutAViewer(kind: String) throws {
            let server = try XServer(width: 640, height: 360)
            let painter = try Painter(server.display, framesPerSecond: 20)
            defer { painter.freeze() }
            let scratch = try ScratchDirectory()
            let file = scratch.file("host.\(kind)")
            let host = try Program.share(
                ["--display", server.display, "--record", file, "--time-limit", "4"], ports: try Ports())
            defer { host.end() }
            #expect(try host.waitForEnd() == .exited(0))
            let begun = try #require(host.events("recording").first)
            #expect(begun.string("file") == file)
            let summary = try #require(host.events("summary").first)
            let recorded = Int(summary.number("recorded") ?? -1)
            let video = try Tool.probe(file)
            report("recorded \(kind) without a viewer", "\(video.pictureTypes.count) frames")
            #expect(summary.number("viewers") == 0 && summary.number("recordingDropped") == 0)
            // The last picture is repeated at the end if that comes late.
            #expect(recorded >= 20 && (recorded...recorded + 2).contains(video.pictureTypes.count))
            #expect(video.complaints == "" && video.codec == "h264")
            #expect(video.width == 640 && video.height == 360)
            // Nothing requests a keyframe after the first.
            #expect(video.pictureTypes.filter { $0 == "I" } == "I")
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }

        /// Each viewer that joins gets a keyframe, and the recording has every frame.
        @Test func viewersComeAndGoWhileTheHostRecords() throws {
            let scratch = try ScratchDirectory()
            let ports = try Ports()
            let file = scratch.file("host.mkv")
            let host = try recordingHost(file, ports)
            defer { host.end() }
            for _ in 0..<2 {
                let viewer = try Program.watch([ports.target])
                defer { viewer.end() }
                try viewer.waitFor("first-frame")
                try viewer.waitFor("stats") { ($0.number("frames") ?? 0) > 20 }
                viewer.interrupt()
                #expect(try viewer.waitForEnd() == .exited(0))
                // Without viewers the recording continues.
                let before = host.lineCount
                let recorded = try host.waitFor("stats", from: before).number("recorded") ?? 0
                try host.waitFor("stats", from: before) { ($0.number("recorded") ?? 0) > recorded + 20 }
            }
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))
            let summary = try #require(host.events("summary").first)
            let video = try Tool.probe(file)
            report("recorded while viewers came and went", "\(video.pictureTypes.count) frames")
            #expect(video.complaints == "")
            let recorded = Int(summary.number("recorded") ?? -1)
            #expect((recorded...recorded + 2).contains(video.pictureTypes.count))
            #expect(video.pictureTypes.count { $0 == "I" } >= 3, "the recorder's, and one for each viewer")
        }

        /// A vanished viewer holds the encoder until it is given up; the recording continues long before that.
        @Test func aViewerThatVanishesDoesNotStopTheRecording() throws {
            let scratch = try ScratchDirectory()
            let ports = try Ports()
            let file = scratch.file("host.mkv")
            let host = try recordingHost(file, ports)
            defer { host.end() }
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            try viewer.waitFor("stats") { ($0.number("frames") ?? 0) > 20 }
            kill(viewer.pid, SIGSTOP)
            let before = host.lineCount
            // The frames of 2 s, before the silent viewer is given up.
            let recorded = try host.waitFor("stats", from: before).number("recorded") ?? 0
            try host.waitFor("stats", from: before) { ($0.number("recorded") ?? 0) > recorded + 60 }
            #expect(host.events("viewer-left").isEmpty)
            // The viewer returns, and sees the current picture.
            let seen = viewer.lineCount
            kill(viewer.pid, SIGCONT)
            try viewer.waitFor("stats", from: seen) { ($0.number("fps") ?? 0) > 10 }
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))
            let video = try Tool.probe(file)
            report("recorded past a viewer that stood still", "\(video.pictureTypes.count) frames")
            #expect(video.complaints == "")
        }

        /// A viewer behind a path that carries a tenth of the stream gets a layer of its own, and the recording has one file
        /// in full size and at the full rate.
        @Test(.enabled(if: LossyNetwork.obstacle == nil, "\(LossyNetwork.obstacle ?? "")"))
        func aSlowViewerDoesNotSlowTheRecording() throws {
            let network = try LossyNetwork("rate=400k,queue=200ms,delay=5ms")
            let scratch = try ScratchDirectory()
            let file = scratch.file("host.mkv")
            let host = try network.share([
                "--source", "pattern", "--content", "video", "--size", "1280x720", "--max-fps", "30", "--record", file,
            ])
            defer { host.end() }
            try host.waitFor("recording")
            let viewer = try network.watch([])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            try host.waitFor("layer") { $0.fields["reduced"] == .bool(true) }
            let moved = host.lineCount
            let before = try host.waitFor("stats", from: moved)
            let after = try host.waitFor("stats", from: moved, timeout: 60) {
                ($0.number("t") ?? 0) > (before.number("t") ?? 0) + 8
            }
            #expect((try viewer.waitFor("stats", from: viewer.lineCount).number("fps") ?? 0) > 0)
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))
            #expect(host.events("recording").count == 1, "one file")
            let captured = (after.number("captured") ?? 0) - (before.number("captured") ?? 0)
            let recorded = (after.number("recorded") ?? 0) - (before.number("recorded") ?? 0)
            let video = try Tool.probe(file)
            report("recorded beside a slow viewer", "\(Int(recorded)) of \(Int(captured)) pictures")
            // A busy machine replaces pictures before the encoder; the viewer's layer has a third of the frames.
            #expect(recorded > 0.6 * captured && captured > 60)
            #expect(video.complaints == "" && video.width == 1280 && video.height == 720)
            #expect(video.pictureTypes.count == Int(host.events("summary").first?.number("recorded") ?? -1))
        }

        @Test(.needsXServer) func anotherSizeGoesIntoTheNextFile() throws {
            let server = try XServer(width: 800, height: 600)
            let painter = try Painter(server.display, framesPerSecond: 20)
            defer { painter.freeze() }
            let connection = try XConnection(server.display)
            let window = try #require(connection.visibleWindows().last?.id)
            let scratch = try ScratchDirectory()
            let host = try Program.share(
                ["--display", server.display, "--window", "\(window)", "--record", scratch.file("host.mkv")],
                ports: try Ports())
            defer { host.end() }
            try host.waitFor("recording")
            connection.resize(window, width: 641, height: 361)
            let next = try host.waitFor("recording") { $0.string("file") == scratch.file("host-2.mkv") }
            try host.waitFor("stats") { ($0.number("t") ?? 0) > (next.number("t") ?? 0) + 1 }
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(0))
            let (first, second) = (
                try Tool.probe(scratch.file("host.mkv")), try Tool.probe(scratch.file("host-2.mkv"))
            )
            #expect(first.complaints == "" && second.complaints == "")
            #expect((second.width, second.height) == (641, 361) && (first.width, first.height) != (641, 361))
            let count = first.pictureTypes.count + second.pictureTypes.count
            let recorded = Int(host.events("summary").first?.number("recorded") ?? -1)
            #expect((recorded...recorded + 4).contains(count))
        }

        /// The recording ends, the viewers don't notice, and the exit status tells.
        @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full"), "there is no /dev/full"))
        func aFullDiskEndsTheRecordingOnly() throws {
            let scratch = try ScratchDirectory()
            let ports = try Ports()
            let file = scratch.file("full.mkv")
            try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "/dev/full")
            let host = try Program.share(
                ["--source", "pattern", "--size", "320x180", "--max-fps", "30", "--record", file], ports: ports)
            defer { host.end() }
            let failed = try host.waitFor("recording-failed")
            #expect(failed.string("reason")?.contains("no space left") == true)
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            try viewer.waitFor("stats") { ($0.number("frames") ?? 0) > 20 }
            viewer.interrupt()
            #expect(try viewer.waitForEnd() == .exited(0))
            host.interrupt()
            #expect(try host.waitForEnd() == .exited(1))
            #expect(host.events.last?.name == "summary")
            #expect(host.errorText.contains("Sharing goes on") && host.errorText.contains("isn't complete"))
        }

        /// So that another try with the same name works.
        @Test func aHostThatCannotStartLeavesNoFile() throws {
            let scratch = try ScratchDirectory()
            let taken = try Socket.listen()
            let file = scratch.file("host.mkv")
            let (ending, _, words) = try Program.run([
                "share", "--source", "pattern", "--no-discovery", "--port", "\(taken.localEndpoint.port)",
                "--record", file, "--time-limit", "5",
            ])
            #expect(ending == .exited(1), "\(words)")
            #expect(!FileManager.default.fileExists(atPath: file))
        }

        /// A host that records already, 640 × 360 at 30.
        private func recordingHost(_ file: String, _ ports: Ports) throws -> ProgramProcess {
            let host = try Program.share(
                ["--source", "pattern", "--size", "640x360", "--max-fps", "30", "--record", file], ports: ports)
            do {
                try host.waitFor("recording")
            } catch {
                host.end()
                throw error
            }
            return host
        }
    }
}
