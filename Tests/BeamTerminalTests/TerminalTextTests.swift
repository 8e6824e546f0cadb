import BeamMedia
import Testing

@testable import BeamTerminal

struct TerminalTextTests {
    @Test(
        arguments: [
            ([:], true), (["LANG": "en_GB.UTF-8"], true), (["LANG": "C"], false), (["LANG": "de_DE"], false),
            (["LC_ALL": "C", "LANG": "en_GB.UTF-8"], false), (["LC_ALL": "", "LANG": "C.utf8"], true),
            (["LC_CTYPE": "en_GB.UTF-8", "LANG": "C"], true), (["LC_ALL": "POSIX", "LC_CTYPE": "C.UTF-8"], false),
        ] as [([String: String], Bool)])
    func theLocaleSaysWhatATerminalShows(_ variables: [String: String], _ isUnicode: Bool) {
        #expect(TerminalText.isUnicode { variables[$0] } == isUnicode)
    }

    @Test func typographyIsReplacedAndLettersStay() {
        let text = "Sharing “Zoë’s screen”, 1280 × 720 – at most 5 µs… → done"
        #expect(TerminalText.shown(text, isUnicode: true) == text)
        #expect(
            TerminalText.shown(text, isUnicode: false)
                == "Sharing \"Zoë's screen\", 1280 x 720 - at most 5 us... -> done")
    }

    private let long =
        "To watch, run on another machine: `beamroom watch 192.0.2.2:53001` or type the code 482 913 there, "
        + "which shows 1280 × 720 pixels."

    @Test(arguments: 20...140) func linesBreakBetweenWords(columns: Int) {
        let lines = TerminalText.wrapped(long, columns: columns).split(separator: "\n").map(String.init)
        #expect(lines.joined(separator: " ") == long)
        let longest = "`beamroom watch 192.0.2.2:53001`".count
        for line in lines { #expect(line.count < max(columns, longest + 1), "\(line)") }
        for whole in ["482 913", "1280 × 720", "`beamroom watch 192.0.2.2:53001`"] {
            #expect(lines.contains { $0.contains(whole) }, "\(columns): \(lines)")
        }
        // As few as can be: a word more wouldn't have fitted.
        for (line, next) in zip(lines, lines.dropFirst()) {
            let word: Int = next.split(separator: " ").first?.count ?? 0
            #expect(line.count + 1 + word >= min(columns, line.count + 2))
        }
    }

    @Test func whatFitsOrIsUnknownIsLeftAlone() {
        for columns in [0, 1, 19, 1000] { #expect(TerminalText.wrapped(long, columns: columns) == long) }
        #expect(TerminalText.wrapped("a\n\nb  c\n", columns: 20) == "a\n\nb  c\n")
        // A wide character takes two columns; a long word is left to the terminal.
        #expect(TerminalText.wrapped("会議会議 会議会議会", columns: 20) == "会議会議 会議会議会")
        #expect(TerminalText.wrapped("会議会議 会議会議会議", columns: 20) == "会議会議\n会議会議会議")
        let word = String(repeating: "x", count: 50)
        #expect(TerminalText.wrapped("a \(word) b", columns: 20) == "a\n\(word)\nb")
        // What goes on is indented as it begins.
        #expect(TerminalText.wrapped("    one two three four five", columns: 20) == "    one two three\n    four five")
    }

    /// What the option doesn't take is no advice.
    @Test func aLargerPictureIsOfferedWhereItCanBeHad() {
        let words = [(7680, 4320), (11520, 2160)].map {
            WatchText.pictureLimited(PixelSize(width: $0.0, height: $0.1))
        }
        #expect(words[0].contains("`--max-picture 7680x4320`") && !words[1].contains("--max-picture"))
        #expect(words[1].hasSuffix("more than this viewer takes, and sends a smaller picture."))
    }
}
