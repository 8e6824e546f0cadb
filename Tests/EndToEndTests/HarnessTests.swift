import Foundation
import Testing

/// The tests' own tools.
extension EndToEnd {
    @Suite struct HarnessTests {
        @Test func aChildsOutputAndExitStatusAreRead() throws {
            let process = try ChildProcess("sh", ["-c", "echo one; echo two >&2; printf three; exit 7"])
            defer { process.end() }
            #expect(try process.waitForEnd() == .exited(7))
            #expect(process.outputText == "one\nthree")
            #expect(process.errorText == "two")
        }

        @Test func aChildIsInterruptedAndKilledWithItsChildren() throws {
            let polite = try ChildProcess("sh", ["-c", "trap 'exit 3' INT; echo up; while :; do sleep 0.05; done"])
            defer { polite.end() }
            _ = polite.state.wait(timeout: 5) { $0.output.isEmpty ? nil : true }
            polite.interrupt()
            #expect(try polite.waitForEnd() == .exited(3))
            let stubborn = try ChildProcess("sh", ["-c", "trap '' INT; sleep 50 & wait"])
            defer { stubborn.end() }
            stubborn.kill()
            #expect(try stubborn.waitForEnd() == .killed(signal: SIGKILL))
        }

        @Test(.enabled(if: XServer.isAvailable, "Xvfb isn't installed"))
        func thePainterChangesTheScreen() throws {
            let server = try XServer(width: 640, height: 360)
            let painter = try Painter(server.display, framesPerSecond: 30)
            let first = try Screenshot.take(of: server.display)
            let count = painter.painted
            let start = secondsNow()
            pause(seconds: 1)
            let rate = Double(painter.painted - count) / (secondsNow() - start)
            painter.freeze()
            let second = try Screenshot.take(of: server.display)
            report("painter, frames per second", rate.short)
            #expect(rate > 20)
            #expect(first.differingPixels(second) > 1000)
            #expect(first.psnr(second, x: 0, y: 0, width: 640, height: 180) == .infinity)
            #expect(first.litShare > 0.5)
        }

        @Test(.enabled(if: RecordedStream.isAvailable, "ffmpeg isn't installed"))
        func theReferenceViewerReadsTheReferenceHost() throws {
            let scratch = try ScratchDirectory()
            let stream = try RecordedStream(width: 640, height: 360, seconds: 2, in: scratch)
            let host = try IOSHost(stream)
            defer { host.stop() }
            let viewer = try IOSViewer(host.controlPort)
            defer { viewer.leave() }
            #expect(try viewer.reply()["ok"] == .bool(true))
            try viewer.waitForFrames(60)
            let checker = viewer.current.checker
            #expect(checker.errors == [])
            let (bytes, count) = checker.annexB()
            let file = scratch.file("received.h264")
            try Data(bytes).write(to: URL(fileURLWithPath: file))
            let video = try Tool.probe(file)
            #expect(video.pictureTypes.count == count)
            #expect(video.profile == "Main")
            #expect(video.complaints == "")
            host.change { $0.isBroadcasting = false }
            try viewer.wait("the end of the broadcast") { $0.broadcast == false ? true : nil }
        }

        @Test(.enabled(if: RecordedStream.isAvailable, "ffmpeg isn't installed"))
        func relaysLoseAndReorderAndCut() throws {
            let scratch = try ScratchDirectory()
            let host = try IOSHost(try RecordedStream(width: 640, height: 360, seconds: 2, in: scratch))
            defer { host.stop() }
            let media = try UDPRelay(UDPRelay.Conditions(loss: 0.02, reorder: 0.05))
            let control = try TCPRelay(to: host.controlPort, media: media)
            let viewer = try IOSViewer(control.port)
            defer { viewer.leave() }
            try viewer.waitForFrames(40)
            #expect(viewer.current.mediaPort == media.port)
            let state = media.state.current
            let losses = "\(state.lost) lost, \(state.reordered) reordered, \(state.passed) passed"
            report("relay", "\(losses), \(viewer.current.checker.incomplete) frames incomplete")
            #expect(state.lost > 0 && state.reordered > 0)
            control.cut()
            try viewer.wait("the cut") { $0.controlHasEnded ? true : nil }
            let count = viewer.current.checker.frames.count
            try viewer.waitForFrames(count + 20)
            media.change { $0.isMuted = true }
            pause(seconds: 0.2)
            let muted = viewer.current.checker.datagrams
            pause(seconds: 0.3)
            #expect(viewer.current.checker.datagrams == muted)
        }

