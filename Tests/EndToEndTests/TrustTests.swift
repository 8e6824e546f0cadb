import Foundation
import Testing

/// Two machines pair by comparing digits; known devices, and forgotten ones.
extension EndToEnd {
    @Suite(.needsProgram) struct TrustTests {
        let desk: Machine
        let sofa: Machine
        let ports: Ports

        init() throws {
            desk = try Machine()
            sofa = try Machine()
            ports = try Ports()
        }

        @Test func bothShowTheSameDigitsAndThePersonAtTheHostDecides() throws {
            let host = try Program.share(.pattern, ports: ports, accept: "ask", machine: desk, input: .pipe)
            defer { host.end() }
            try host.waitFor("ready")
            var seen: [String] = []
            for answer in ["n", "y"] {
                let count = host.process.state.current.errors.count
                let viewer = try Program.watch([ports.target], machine: sofa)
                defer { viewer.end() }
                try viewer.waitFor("asking")
                try host.waitForWords("asks to watch", from: count)
                #expect(Program.code(in: viewer.errorText) == nil, "no digits before the person has agreed")
                noticeTheQuestion()
                host.process.type("y")
                let shown = try viewer.shownCode()
                let asked = host.process.state.wait(timeout: 30) { state in
                    state.errors.dropFirst(count).compactMap { Program.code(in: $0) }.first
                }
                #expect(asked == shown, "both sides show the same digits")
                seen.append(shown)
                // Too soon to have read the digits: the `y` may be a second answer to the first question.
                host.process.type("y")
                try host.waitForWords("has just changed", from: count)
                #expect(viewer.events("paired").isEmpty)
                noticeTheQuestion()
                host.process.type(answer)
                if answer == "y" {
                    try viewer.waitFor("first-frame")
                    try viewer.waitFor("device-paired")
                } else {
                    #expect(try viewer.waitForEnd() == .exited(2))
                    #expect(viewer.errorText.localizedCaseInsensitiveContains("declined"), "\(viewer.errorText)")
                }
                for process in [host, viewer] {
                    #expect(!process.process.outputText.contains(shown), "digits in the JSON events")
                }
            }
            #expect(seen[0] != seen[1], "new digits for each try")

            let known = try Program.watch([ports.target], machine: sofa)
            defer { known.end() }
            try known.waitFor("first-frame")
            #expect(host.events("pairing").count == 2, "a known viewer isn't asked about")
            #expect(Program.code(in: known.errorText) == nil)
        }

        @Test func severalViewersAreAskedAboutOneAfterTheOther() throws {
            let host = try Program.share(.pattern, ports: ports, accept: "ask", machine: desk, input: .terminal)
            defer { host.end() }
            try host.waitFor("ready")
            let viewers = try (0..<2).map { _ in try Program.watch([ports.target]) }
            defer { for viewer in viewers { viewer.end() } }
            for viewer in viewers { try viewer.waitFor("asking") }
            var seen = 0
            for _ in viewers {
                try host.waitForWords("You'll compare digits first", from: seen)
                noticeTheQuestion()
                seen = host.process.state.current.errors.count
                // Input in advance is no answer: the second `y` must not accept the digits.
                host.process.type("y\ny")
                try host.waitForWords("Does it show the same digits", from: seen)
                let asked = try #require(
                    host.process.state.current.errors.dropFirst(seen).lazy.compactMap { Program.code(in: $0) }.first)
                let showsThem = { (viewer: ProgramProcess) in Program.code(in: viewer.errorText) == asked }
                #expect(eventually(timeout: 10) { viewers.contains(where: showsThem) })
                let viewer = try #require(viewers.first(where: showsThem))
                noticeTheQuestion()
                #expect(viewer.events("paired").isEmpty)
                seen = host.process.state.current.errors.count
                host.process.type("y")
                try viewer.waitFor("first-frame")
            }
        }

        @Test func devicesAreListedAndForgotten() throws {
            let host = try pairedHost()
            defer { host.end() }
            let ofDesk = try desk.devices()
            let ofSofa = try sofa.devices()
            #expect(ofDesk.count == 1 && ofSofa.count == 1)
            #expect(ofSofa.first?.string("name") == "Desk 7")
            #expect(ofSofa.first?.fields["roles"] == .array([.string("host")]))
            #expect(ofDesk.first?.fields["roles"] == .array([.string("viewer")]))
            let (ending, output, words) = try Program.run(["devices"], machine: sofa)
            #expect(ending == .exited(0) && output.contains("Desk 7"), "\(output)\n\(words)")

            let unknown = try sofa.forget("Nobody")
            #expect(unknown.ending == .exited(1) && unknown.words.contains("Nobody"), "\(unknown.words)")
            expectPlainWords(unknown.words)
            #expect(try sofa.forget("Desk 7").ending == .exited(0))
            #expect(try sofa.devices().isEmpty)
            // Named by the beginning of its key.
            let key = try #require(ofDesk.first?.string("key"))
            #expect(try desk.forget(String(key.prefix(8))).ending == .exited(0))
            #expect(try desk.devices().isEmpty)
        }

