import BeamMedia
import Testing

@testable import BeamTerminal

/// Which keys are commands, in virtual time.
struct KeyGateTests {
    /// Types each text at its time in milliseconds, and asks for outcomes every 10 ms, as the program does at deadlines.
    private func outcomes(_ typed: [(at: Int, keys: String)], until end: Int = 20_000) -> [KeyGate.Outcome] {
        var gate = KeyGate()
        var outcomes: [KeyGate.Outcome] = []
        let start = ContinuousClock.now
        for time in stride(from: 0, through: end, by: 10) {
            let now = start + .milliseconds(time)
            // What has arrived is read before a deadline is looked at.
            for text in typed where text.at == time { for byte in text.keys.utf8 { gate.take(byte, now: now) } }
            if let outcome = gate.outcome(now: now) { outcomes.append(outcome) }
            if let deadline = gate.deadline { #expect(deadline > now) }
        }
        return outcomes
    }

    @Test func aKeyAloneIsACommand() {
        #expect(outcomes([(0, "p")]) == [.command("p")])
        #expect(outcomes([(0, "p\n")]) == [.command("p")], "with Enter, too")
        #expect(outcomes([(0, "p"), (200, "\n")]) == [.command("p")])
        #expect(outcomes([(0, "p"), (400, "p"), (800, "n")]) == [.command("p"), .command("p"), .command("n")])
        #expect(outcomes([(0, "?"), (5000, "x")]) == [.command("?"), .command("x")])
        #expect(outcomes([(0, "\n"), (310, "p")]) == [.command("p")])
    }

    @Test func severalKeysDoNothing() {
        #expect(outcomes([(0, "pause\n")]) == [.burst], "a paste")
        #expect(outcomes([(0, "pn")]) == [.burst] && outcomes([(0, "p\np")]) == [.burst])
        #expect(outcomes([(0, "p"), (290, "n")]) == [.burst])
        #expect(outcomes([(0, "p"), (10, "\u{7F}")]) == [.burst], "it was taken back")
        #expect(outcomes([(0, "\n"), (100, "p")]) == [.burst])
        #expect(outcomes([(0, "é")]) == [.burst])
        // A word that is typed: its line ends when the typing does.
        let word = "notepad".enumerated().map { (at: $0.offset * 250, keys: String($0.element)) }
        #expect(outcomes(word) == [.burst])
        #expect(outcomes(word + [(2400, "p")]) == [.burst], "it belongs to the word")
        #expect(outcomes(word + [(2600, "p")]) == [.burst, .command("p")])
        let lines = String(repeating: "ls -la\n", count: 1000)
        #expect(outcomes([(0, lines), (900, lines), (3000, "p")]) == [.burst, .command("p")])
    }

    @Test func controlCharactersAloneAreNothing() {
        #expect(outcomes([(0, "\t"), (1000, "\u{7F}"), (2000, "\n\r\n")]) == [])
        #expect(outcomes([]) == [])
    }

    @Test func kickBeginsALineWhereItIsACommand() {
        let now = ContinuousClock.now
        func begins(_ keys: String, takesKick: Bool = true) -> [Bool] {
            var gate = KeyGate(takesKick: takesKick)
            return keys.utf8.enumerated().map { gate.take($0.element, now: now + .milliseconds(150 * $0.offset)) }
        }
        #expect(begins("ki") == [false, true])
        #expect(begins("ki", takesKick: false) == [false, false])
        #expect(begins("oki") == [false, false, false], "not in another word")
        #expect(begins("kk") == [false, false])
    }
}
