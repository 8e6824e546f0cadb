import Foundation
import Testing

/// Version 1 is used only where this side allows it, and never without a warning.
extension EndToEnd {
    @Suite(.needsProgram) struct OldPeerTests {
        let ports: Ports

        init() throws { ports = try Ports() }

        @Test func anOldViewerIsRefusedWithAReason() throws {
            let host = try Program.share(.pattern, ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try IOSViewer(ports.control)
            defer { viewer.leave() }
            let reply = try viewer.reply()
            #expect(reply["ok"] == .bool(false))
            let message = try #require(reply["message"]?.string)
            report("an old viewer is told", message)
            #expect(message.localizedCaseInsensitiveContains("encrypt"), "\(message)")
            #expect(reply["sessionID"] == nil && viewer.current.mediaPort == nil)
            try viewer.wait("the end of the connection") { $0.controlHasEnded ? true : nil }
            try host.waitForWords("--allow-unencrypted")
            // Hellos of a socket on its machine get no stream either.
            let unknownPeer = try Socket.datagrams()
            for _ in 0..<5 {
                unknownPeer.send(Array("BRHI!".utf8), to: Endpoint(ports.media))
                pause(seconds: 0.1)
            }
            #expect(unknownPeer.receiveWaitingDatagram() == nil && viewer.current.checker.datagrams == 0)
            expectPlainWords(host.errorText)
        }

        @Test func ifAllowedAnOldViewerIsAdmittedWithAWarning() throws {
            let host = try Program.share(.pattern + ["--allow-unencrypted"], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            try host.waitForWords("everybody on this network can see")
            let viewer = try IOSViewer(ports.control)
            defer { viewer.leave() }
            #expect(try viewer.reply()["ok"] == .bool(true))
            try viewer.waitForFrames(10)
            #expect(try host.waitFor("paired").fields["encrypted"] == .bool(false))
            try host.waitForWords("is not encrypted")

            // Two current programs speak version 2 even if version 1 is allowed.
            let program = try Program.watch([ports.target, "--allow-unencrypted"])
            defer { program.end() }
            try program.waitFor("first-frame")
            #expect(program.events("paired").first?.fields["encrypted"] == .bool(true))
            #expect(!program.errorText.contains("not encrypted"), "\(program.errorText)")
        }

        @Test(.needsFFmpeg, arguments: [true, false])
        func anOldHostIsWatchedOnlyIfAllowed(hangsUpOnTLS: Bool) throws {
            let scratch = try ScratchDirectory()
            let stream = try RecordedStream(width: 640, height: 360, seconds: 2, in: scratch)
            let host = try IOSHost(stream, behaviour: IOSHost.Behaviour(hangsUpOnTLS: hangsUpOnTLS))
            defer { host.stop() }
            let target = "127.0.0.1:\(host.controlPort)"
            let strict = try Program.watch([target])
            defer { strict.end() }
            try strict.waitForWords("--allow-unencrypted")
            #expect(strict.events("paired").isEmpty)
            #expect(host.current.codes.isEmpty && host.current.lines.isEmpty, "the viewer sends nothing in the clear")
            #expect(host.current.secureAttempts >= 1)
            expectPlainWords(strict.errorText)
            strict.end()

            let lenient = try Program.watch([target, "--allow-unencrypted"])
            defer { lenient.end() }
            let first = try lenient.waitFor("first-frame")
            report(
                "an old host that \(hangsUpOnTLS ? "hangs up on" : "ignores") TLS, first frame after the start",
                "\((first.number("ms") ?? 0).short) ms")
            #expect(lenient.events("paired").first?.fields["encrypted"] == .bool(false))
            try lenient.waitForWords("everybody on this network can see")
        }

        @Test(.needsFFmpeg, .needsXServer) func theWindowWarnsOfAnUnencryptedStream() throws {
            let scratch = try ScratchDirectory()
            // A black picture, so that anything else in the window is BeamRoom's own.
            let stream = try RecordedStream(width: 640, height: 360, seconds: 2, source: "color=black", in: scratch)
            let old = try IOSHost(stream)
            defer { old.stop() }
            let host = try Program.share(["--source", stream.decoded], ports: ports)
            defer { host.end() }
            try host.waitFor("ready")
            func litShare(_ target: String, _ more: [String]) throws -> Double {
                let server = try XServer(width: 640, height: 360)
                let viewer = try Program.watch([target, "--fullscreen"] + more, display: server.display)
                defer { viewer.end() }
                try viewer.waitFor("first-frame")
                // The keys are shown for 5 s.
                pause(seconds: 6.5)
                return try Screenshot.take(of: server.display).litShare
            }
            let encrypted = try litShare(ports.target, [])
            let warned = try litShare("127.0.0.1:\(old.controlPort)", ["--allow-unencrypted"])
            report(
                "lit part of a black window, encrypted and not",
                "\((encrypted * 100).short) %, \((warned * 100).short) %")
            #expect(encrypted < 0.0005)
            #expect(warned > 0.002)
        }
    }
}
