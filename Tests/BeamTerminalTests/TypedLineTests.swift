import BeamWire
import Testing

@testable import BeamTerminal

struct TypedLineTests {
    /// The texts after each change, and the finished lines.
    private func type(_ keys: String, into line: inout TypedLine) -> [String] {
        var finished: [String] = []
        for byte in keys.utf8 {
            if case .finished(let text) = line.take(byte) { finished.append(text) }
        }
        return finished
    }

    @Test(arguments: [
        ("y\n", "y"), ("no\u{7F}\u{7F}yes\r", "yes"), ("abc\u{15}d\n", "d"), ("\u{7F}\u{8}x\n", "x"),
        ("a\u{1B}[Db\u{1B}[1;5Cc\u{1B}OAd\n", "abcd"), ("a\u{4}b\tc\n", "abc"), ("aä€\u{7F}\u{7F}\n", "a"), ("\n", ""),
        ("482 913\n", "482 913"),
    ])
    func keysMakeALine(keys: String, line: String) {
        var typed = TypedLine()
        #expect(type(keys, into: &typed) == [line])
        #expect(typed.text == "")
    }

    @Test func aLineIsLimited() {
        var typed = TypedLine()
        let lines = type(String(repeating: "a", count: 100_000) + "\nb\n", into: &typed)
        #expect(lines.count == 2 && lines[0].count == 2000 && lines[1] == "b")
    }

    @Test func onlyVisibleChangesAreReported() {
        var typed = TypedLine()
        #expect(typed.take(0x7F) == .none)
        #expect(typed.take(UInt8(ascii: "y")) == .edited)
        #expect(typed.take(0x1B) == .none)
        #expect(typed.text == "y")
    }
}

struct PromptTests {
    /// The cursor is always in sight: of a long line its end is shown.
    @Test func theEndOfALongLineIsShown() {
        #expect(Console.end("short", in: 6) == "short")
        #expect(Console.end("abcdefghij", in: 6) == "…ghij")
        #expect(Console.end("abcdefghij", in: 0) == "abcdefghij")
        // Wide characters take two columns, and a mark isn't left without its letter.
        #expect(Console.end("你好你好你好", in: 8) == "…好你好" && Console.end("你好你好你好", in: 7) == "…你好")
        #expect(Console.end("abcde\u{301}fgh", in: 5) == "…fgh")
        for length in 0..<40 {
            for columns in 3..<30 {
                let shown = Console.end(String(repeating: "x", count: length) + "|", in: columns)
                #expect(shown.hasSuffix("|") && PeerText.columns(shown) < columns, "\(shown)")
            }
        }
    }
}

struct WordsTests {
    @Test func counts() {
        #expect(CommonText.count(1, "frame") == "1 frame" && CommonText.count(0, "frame") == "0 frames")
        #expect(CommonText.count(2, "frame was", "frames were") == "2 frames were")
    }

    @Test func aNameThatWasCutIsNotToBeTyped() {
        let long = PeerText.name("Müller’s very long desk name that nobody reads")
        let words = CommonText.newName(long, of: "deskT", who: "It")
        #expect(
            words
                == "It calls itself “\(long)” now. To give it another name here: `beamroom devices rename 'deskT' NAME`."
        )
        #expect(
            CommonText.newName("desk", of: "deskT", who: "It").hasSuffix(
                "To use that name here: `beamroom devices rename 'deskT' 'desk'`."))
    }

    @Test func namesInCommandsAreHarmless() {
        #expect(CommonText.shellWord("$(reboot) `x`") == "'$(reboot) `x`'")
        #expect(CommonText.shellWord("Ann's desk") == "'Ann'\\''s desk'")
    }
}