        @Test(.enabled(if: RecordedStream.isAvailable, "ffmpeg isn't installed"))
        func picturesAreMatchedToTheirSource() throws {
            let scratch = try ScratchDirectory()
            let stream = try RecordedStream(width: 1366, height: 768, seconds: 1, in: scratch)
            let source = try Y4M(stream.decoded)
            let start = secondsNow()
            let matches = source.matches(in: source)
            report("comparing a 1366x768 picture", "\(((secondsNow() - start) / 30 * 1000).short) ms")
            #expect(matches.map(\.source) == Array(0..<30))
            #expect(matches.allSatisfy { $0.psnr == .infinity })
        }
    }

    /// The strict reader of version 1: each violation of the wire's rules is named.
    @Suite struct WireCheckerTests {
        private static let slice: [UInt8] = [0, 0, 0, 3, 0x41, 0x9a, 0x00]
        private static let keySlice: [UInt8] = [0, 0, 0, 3, 0x65, 0x88, 0x80]
        private static let sets: [UInt8] = [1, 1, 0, 4, 0x67, 77, 0, 31, 0, 4, 0x68, 0xee, 0x3c, 0x80]

        private static func datagram(
            _ sequence: UInt8, part: UInt8 = 0, of count: UInt8 = 1, flags: UInt8 = 0, config: [UInt8] = [],
            body: [UInt8]
        ) -> [UInt8] {
            Array("BMRV".utf8) + [
                0, 0, 0, sequence, 0, part, 0, count, 0, flags, 2, 128, 1, 104, 0, UInt8(config.count),
            ]
                + config + body
        }

        private func errors(_ datagrams: [UInt8]...) -> String {
            var checker = WireChecker()
            for datagram in datagrams { checker.accept(datagram, at: 0) }
            return checker.errors.joined(separator: "; ")
        }

        private let key = datagram(0, flags: 3, config: sets, body: keySlice)

        @Test func aCorrectKeyframeAndSliceHaveNoErrors() {
            #expect(errors(key, Self.datagram(1, body: Self.slice)) == "")
            let halves = Self.keySlice
            #expect(
                errors(
                    Self.datagram(0, of: 2, flags: 3, config: Self.sets, body: Array(halves[..<3])),
                    Self.datagram(0, part: 1, of: 2, flags: 3, body: Array(halves[3...]))) == "")
        }

        @Test func violationsAreNamed() {
            let foreign = [UInt8](repeating: 0x42, count: 40)
            #expect(errors(foreign).contains("instead of BMRV"))
            #expect(errors(Array(key[..<12])).contains("no whole header"))
            #expect(errors(key + [UInt8](repeating: 0, count: 1200)).contains("more than 1200"))
            #expect(errors(key, Self.datagram(2, body: Self.slice)).contains("comes after frame 0"))
            #expect(errors(Self.datagram(0, part: 1, body: Self.slice)).contains("no such part"))
            #expect(errors(Self.datagram(0, flags: 1, body: Self.keySlice)).contains("a keyframe has both bits"))
            #expect(errors(Self.datagram(0, flags: 3, body: Self.keySlice)).contains("0 config bytes"))
            #expect(errors(Self.datagram(0, config: Self.sets, body: Self.slice)).contains("config bytes"))
            #expect(errors(Self.datagram(0, body: Self.slice + [0, 0])).contains("don't add up"))
            #expect(errors(Self.datagram(0, body: Self.keySlice)).contains("non-keyframe"))
            #expect(errors(Self.datagram(0, body: [0, 0, 0, 2, 0x67, 77] + Self.slice)).contains("among the AVCC"))
            var other = Self.sets
            other[5] = 100
            #expect(errors(Self.datagram(0, flags: 3, config: other, body: Self.keySlice)).contains("profile 100"))
            #expect(
                errors(Self.datagram(0, flags: 3, config: Self.sets + [0], body: Self.keySlice))
                    .contains("block that doesn't add up"))
            #expect(
                errors(
                    Self.datagram(0, of: 3, body: [0]), Self.datagram(0, part: 1, of: 4, body: [0]),
                    Self.datagram(0, part: 1, of: 3, body: [0])
                ).contains("other header fields"))
            #expect(errors(Self.datagram(0, of: 2, body: [0]), Self.datagram(0, of: 2, body: [0])).contains("twice"))
        }
    }
}
