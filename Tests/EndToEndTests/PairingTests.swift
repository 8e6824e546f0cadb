import Foundation
import Testing

/// Two machines pair by a typed code, and stay paired.
extension EndToEnd {
    @Suite(.needsProgram) struct TypedCodeTests {
        let desk: Machine
        let sofa: Machine
        let ports: Ports

        init() throws {
            desk = try Machine()
            sofa = try Machine()
            ports = try Ports()
        }

        @Test func theCodeIsNeededOnce() throws {
            let host = try Program.share(
                .pattern + ["--name", "Desk", "--code", "482913"], ports: ports, accept: nil, machine: desk)
            try host.waitFor("ready")
            do {
                let viewer = try Program.watch([ports.target, "--code", "482913"], machine: sofa)
                defer { viewer.end() }
                let first = try viewer.waitFor("first-frame")
                report(
                    "a new viewer with the code, first frame after the start", "\((first.number("ms") ?? 0).short) ms")
                // The event comes when the device is stored.
                let paired = try viewer.waitFor("device-paired")
                #expect(paired.fields["remembered"] == .bool(true))
                #expect(paired.string("name") == "Desk")
                #expect(viewer.events("paired").first?.fields["encrypted"] == .bool(true))
                #expect(try host.waitFor("device-paired").fields["remembered"] == .bool(true))
                #expect(try host.waitFor("paired").fields["encrypted"] == .bool(true))
            }
            let known = try Program.watch([ports.target], machine: sofa)
            defer { known.end() }
            let first = try known.waitFor("first-frame")
            report("a known viewer, first frame after the start", "\((first.number("ms") ?? 0).short) ms")
            #expect(known.events("device-paired").isEmpty && known.events("code-needed").isEmpty)

            // Also after the host restarted and pairs no new viewers.
            host.end()
            known.end()
            let later = try Program.share(.pattern + ["--trusted-only"], ports: ports, accept: nil, machine: desk)
            defer { later.end() }
            try later.waitFor("ready")
            let again = try Program.watch([ports.target], machine: sofa)
            defer { again.end() }
            try again.waitFor("first-frame")
            let unpaired = try Program.watch([ports.target, "--code", "482913"])
            defer { unpaired.end() }
            #expect(try unpaired.waitForEnd() == .exited(2))
            #expect(unpaired.errorText.contains("paired before"), "\(unpaired.errorText)")
            expectPlainWords(unpaired.errorText)
        }

        @Test func aCodeInAFileServesAlways() throws {
            let host = try Program.share(
                .pattern + ["--code-file", try desk.codeFile("314159")], ports: ports, accept: nil, machine: desk)
            defer { host.end() }
            try host.waitFor("ready")
            let first = try Program.watch([ports.target, "--code-file", try sofa.codeFile("314159")], machine: sofa)
            defer { first.end() }
            try first.waitFor("first-frame")
            let second = try Program.watch([ports.target, "--code", "314159"])
            defer { second.end() }
            try second.waitFor("first-frame")

            // Another code is written into the file while the host runs.
            _ = try desk.codeFile("271828")
            let changed = try host.waitFor("code-changed")
            #expect(changed.string("why") == "given" && changed.number("seconds") == nil)
            let late = try Program.watch([ports.target, "--code", "314159"])
            defer { late.end() }
            #expect(try late.waitForEnd() == .exited(2))
            #expect(late.errorText.contains("replaced its code a moment ago"), "\(late.errorText)")
            let next = try Program.watch([ports.target, "--code", "271828"])
            defer { next.end() }
            try next.waitFor("first-frame")
            #expect(first.events("stall").isEmpty && host.events("wrong-code").isEmpty)
        }

        @Test func aCodeInAFilePairsOnceIfThatIsWanted() throws {
            let host = try Program.share(
                .pattern + ["--code-once", "--code-file", try desk.codeFile("314159")], ports: ports, accept: nil,
                machine: desk)
            defer { host.end() }
            try host.waitFor("ready")
            let first = try Program.watch([ports.target, "--code-file", try sofa.codeFile("314159")], machine: sofa)
            defer { first.end() }
            try first.waitFor("first-frame")
            try host.waitForWords("was used")

            let late = try Program.watch([ports.target, "--code", "314159"])
            defer { late.end() }
            #expect(try late.waitForEnd() == .exited(2))
            expectPlainWords(late.errorText)

            // The next code is written into the file while the host runs.
            _ = try desk.codeFile("271828")
            try host.waitFor("code-changed") { $0.string("why") == "given" }
            let next = try Program.watch([ports.target, "--code", "271828"])
            defer { next.end() }
            try next.waitFor("first-frame")
            #expect(first.events("stall").isEmpty)
        }

