import CXCB
import Foundation
import Testing

/// Exact pixels in rooms of equals, and where the picture comes through somebody else.
extension EndToEnd {
    @Suite(.needsProgram, .needsXServer) struct ExactRoomTests {
        /// The screen that is shared, and the one with the window that shows it.
        private struct Screens {
            let shared: XServer
            let shown: XServer

            init() throws {
                shared = try XServer(width: 640, height: 360)
                shown = try XServer(width: 640, height: 360)
            }

            /// Whether the window shows the screen, of each pixel blue, green and red, between what it writes above and
            /// below: whose screen it is, and through whom it comes.
            var areEqual: Bool {
                get throws {
                    let both = try [shared, shown].map {
                        try Screenshot.take(of: $0.display, y: 60, width: 640, height: 240)
                    }
                    return both[0].isEqual(to: both[1])
                }
            }

            /// The screen at rest, then small changes, each until it is seen, then rest after motion.
            func expectExactness(sourceLocation: SourceLocation = #_sourceLocation) throws {
                let painter = try Painter(shared.display, framesPerSecond: 0)
                #expect(
                    try eventually(timeout: 30) { try areEqual }, "a still screen", sourceLocation: sourceLocation)
                let pen = try Pen(shared.display)
                for step in 0..<20 {
                    pen.fill(
                        x: 23 * step, y: 60 + 17 * step % 220, width: 9, height: 17,
                        colour: 0xff_30_10 + UInt32(step * 999))
                    #expect(
                        try eventually(timeout: 20) { try areEqual }, "change \(step)", sourceLocation: sourceLocation)
                }
                painter.move(framesPerSecond: 30)
                pause(seconds: 1)
                painter.freeze()
                #expect(try eventually(timeout: 30) { try areEqual }, "after motion", sourceLocation: sourceLocation)
            }
        }

        private static let asShared = ["--no-cursor", "--no-frame"]

        /// How many patches a host or a relay has sent, or a viewer has got.
        private func patches(_ program: ProgramProcess) -> Int {
            Int(program.events("stats").compactMap { $0.number("patches") }.last ?? 0)
        }

        @Test func aRoomIsExact() throws {
            let screens = try Screens()
            let (anna, ben) = (try Member("Anna"), try Member("Ben", display: screens.shown.display))
            defer { for member in [anna, ben] { member.end() } }
            try anna.start(
                "study", ["--share", "--accept", "all", "--display", screens.shared.display] + Self.asShared)
            try ben.enter(through: anna, ["--fullscreen"])
            try ben.program.waitFor("first-frame")
            try screens.expectExactness()
            #expect(
                eventually(timeout: 30) {
                    ben.program.events("stats").last { $0.string("host") == "Anna" }?.number("exact") == 1
                })
            #expect(eventually(timeout: 10) { patches(ben.program) >= 20 })
            for member in [anna, ben] { expectPlainWords(member.program.errorText) }
        }

        /// Cleo can't reach Anna, who shares: what it sees comes through Ben, who has no window.
        @Test func aRoomIsExactThroughAnotherMember() throws {
            let screens = try Screens()
            let (anna, ben) = (try Member("Anna"), try Member("Ben"))
            let cleo = try Member("Cleo", display: screens.shown.display)
            defer { for member in [anna, ben, cleo] { member.end() } }
            try anna.start(
                "study", ["--share", "--accept", "all", "--display", screens.shared.display] + Self.asShared)
            try ben.enter(through: anna, ["--accept", "all"])
            try ben.program.waitFor("first-frame")
            // At an address at which nobody can be reached.
            try cleo.launch(["--at", ben.target, "--relays", "all", "--bind", "239.255.0.7", "--fullscreen"])
            #expect(try cleo.program.waitFor("relayed").string("throughName") == "Ben")
            try cleo.program.waitFor("first-frame")
            try screens.expectExactness()
            #expect(eventually(timeout: 10) { patches(cleo.program) >= 20 })
            for member in [anna, ben, cleo] { expectPlainWords(member.program.errorText) }
        }

        @Test func aRelayPassesPatchesOn() throws {
            let screens = try Screens()
            let (hostPorts, relayPorts) = (try Ports(), try Ports())
            func share() throws -> ProgramProcess {
                let host = try Program.share(
                    ["--display", screens.shared.display] + Self.asShared, ports: hostPorts)
                try host.waitFor("ready")
                return host
            }
            var host = try share()
            defer { host.end() }
            let relay = try Program.relay(hostPorts.target, ports: relayPorts)
            defer { relay.end() }
            try relay.waitFor("ready")
            let viewer = try Program.watch(
                [relayPorts.target, "--fullscreen"], display: screens.shown.display)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            try screens.expectExactness()
            #expect(eventually(timeout: 10) { patches(host) >= 20 && patches(relay) >= 20 })

            // Another process takes the host's place; its viewers stay.
            host.process.kill()
            try viewer.waitFor("source-visible") { $0.string("why") == "host-lost" }
            let painter = try Painter(screens.shared.display, framesPerSecond: 0)
            host = try share()
            #expect(try eventually(timeout: 30) { try screens.areEqual }, "after the host's return")
            #expect(painter.painted == 1 && viewer.events("paired").count == 1)
            for program in [host, relay, viewer] { expectPlainWords(program.errorText) }
        }

        /// The screen was at rest before the relay came, and one of its viewers gets the frames alone.
        @Test func aRelaysViewersGetPatchesOrFrames() throws {
            let screens = try Screens()
            let scratch = try ScratchDirectory()
            let (hostPorts, relayPorts) = (try Ports(), try Ports())
            let painter = try Painter(screens.shared.display, framesPerSecond: 0)
            let host = try Program.share(["--display", screens.shared.display] + Self.asShared, ports: hostPorts)
            defer { host.end() }
            try host.waitFor("ready")
            let relay = try Program.relay(hostPorts.target, ports: relayPorts)
            defer { relay.end() }
            try relay.waitFor("ready")
            let viewer = try Program.watch([relayPorts.target, "--fullscreen"], display: screens.shown.display)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            #expect(try eventually(timeout: 30) { try screens.areEqual })
            let other = try Program.watch([relayPorts.target, "--record", scratch.file("other.mkv")])
            defer { other.end() }
            try other.waitFor("first-frame")
            func frames() -> Double { other.events("stats").compactMap { $0.number("frames") }.last ?? 0 }
            let before = frames()
            let pen = try Pen(screens.shared.display)
            pen.fill(x: 100, y: 100, width: 9, height: 17, colour: 0xff_30_10)
            #expect(try eventually(timeout: 30) { try screens.areEqual })
            #expect(eventually(timeout: 30) { frames() > before }, "the change comes as a frame, too")
            #expect(painter.painted == 1 && other.events("stats").allSatisfy { $0.number("patches") == nil })
            for program in [host, relay, viewer, other] { expectPlainWords(program.errorText) }
        }
    }
}
