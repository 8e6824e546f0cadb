import BeamMedia
import BeamWire
import Testing

@testable import BeamTerminal

/// The last line of the terminal, its keys, and its bell.
struct StatusLineTests {
    private static var commands: TerminalQuestions.Commands {
        var commands = TerminalQuestions.Commands()
        (commands.note, commands.pause) = ({ _ in }, {})
        return commands
    }

    @Test func itSaysTheCodeTheViewersAndTheKeys() {
        let commands = Self.commands
        var line = StatusLine(
            name: "desk", code: PairingCode("482913"), facts: [StatusLine.audience(3)], keys: commands.keys)
        #expect(line.text() == "“desk” · code 482 913 · 3 watch · keys: n note, p pause, ? keys")
        line.facts = [StatusLine.audience(0), "paused"]
        (line.code, line.keys) = (nil, [])
        #expect(line.text() == "“desk” · nobody watches · paused")
        #expect(StatusLine.audience(1) == "1 watches")
    }

    @Test func whatDoesNotFitIsLeftOutInWholeParts() {
        let line = StatusLine(
            name: "desk", code: PairingCode("482913"), facts: ["3 watch", "paused"],
            keys: Self.commands.keys)
        #expect(line.text(columns: 80) == line.text())
        #expect(line.text(columns: 60) == "“desk” · code 482 913 · 3 watch · paused · keys: n, p, ?")
        #expect(line.text(columns: 55) == "“desk” · code 482 913 · 3 watch · paused · ? keys")
        #expect(line.text(columns: 45) == "“desk” · code 482 913 · 3 watch · paused")
        #expect(
            line.text(columns: 32) == "“desk” · code 482 913 · 3 watch"
                && line.text(columns: 31) == "“desk” · code 482 913")
        #expect(line.text(columns: 5) == "“desk” · code 482 913", "the console cuts it")
    }

    @Test func keysAreThoseThatDoSomething() {
        var room = Self.commands
        (room.share, room.people, room.putOut) = ({}, {}, {})
        #expect(room.keys.map(\.key) == ["s", "n", "p", "w", "x"])
        #expect(TerminalQuestions.Commands().keys == [])
    }

    @Test func theBellRingsOnceARequestAndNotForEver() throws {
        let start = MediaTime(nanoseconds: 0)
        let (one, other) = (IPAddress.v4(0xC000_0207), IPAddress.v4(0xC000_0208))
        var limit = BellLimit()
        let first = [(one, 0), (other, 500), (other, 2000)].map { limit.allows($0, now: start + .milliseconds($1)) }
        #expect(first == [true, false, true], "two at once ring once")
        // Somebody asks every five seconds for a day.
        var rings = 0
        for second in stride(from: 5, to: 86_400, by: 5) {
            if limit.allows(one, now: start + .seconds(second)) { rings += 1 }
        }
        #expect(rings == BellLimit.mostPerAddress - 1)
        let later = [(other, 86_400), (one, 86_400 + 700)].map { limit.allows($0, now: start + .seconds($1)) }
        #expect(later == [true, true], "others are heard, and so is one that was quiet for long")

        // Somebody with all addresses of a network.
        limit = BellLimit()
        rings = 0
        for second in 0..<3600 where limit.allows(.v4(UInt32(second)), now: start + .seconds(second)) { rings += 1 }
        #expect(rings <= 6 * BellLimit.most && rings > 0)
    }
}