        @Test func aForgottenViewerIsOutWithinASecondAndOthersSeeNoGap() throws {
            let host = try pairedHost()
            defer { host.end() }
            // Both viewers have this machine's name, so the key tells them apart.
            let key = try #require(desk.devices().first?.string("key"))
            let other = try Machine()
            try pair(other, with: host)
            let stays = try Program.watch([ports.target], machine: other)
            let goes = try Program.watch([ports.target], machine: sofa)
            defer {
                stays.end()
                goes.end()
            }
            try stays.waitFor("first-frame")
            try goes.waitFor("first-frame")
            let joined = host.lineCount
            let start = secondsNow()
            try desk.forget(key)
            let left = try host.waitFor("viewer-left", from: joined)
            report(
                "forgotten, and out after (the command's start included)", "\(((secondsNow() - start) * 1000).short) ms"
            )
            #expect(left.string("reason")?.contains("forgotten") == true)
            #expect(try goes.waitForEnd() == .exited(2))
            #expect(goes.errorText.contains("forgotten"), "\(goes.errorText)")

            pause(seconds: 3)
            let stats = try stays.waitFor("stats", from: stays.lineCount)
            #expect((stats.number("fps") ?? 0) > 15)
            #expect(stats.number("lost") == 0)
            #expect(stays.events("stall").isEmpty && stays.events("reconnect").isEmpty, "the key's rotation is visible")

            let back = try Program.watch([ports.target], machine: sofa)
            defer { back.end() }
            #expect(try back.waitForEnd() == .exited(2), "it would have to pair again")
            expectPlainWords(back.errorText)
        }

        @Test func aHostThatIsForgottenAtTheViewerIsNotWatched() throws {
            let host = try pairedHost()
            defer { host.end() }
            let viewer = try Program.watch([ports.target], machine: sofa)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            let start = secondsNow()
            try sofa.forget("Desk 7")
            #expect(try viewer.waitForEnd() == .exited(2))
            report("forgotten at the viewer, ended after", "\(((secondsNow() - start) * 1000).short) ms")
            expectPlainWords(viewer.errorText)
        }

        @Test func aViewerThatLeavesCausesNoGapForOthers() throws {
            let host = try Program.share(.pattern, ports: ports, machine: desk)
            defer { host.end() }
            try host.waitFor("ready")
            let stays = try Program.watch([ports.target])
            defer { stays.end() }
            try stays.waitFor("first-frame")
            for isPolite in [true, false, true] {
                let guest = try Program.watch([ports.target])
                defer { guest.end() }
                try guest.waitFor("first-frame")
                if isPolite {
                    guest.interrupt()
                    #expect(try guest.waitForEnd() == .exited(0))
                } else {
                    guest.kill()
                }
                pause(seconds: 1.5)
            }
            let stats = try stays.waitFor("stats", from: stays.lineCount)
            #expect((stats.number("fps") ?? 0) > 15)
            #expect(stats.number("lost") == 0 && stats.number("dropped") == 0)
            #expect(stays.events("stall").isEmpty && stays.events("reconnect").isEmpty)
        }

        @Test func anIdentityThatOthersCanReadIsRefused() throws {
            let host = try pairedHost()
            host.end()
            #expect(chmod(desk.store + "/identity.pem", 0o644) == 0)
            let (ending, _, words) = try Program.run(
                ["share", "--no-discovery", "--port", "\(ports.control)", "--time-limit", "5"] + .pattern, machine: desk
            )
            #expect(ending == .exited(1))
            #expect(words.contains("identity.pem"), "\(words)")
            expectPlainWords(words)
        }

        @Test func anotherHostAtAKnownAddressIsNotTrusted() throws {
            let host = try pairedHost()
            host.end()
            // At the known host's address there is now another one. Only its key tells them apart.
            let impostor = try Program.share(.pattern + ["--name", "Desk 7"], ports: ports, accept: "all")
            defer { impostor.end() }
            try impostor.waitFor("ready")
            let viewer = try Program.watch([ports.target], machine: sofa)
            defer { viewer.end() }
            #expect(try viewer.waitForEnd() == .exited(2))
            #expect(viewer.events("paired").isEmpty && viewer.events("first-frame").isEmpty)
            #expect(viewer.errorText.contains("It shows another key"), "\(viewer.errorText)")
        }

        // MARK: -

        /// A host on the desk that is paired with the sofa.
        private func pairedHost() throws -> ProgramProcess {
            let host = try Program.share(
                .pattern + ["--name", "Desk 7", "--code-file", try desk.codeFile("482913")], ports: ports, accept: nil,
                machine: desk)
            try host.waitFor("ready")
            do {
                try pair(sofa, with: host)
            } catch {
                host.end()
                throw error
            }
            return host
        }

        private func pair(_ machine: Machine, with host: ProgramProcess) throws {
            let code = machine === sofa ? "482913" : "271828"
            if machine !== sofa {
                _ = try desk.codeFile(code)
                pause(seconds: 2.5)
            }
            let seen = host.lineCount
            let viewer = try Program.watch([ports.target, "--code", code], machine: machine)
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            viewer.interrupt()
            _ = try viewer.waitForEnd()
            try host.waitFor("viewer-left", from: seen)
        }
    }
}
