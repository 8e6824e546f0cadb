import BeamMedia
import Foundation
import Testing

/// `beamroom watch` on a host that behaves as BeamRoom on iOS does.
extension EndToEnd {
    @Suite(.needsProgram, .needsFFmpeg) struct ViewerTests {
        let scratch: ScratchDirectory
        let stream: RecordedStream

        init() throws {
            scratch = try ScratchDirectory()
            stream = try RecordedStream(width: 640, height: 360, seconds: 2, in: scratch)
        }

        @Test func anIOSHostsPicturesMatchAStandardDecoders() throws {
            let host = try IOSHost(stream)
            defer { host.stop() }
            let frames = scratch.file("frames.y4m")
            let viewer = try Program.watch([
                "--allow-unencrypted", "127.0.0.1:\(host.controlPort)", "--frames", frames, "--time-limit", "7",
            ])
            defer { viewer.end() }
            let first = try viewer.waitFor("first-frame")
            report("first frame of an iOS host after the start", "\((first.number("ms") ?? 0).short) ms")
            #expect(try viewer.waitForEnd() == .exited(0))

            let source = try Y4M(stream.decoded)
            let arrived = try Y4M(frames)
            let matches = arrived.matches(in: source)
            let same = matches.indices.count { arrived.isSame($0, as: source, matches[$0].source) }
            report("pictures of an iOS host", "\(same) of \(arrived.count) bit for bit")
            #expect(arrived.count >= 120)
            #expect(same == arrived.count)

            let state = host.current
            let handshake = try #require(state.lines.first.flatMap { JSONValue($0) })
            #expect(handshake["app"]?.string == "beamroom" && handshake["ver"] == .number(1))
            #expect(handshake["role"]?.string == "viewer")
            let code = try #require(handshake["code"]?.string)
            #expect(code.count == 6 && code.allSatisfy { $0.isASCII && $0.isNumber })
            #expect(state.helloes >= 5, "a hello each second")
            #expect(state.lines.contains { JSONValue($0)?["hb"] != nil }, "a heartbeat within 5 s")
        }

        @Test func theCodeIsShownToThePersonButNotLogged() throws {
            let host = try IOSHost(stream, behaviour: IOSHost.Behaviour(decision: .silence))
            defer { host.stop() }
            let viewer = try Program.watch(["--allow-unencrypted", "127.0.0.1:\(host.controlPort)", "--code", "271828"])
            defer { viewer.end() }
            try viewer.waitForWords("271 828")
            #expect(eventually(timeout: 30) { host.current.codes == ["271828"] })
            viewer.interrupt()
            #expect(try viewer.waitForEnd() == .exited(0))
            #expect(!viewer.process.outputText.contains("271828") && !viewer.process.outputText.contains("271 828"))
        }

        @Test func aRefusalEndsWithItsReason() throws {
            let host = try IOSHost(stream, behaviour: IOSHost.Behaviour(decision: .decline("Declined")))
            defer { host.stop() }
            let viewer = try Program.watch(["--allow-unencrypted", "127.0.0.1:\(host.controlPort)"])
            defer { viewer.end() }
            #expect(try viewer.waitForEnd() == .exited(2))
            #expect(viewer.errorText.contains("Declined"))
            expectPlainWords(viewer.errorText)
        }

        @Test func aHostThatNeverDecidesIsRetried() throws {
            let host = try IOSHost(stream, behaviour: IOSHost.Behaviour(decision: .silence))
            defer { host.stop() }
            let viewer = try Program.watch(["--allow-unencrypted", "127.0.0.1:\(host.controlPort)"])
            defer { viewer.end() }
            let retry = try viewer.waitFor("retry")
            report("a host that never decides: given up after", "\(retry.time.short) s")
            #expect(retry.time > 6)
            host.change { $0.decision = .accept }
            try viewer.waitFor("first-frame")
            #expect(host.current.connections >= 2)
            #expect(Set(host.current.codes).count == 1, "the code stays the same while the person looks at it")
        }

        @Test func theEndOfABroadcastAndItsReturnAreReported() throws {
            let host = try IOSHost(stream)
            defer { host.stop() }
            let frames = scratch.file("frames.y4m")
            let viewer = try Program.watch(["--allow-unencrypted", "127.0.0.1:\(host.controlPort)", "--frames", frames])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            var seen = viewer.lineCount
            host.change { $0.isBroadcasting = false }
            try viewer.waitFor("broadcast", from: seen) { $0.fields["on"] == .bool(false) }
            pause(seconds: 0.5)
            let size = fileSize(frames)
            seen = viewer.lineCount
            host.change { $0.isBroadcasting = true }
            try viewer.waitFor("broadcast", from: seen) { $0.fields["on"] == .bool(true) }
            #expect(eventually(timeout: 30) { fileSize(frames) > size }, "the picture returns")
        }

        @Test func aHostThatStartsLaterIsFound() throws {
            let port = try FreePort.stream()
            let viewer = try Program.watch(["--allow-unencrypted", "127.0.0.1:\(port)"])
            defer { viewer.end() }
            let retry = try viewer.waitFor("retry")
            #expect(retry.string("reason")?.isEmpty == false)
            let host = try IOSHost(stream, port: port)
            defer { host.stop() }
            try viewer.waitFor("first-frame")
            expectPlainWords(viewer.errorText)
        }

        @Test func thePictureContinuesWithoutControl() throws {
            let host = try IOSHost(stream)
            defer { host.stop() }
            let frames = scratch.file("frames.y4m")
            let viewer = try Program.watch(["--allow-unencrypted", "127.0.0.1:\(host.controlPort)", "--frames", frames])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            host.change { $0.refusesConnections = true }
            host.dropControl()
            pause(seconds: 1)
            for _ in 0..<3 {
                let size = fileSize(frames)
                pause(seconds: 0.7)
                #expect(fileSize(frames) > size, "the picture stopped, though only the control connection ended")
            }
            let connections = host.current.connections
            host.change { $0.refusesConnections = false }
            #expect(
                eventually(timeout: 30) { !host.current.pairedControls.isEmpty },
                "the control connection is restored meanwhile")
            #expect(host.current.connections > connections)
        }

        @Test func anIOSHostThatRestartsIsFoundOnItsNewMediaPort() throws {
            let first = try IOSHost(stream)
            let frames = scratch.file("frames.y4m")
            let viewer = try Program.watch([
                "--allow-unencrypted", "127.0.0.1:\(first.controlPort)", "--frames", frames,
            ])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            first.stop()
            pause(seconds: 0.5)
            let size = fileSize(frames)
            let second = try IOSHost(stream, port: first.controlPort)
            defer { second.stop() }
            #expect(second.mediaPort != first.mediaPort)
            let start = secondsNow()
            #expect(eventually(timeout: 30) { fileSize(frames) > size })
            report("an iOS host restarted, picture back after", "\((secondsNow() - start).short) s")
        }
    }
}

func fileSize(_ path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
}
