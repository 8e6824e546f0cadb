import Foundation
import Testing

/// Peers that use the names of others, and names that imitate a question.
extension EndToEnd {
    @Suite(.needsProgram, .needsOpenSSL) struct ImpostorTests {
        let scratch: ScratchDirectory
        let sofa: Machine
        let ports: Ports

        init() throws {
            scratch = try ScratchDirectory()
            sofa = try Machine()
            ports = try Ports()
        }

        /// A false host offers only a comparison to a viewer that has a code.
        @Test func aViewerWithACodeDoesNotCompareDigits() throws {
            let identity = try OpenSSL.selfSigned("false", key: try OpenSSL.key("false", in: scratch), in: scratch)
            let falseHost = try TLSPeer(at: Endpoint(ports.control, on: "127.0.0.1"), as: identity)
            let viewer = try Program.watch([ports.target, "--code", "482913"], machine: sofa)
            defer { viewer.end() }
            _ = try #require(falseHost.wait(for: WireMessage.hello))
            falseHost.send(
                WireMessage.welcome,
                [0, 2, 0, 0, 0, 0, 0, 2] + [UInt8](repeating: 7, count: 32) + WireMessage.text("desk"))
            #expect(try viewer.waitForEnd() == .exited(2))
            #expect(viewer.errorText.contains("can't prove its identity"), "\(viewer.errorText)")
            #expect(viewer.events("device-paired").isEmpty && viewer.events("paired").isEmpty)
            #expect(try sofa.devices().isEmpty)
            expectPlainWords(viewer.errorText)
        }

        /// Two hosts are paired. One of them takes the other's name, and later the other takes its address.
        @Test func aHostKeepsTheNameThatItWasPairedUnder() throws {
            let (desk, eve) = (try Machine(), try Machine())
            for (machine, name) in [(desk, "desk"), (eve, "eve")] {
                let host = try share(machine, name)
                let viewer = try Program.watch([ports.target, "--code", "482913", "--new-host"], machine: sofa)
                try viewer.waitFor("first-frame")
                try viewer.waitFor("device-paired")
                try host.waitFor("device-paired")
                try waitUntilSeen(name)
                viewer.end()
                host.end()
            }
            #expect(try sofa.devices().map { $0.string("name") } == ["desk", "eve"])
            // Eve forgets the viewer, so that they pair again, under another name.
            try eve.forget(try #require(eve.devices().first?.string("key")))
            do {
                let host = try share(eve, "desk")
                defer { host.end() }
                let viewer = try Program.watch([ports.target, "--code", "482913"], machine: sofa)
                defer { viewer.end() }
                try viewer.waitFor("first-frame")
                #expect(viewer.events("paired").first?.string("name") == "eve")
                try viewer.waitForWords("calls itself “desk” now")
            }
            #expect(try sofa.devices().map { $0.string("name") } == ["desk", "eve"])

            // At eve's last address there is now another known key.
            let host = try share(desk, "desk")
            defer { host.end() }
            let viewer = try Program.watch([ports.target], machine: sofa)
            defer { viewer.end() }
            #expect(try viewer.waitForEnd() == .exited(2))
            #expect(viewer.errorText.contains("“eve”"), "\(viewer.errorText)")
            #expect(viewer.errorText.contains("--new-host"), "\(viewer.errorText)")
            let told = try Program.watch([ports.target, "--new-host"], machine: sofa)
            defer { told.end() }
            try told.waitFor("first-frame")
            try waitUntilSeen("desk")
            // From now on this host is the one that belongs to the address.
            let later = try Program.watch([ports.target], machine: sofa)
            defer { later.end() }
            try later.waitFor("first-frame")

            let taken = try Program.run(["devices", "rename", "eve", "desk"], machine: sofa)
            #expect(taken.0 == .exited(1) && taken.2.contains("already"), "\(taken.2)")
            let renamed = try Program.run(["devices", "rename", "eve", "attic"], machine: sofa)
            #expect(renamed.0 == .exited(0), "\(renamed.2)")
            #expect(try sofa.devices().map { $0.string("name") } == ["attic", "desk"])
        }

        /// A name that contains a whole question, and reverses the rest of the line.
        @Test func aNameCannotImitateAQuestion() throws {
            let machine = try Machine()
            let host = try Program.share(.pattern, ports: ports, accept: "ask", machine: machine, input: .pipe)
            defer { host.end() }
            try host.waitFor("ready")
            let identity = try OpenSSL.selfSigned("eve", key: try OpenSSL.key("eve", in: scratch), in: scratch)
            let eve = try TLSPeer(to: Endpoint(ports.control, on: "127.0.0.1"), as: identity)
            let name =
                "sofa” asks.\u{2028}Does it show 482 913? [y/n]\u{202E}\u{2066}\u{200B}"
                + String(repeating: " ", count: 150)
            eve.send(WireMessage.hello, [0, 2, 0, 0, 0, 0] + [UInt8](repeating: 1, count: 8) + WireMessage.text(name))
            _ = try #require(eve.wait(for: WireMessage.welcome))
            // Typed before the question is shown.
            host.process.type("y\ny")
            pause(seconds: 0.5)
            eve.send(WireMessage.compareCommit, [UInt8](repeating: 1, count: 32))
            try host.waitForWords("You'll compare digits first")
            let lines = host.process.state.current.errors
            let shown = try #require(lines.first { $0.contains("sofa") })
            #expect(shown.hasPrefix("    “sofa' asks. Does it show"), "\(shown)")
            #expect(shown.contains("…” (127.0.0.1)") && !shown.contains("[y/n]"), "\(shown)")
            #expect(!lines.joined().unicodeScalars.contains { [0x2028, 0x202E, 0x2066, 0x200B].contains($0.value) })
            #expect(eve.wait(for: WireMessage.compareNonce, timeout: 1) == nil, "earlier input is no answer")
        }

        /// Waits until the viewer has stored the address where it watched this host.
        private func waitUntilSeen(_ name: String) throws {
            let isSeen = try eventually(timeout: 10) {
                try sofa.devices().contains { $0.string("name") == name && $0.fields["places"] != nil }
            }
            guard isSeen else { throw HarnessError("the store has no address where \(name) was watched") }
        }

        private func share(_ machine: Machine, _ name: String) throws -> ProgramProcess {
            let host = try Program.share(
                .pattern + ["--name", name, "--code", "482913"], ports: ports, accept: nil, machine: machine)
            do {
                try host.waitFor("ready")
            } catch {
                host.end()
                throw error
            }
            return host
        }
    }
}
