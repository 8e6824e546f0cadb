import Foundation
import Testing

/// Pupils who type the code that one screen shows, and a teacher who sends one away.
extension EndToEnd {
    @Suite(.needsProgram) struct ClassTests {
        let desk: Machine
        let ports: Ports

        init() throws {
            desk = try Machine()
            ports = try Ports()
        }

        private func hear(_ code: String, _ words: String) throws {
            let late = try Program.watch([ports.target, "--code", code])
            defer { late.end() }
            #expect(try late.waitForEnd() == .exited(2))
            #expect(late.errorText.contains(words), "\(late.errorText)")
            expectPlainWords(late.errorText)
        }

        @Test func sixPupilsTypeTheCodeAtOnceUntilItIsReplaced() throws {
            let host = try Program.share(.pattern, ports: ports, accept: nil, machine: desk, input: .terminal)
            defer { host.end() }
            try host.waitFor("ready")
            let code = try host.shownCode()
            let pupils = try (0..<6).map { _ in try Program.watch([ports.target, "--code", code], machine: Machine()) }
            defer { for pupil in pupils { pupil.end() } }
            for pupil in pupils { try pupil.waitFor("first-frame", timeout: 60) }
            // The event comes when the device is stored.
            #expect(eventually(timeout: 10) { host.events("device-paired").count == 6 })
            #expect(host.events("wrong-code").isEmpty && host.events("code-changed").isEmpty)

            // By the key.
            let second = try host.newCode(after: code)
            let asked = try host.waitFor("code-changed")
            #expect(asked.string("why") == "asked" && asked.number("seconds") == 600)
            try hear(code, "replaced its code a moment ago")
            #expect(host.events("wrong-code").isEmpty)

            // By five wrong tries.
            let wrong = second == "000000" ? "000001" : "000000"
            for _ in 0..<4 { try hear(wrong, "That isn't the code") }
            // Somebody who types the last one is told that it was replaced.
            try hear(wrong, "replaced its code a moment ago")
            let changed = try host.waitFor("code-changed") { $0.string("why") == "wrong-codes" }
            #expect(changed.fields["isThere"] == .bool(true))
            try host.waitForWords("5 wrong codes were typed. New code to type at a new viewer")
            try hear(second, "replaced its code a moment ago")
            #expect(host.events("wrong-code").count == 5)

            let third = try #require(
                host.process.state.current.errors.compactMap { Program.code(in: $0) }.last { $0 != second })
            let last = try Program.watch([ports.target, "--code", third], machine: Machine())
            defer { last.end() }
            try last.waitFor("first-frame")
            #expect(!host.process.outputText.contains(third), "a code in the events")
            expectPlainWords(host.errorText)
        }

        @Test func oneIsSentAwayByAKeyByNameAndByAProgram() throws {
            let host = try Program.share(.pattern, ports: ports, accept: nil, machine: desk, input: .terminal)
            defer { host.end() }
            try host.waitFor("ready")
            let code = try host.shownCode()
            let sofa = try Machine()
            let first = try Program.watch([ports.target, "--code", code], machine: sofa)
            defer { first.end() }
            try first.waitFor("first-frame")
            let name = try #require(host.events("paired").first?.string("name"))

            host.process.send("x")
            try host.waitForWords("Send whom away?")
            pause(seconds: 1.2)
            host.process.type("1")
            try host.waitForWords("for now or for good?")
            // Meant as a no, as after other questions.
            host.process.type("n")
            try host.waitForWords("“\(name)” stays.")
            pause(seconds: 1.2)
            host.process.send("x")
            pause(seconds: 1.2)
            host.process.type("1")
            pause(seconds: 1.2)
            host.process.type("m")
            #expect(try first.waitForEnd() == .exited(2))
            #expect(first.errorText.contains("has sent this viewer away"), "\(first.errorText)")
            #expect(!first.errorText.contains("six digits"), "\(first.errorText)")
            #expect(host.events("sent-away").last?.fields["forGood"] == .bool(false))
            #expect(try desk.devices().count == 1, "it stays paired")

            let second = try Program.watch([ports.target, "--code", code], machine: Machine())
            defer { second.end() }
            try second.waitFor("first-frame")
            pause(seconds: 1.2)
            host.process.type("kick \(name)")
            try host.waitForWords("kick \(name)")
            pause(seconds: 1.2)
            host.process.type("g")
            #expect(try second.waitForEnd() == .exited(2))
            try host.waitFor("sent-away") { $0.fields["forGood"] == .bool(true) }
            #expect(eventually(timeout: 10) { (try? desk.devices().count) == 1 }, "for good: it is forgotten")
            expectPlainWords(host.errorText)
        }

        @Test func aProgramSendsAViewerAway() throws {
            let host = try Program.share(.pattern, ports: ports, machine: desk, input: .pipe)
            defer { host.end() }
            try host.waitFor("ready")
            let viewer = try Program.watch([ports.target])
            defer { viewer.end() }
            try viewer.waitFor("first-frame")
            let name = try #require(host.events("paired").first?.string("name"))
            host.process.type(#"{"kick":"nobody","id":"a"}"#)
            let error = try host.waitFor("error")
            #expect(error.string("reason") == "no viewer is called “nobody”" && error.string("id") == "a")
            host.process.type("{\"kick\":\"\(name)\",\"forGood\":true}")
            #expect(try viewer.waitForEnd() == .exited(2))
            #expect(try host.waitFor("sent-away").string("name") == name)
            #expect(viewer.errorText.contains("has sent this viewer away"), "\(viewer.errorText)")
            #expect(!viewer.errorText.contains("six digits"), "\(viewer.errorText)")
        }
    }
}
