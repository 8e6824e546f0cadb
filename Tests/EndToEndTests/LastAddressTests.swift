import Foundation
import Testing

/// Paired hosts that are found where they were before, and what is said of the connection to them.
extension EndToEnd {
    @Suite(
        .needsProgram,
        .enabled(if: PrivateMachine.obstacle == nil, "\(PrivateMachine.obstacle ?? "")"))
    struct LastAddressTests {
        let network: PrivateMachine
        let desk: Machine
        let sofa: Machine

        init() throws {
            network = try PrivateMachine()
            desk = try Machine()
            sofa = try Machine()
        }

        /// As on a network where multicast doesn't pass.
        @Test(arguments: [true, false]) func aHostThatIsNotAnnouncedIsFoundByItsLastAddress(hasDaemon: Bool) throws {
            try pair()
            if !hasDaemon {
                try network.stopDaemon()
                let early = try network.watch(["--auto", "desk"], as: sofa)
                defer { early.end() }
                // Nothing says that it can't work.
                try early.waitForWords("Trying the addresses where “desk” was last.")
                #expect(!early.errorText.contains("Connect by address"), "\(early.errorText)")
            }
            let host = try share(["--no-discovery"])
            defer { host.end() }
            for arguments in [["Desk"], ["--auto", "desk"]] {
                let viewer = try network.watch(arguments, as: sofa)
                defer { viewer.end() }
                let first = try viewer.waitFor("first-frame")
                report(
                    "found by its last address (daemon: \(hasDaemon)), first frame after the start",
                    "\((first.number("ms") ?? 0).short) ms")
                #expect(viewer.events("paired").first?.fields["encrypted"] == .bool(true))
                expectPlainWords(viewer.errorText)
            }
            // The list for people says no more than before.
            #expect(try sofa.devices().first?.fields["places"] == nil)
        }

        @Test(.enabled(if: Tool.exists("avahi-publish-service"), "avahi-publish isn't installed (package avahi-utils)"))
        func aStaleAnnouncementIsNotTheOnlyThingTried() throws {
            try pair()
            // Announced where nobody listens.
            let announcement = try network.run(["avahi-publish-service", "Desk", "_beamctl._tcp", "9", "beam=1,2"])
            defer { announcement.end() }
            try waitUntilListed(1)
            let host = try share(["--no-discovery"])
            defer { host.end() }
            let viewer = try network.watch(["Desk"], as: sofa)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            #expect(viewer.events("refused").isEmpty)
        }

        /// Somebody else announces the name, and answers there.
        @Test func aFalseHostUnderTheNameDoesNotHideTheTrueOne() throws {
            try pair()
            let host = try share(["--no-discovery"])
            defer { host.end() }
            let impostor = try network.share(name: "Desk", ["--port", "52399"])
            defer { impostor.end() }
            try waitUntilListed(1)
            let viewer = try network.watch(["Desk"], as: sofa)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            #expect(viewer.events("refused").isEmpty)
            #expect(impostor.events("paired").isEmpty)
            #expect(try sofa.devices().map { $0.string("name") } == ["Desk"])
        }

        /// Lost, and started anew under another name and at another port.
        @Test func aLostHostIsFoundUnderAnotherName() throws {
            try pair()
            let host = try share([])
            defer { host.end() }
            let viewer = try network.watch(["Desk"], as: sofa)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            try viewer.waitFor("connection") { $0.string("state") == "stable" }
            pause(seconds: 1.5)
            let words = viewer.process.state.current.errors.count
            host.kill()
            try viewer.waitForWords("“Desk” hasn't been reachable since ", from: words)
            try viewer.waitFor("connection", from: viewer.lineCount - 20) { $0.string("state") == "connecting" }
            let seen = viewer.lineCount
            let moved = try network.share(
                name: "Attic", ["--trusted-only", "--port", "52399", "--media-port", "52400"], accept: nil, as: desk)
            defer { moved.end() }
            let start = secondsNow()
            try viewer.waitFor("stats", from: seen) { ($0.number("fps") ?? 0) > 1 }
            report("a host is back under another name and port, watched within", "\((secondsNow() - start).short) s")
            #expect(viewer.events("refused").isEmpty)
            expectPlainWords(viewer.errorText)
        }

        @Test func statesOfTheConnectionAreEvents() throws {
            try pair()
            let host = try share(["--no-discovery"])
            defer { host.end() }
            let viewer = try network.watch(["Desk"], as: sofa)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            #expect(viewer.events("connection").map { $0.string("state") } == ["connecting"])
            // Within 5 s of being made.
            host.kill()
            try viewer.waitFor("connection") { $0.string("state") == "unstable" }
            let again = try share(["--no-discovery"])
            defer { again.end() }
            try viewer.waitFor("connection") { $0.string("state") == "stable" }
            #expect(viewer.events("connection").map { $0.string("state") } == ["connecting", "unstable", "stable"])
            #expect(viewer.unreadableLines == [])
        }

        // MARK: Support

        private func share(_ arguments: [String]) throws -> ProgramProcess {
            try network.share(name: "Desk", ["--trusted-only"] + arguments, accept: nil, as: desk)
        }

        private func pair() throws {
            let host = try network.share(name: "Desk", ["--code", "482913"], accept: nil, as: desk)
            defer { host.end() }
            try waitUntilListed(1)
            let viewer = try network.watch(["Desk", "--code", "482913"], as: sofa)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            try viewer.waitFor("device-paired")
            let isStored = eventually(timeout: 30) {
                let list = try? String(contentsOfFile: sofa.store + "/devices.json", encoding: .utf8)
                return list?.contains("\"addresses\"") == true
            }
            guard isStored else { throw HarnessError("the host's address isn't stored") }
            host.interrupt()
            _ = try host.waitForEnd()
            try waitUntilListed(0)
        }

        private func waitUntilListed(_ count: Int) throws {
            guard try eventually(timeout: 30, { try network.hosts(wait: 0.5).count == count }) else {
                throw HarnessError("\(count) hosts should be listed")
            }
        }
    }
}