        @Test func aCodeThatOthersCanReadIsRefused() throws {
            let path = try desk.codeFile("314159")
            #expect(chmod(path, 0o644) == 0)
            for arguments in [
                ["share"] + .pattern + ["--no-discovery", "--port", "0"], ["watch", ports.target, "--no-window"],
            ] {
                let (ending, _, words) = try Program.run(arguments + ["--code-file", path, "--time-limit", "5"])
                #expect(ending == .exited(1))
                #expect(words.contains(path) && words.contains("chmod 600"), "\(words)")
                expectPlainWords(words)
            }
        }

        @Test func theCodeIsShownOnOneTerminalAndTypedOnAnother() throws {
            let host = try Program.share(.pattern, ports: ports, accept: nil, machine: desk, input: .terminal)
            defer { host.end() }
            try host.waitFor("ready")
            let code = try host.shownCode()
            let viewer = try Program.watch(
                [ports.target, "--code", code == "000000" ? "000001" : "000000"], machine: sofa, input: .terminal)
            defer { viewer.end() }
            let needed = try viewer.waitFor("code-needed")
            #expect(needed.fields["wasWrong"] == .bool(true))
            try viewer.waitForWords("That isn't the code")
            viewer.process.type("12345")
            try viewer.waitForWords("Type the code that the screen of")
            #expect(viewer.isRunning && viewer.events("paired").isEmpty)
            // With a space, as it is shown, or a hyphen.
            viewer.process.type("\(code.prefix(3))-\(code.suffix(3))")
            try viewer.waitFor("first-frame")

            try host.waitForWords("has typed the code. It still serves everybody, until")

            // The code serves the next one, too, until c makes a new one.
            let other = try Program.watch([ports.target, "--code", code])
            defer { other.end() }
            try other.waitFor("first-frame")
            try host.waitFor("viewer-joined") {
                $0.string("session") == other.events("paired").first?.string("session")
            }
            // What the first one has explained isn't said of each.
            for words in ["has typed the code", "is paired"] {
                #expect(host.errorText.ranges(of: words).count == 1, "\(host.errorText)")
            }
            // Sentences and events come by different ways.
            #expect(eventually(timeout: 30) { host.errorText.ranges(of: "is let in").count == 3 })
            #expect(!host.errorText.contains("gets the picture"))
            let next = try host.newCode(after: code)
            #expect(try host.waitFor("code-changed").string("why") == "asked")
            let late = try Program.watch([ports.target, "--code", code])
            defer { late.end() }
            #expect(try late.waitForEnd() == .exited(2))
            #expect(late.errorText.contains("replaced its code a moment ago"), "\(late.errorText)")
            expectPlainWords(late.errorText)
            let last = try Program.watch([ports.target, "--code", next])
            defer { last.end() }
            try last.waitFor("first-frame")
            #expect(host.events("wrong-code").count == 1)
            expectPlainWords(host.errorText)
        }

        @Test(.needsXServer, .needsXdotool) func theCodeIsTypedIntoTheWindow() throws {
            let host = try Program.share(.pattern + ["--code", "482913"], ports: ports, accept: nil, machine: desk)
            defer { host.end() }
            try host.waitFor("ready")
            let screen = try XServer(width: 800, height: 600)
            let viewer = try Program.watch([ports.target], display: screen.display, machine: sofa)
            defer { viewer.end() }
            try viewer.waitFor("code-needed")
            func type(_ digits: String) throws {
                pause(seconds: 0.5)
                let keys = digits.map { String($0) }
                try Tool.run("xdotool", ["mousemove", "400", "300", "key", "--delay", "30"] + keys, on: screen.display)
            }
            try type("000000")
            try viewer.waitFor("code-needed") { $0.fields["wasWrong"] == .bool(true) }
            try type("482913")
            try viewer.waitFor("first-frame")
            try viewer.waitFor("device-paired")
            #expect(try sofa.devices().count == 1)
            for process in [host, viewer] {
                #expect(!process.process.outputText.contains("482913") && !process.errorText.contains("482913"))
            }
        }

        @Test func withoutATerminalNoCodeIsMade() throws {
            let host = try Program.share(.pattern, ports: ports, accept: nil, machine: desk)
            defer { host.end() }
            try host.waitFor("ready")
            // The message says how to set one.
            try host.waitForWords("--code-file")
            #expect(Program.code(in: host.errorText) == nil, "a code in a log: \(host.errorText)")
            let viewer = try Program.watch([ports.target, "--code", "482913"])
            defer { viewer.end() }
            #expect(try viewer.waitForEnd() == .exited(2))
            expectPlainWords(viewer.errorText)
        }

        @Test func wrongCodesAreRefusedAndDelayedFromTheSixthOn() throws {
            let host = try Program.share(.pattern + ["--code", "482913"], ports: ports, accept: nil, machine: desk)
            defer { host.end() }
            try host.waitFor("ready")
            for number in 1...5 {
                let viewer = try Program.watch([ports.target, "--code", "00000\(number)"])
                defer { viewer.end() }
                #expect(try viewer.waitForEnd() == .exited(2))
                #expect(viewer.events("paired").isEmpty && viewer.events("device-paired").isEmpty)
                expectPlainWords(viewer.errorText)
            }
            #expect(host.events("wrong-code").count == 5)
            #expect(host.events("wrong-code").prefix(4).allSatisfy { $0.number("pause") == nil })
            #expect(host.events("wrong-code").last?.number("pause") == 1)
            try host.waitForWords("Too many")

            // A try within the pause has to wait, says so, and is refused after the wait. Each one doubles the pause, so
            // that one comes in time on a busy machine, too.
            var (pause, hasWaited) = (1, false)
            repeat {
                let viewer = try Program.watch([ports.target, "--code", "000006"])
                defer { viewer.end() }
                #expect(try viewer.waitForEnd() == .exited(2))
                hasWaited = viewer.events("retry").contains { $0.string("reason")?.contains("too many") == true }
                pause *= 2
                let next = pause
                try host.waitFor("wrong-code") { $0.number("pause") == Double(next) }
            } while !hasWaited && pause < 16
            #expect(hasWaited)
            report("a wrong code is looked at after a pause of", "\(pause / 2) s")

            // The right code has to wait, too, and then pairs.
            let right = try Program.watch([ports.target, "--code", "482913"])
            defer { right.end() }
            try right.waitFor("first-frame")
            #expect(!right.events("retry").isEmpty)
        }

        @Test func pairingOnceLastsForOneRun() throws {
            let host = try Program.share(
                .pattern + ["--code", "482913", "--once"], ports: ports, accept: nil, machine: desk)
            try host.waitFor("ready")
            let first = try Program.watch([ports.target, "--code", "482913"], machine: sofa)
            try first.waitFor("first-frame")
            #expect(try host.waitFor("device-paired").fields["remembered"] == .bool(false))
            #expect(first.events("device-paired").first?.fields["remembered"] == .bool(false))
            first.end()
            host.end()
            #expect(try desk.devices().isEmpty && sofa.devices().isEmpty)

            let later = try Program.share(.pattern + ["--code", "482913"], ports: ports, accept: nil, machine: desk)
            defer { later.end() }
            try later.waitFor("ready")
            let forgotten = try Program.watch([ports.target], machine: sofa)
            defer { forgotten.end() }
            #expect(try forgotten.waitForEnd() == .exited(2))

            // The viewer's own `--once`: the host remembers the viewer, but not the other way round.
            let shy = try Program.watch([ports.target, "--code", "482913", "--once"], machine: sofa)
            defer { shy.end() }
            try shy.waitFor("first-frame")
            try later.waitFor("device-paired")
            #expect(try sofa.devices().isEmpty)
            #expect(try desk.devices().count == 1)
        }
    }
}

extension [String] {
    /// A host that shares a small moving picture.
    static let pattern = ["--source", "pattern", "--size", "320x180", "--max-fps", "30"]
}

extension Program {
    /// The six digits, with a space in the middle, in a message.
    static func code(in words: String) -> String? {
        words.firstMatch(of: /\b([0-9]{3}) ([0-9]{3})\b/).map { String($0.output.1 + $0.output.2) }
    }
}

extension ProgramProcess {
    /// Presses `c`, and waits for the code that takes the place of `code`.
    func newCode(after code: String) throws -> String {
        process.send("c")
        let next = process.state.wait(timeout: 30) { state in
            state.errors.lazy.compactMap { Program.code(in: $0) }.first { $0 != code }
        }
        guard let next else { throw HarnessError("no new code is shown; standard error so far:\n\(errorText)") }
        return next
    }

    /// Waits for digits in its messages.
    func shownCode(timeout: Double = 30) throws -> String {
        let code = process.state.wait(timeout: timeout) { state in
            state.errors.lazy.compactMap { Program.code(in: $0) }.first
        }
        guard let code else { throw HarnessError("no digits are shown; standard error so far:\n\(errorText)") }
        return code
    }
}
