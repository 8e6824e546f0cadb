import BeamMedia
import Testing

/// Texts of others, before a person or a player sees them.
struct ShownTextTests {
    @Test(arguments: [
        ("Good morning", "Good morning"), ("", ""), (" a  b ", "a b"), ("a\tb", "a b"), ("a\u{3000}b", "a b"),
        ("one\ntwo\r\nthree\u{2028}four\u{85}five", "one\ntwo\nthree\nfour\nfive"), ("\n\n a \n \n b\n", "a\nb"),
        ("a\u{1B}[2J\u{7}\u{0}b\u{7F}", "a[2Jb"), ("\u{202E}a\u{2066}b\u{200F}\u{200B}\u{FEFF}", "ab"),
        ("\u{E000}\u{E0041}x", "x"), ("e\u{301}\u{302}\u{303}\u{304}\u{305}x", "e\u{301}\u{302}\u{303}\u{304}x"),
        ("שָׁלוֹם", "שָׁלוֹם"), ("مرحبا 会議 😀", "مرحبا 会議 😀"),
    ])
    func linesHaveNothingThatMayNotBeShown(raw: String, shown: String) {
        #expect(ShownText.lines(raw) == shown)
        #expect(ShownText.lines(shown) == shown)
        #expect(ShownText.line(raw) == shown.replacing("\n", with: " "))
    }

    /// Between two letters or marks that aren't both ASCII, and nowhere else.
    @Test(arguments: [
        // Persian (also after a Latin word), Devanagari, Bengali, and emoji.
        ("می\u{200C}خواهم", "می\u{200C}خواهم"), ("PDF\u{200C}ها", "PDF\u{200C}ها"),
        ("क\u{94D}\u{200D}ष", "क\u{94D}\u{200D}ष"), ("র\u{200D}\u{9CD}য", "র\u{200D}\u{9CD}য"),
        ("👩\u{200D}👩\u{200D}👧", "👩\u{200D}👩\u{200D}👧"), ("👩🏽\u{200D}🚀", "👩🏽\u{200D}🚀"),
        // At the ends, beside blanks, and where nothing is left beside them.
        ("\u{200C}می\u{200D}", "می"), ("می\u{200C} \u{200D}ما", "می ما"), ("می\u{200D}\n\u{200C}ما", "می\nما"),
        ("می\u{200C}\u{202E}", "می"), ("\u{200D}\u{301}م", "م"), ("\u{200D}\u{200C}", ""),
        // In a row.
        ("م\u{200C}\u{200C}\u{200D}ا", "م\u{200C}ا"), ("م\u{200D}\u{200F}\u{200C}ا", "م\u{200D}ا"),
        // In ASCII they could hide a word, or a mark of a subtitle format.
        ("pass\u{200D}word -\u{200C}-\u{200C}> {\u{200D}\\an8}", "password --> {\\an8}"),
        // More marks than a letter keeps, with joiners between them.
        (
            "م" + String(repeating: "\u{64B}\u{200D}", count: 9) + "ا",
            "م\u{64B}\u{200D}\u{64B}\u{200D}\u{64B}\u{200D}\u{64B}\u{200D}ا"
        ),
    ])
    func joinersStayBetweenLetters(raw: String, shown: String) {
        #expect(Array(ShownText.lines(raw).unicodeScalars) == Array(shown.unicodeScalars))
        #expect(Array(ShownText.lines(shown).unicodeScalars) == Array(shown.unicodeScalars))
        let name = ShownText.line(raw)
        #expect(!name.unicodeScalars.contains { ShownText.kind($0) == .joiner }, "a name has none")
        let subtitle = SubRip.payload(raw)
        #expect(!subtitle.contains("-->") && !subtitle.contains("{\\"))
    }

    @Test func joinersOfAnyTextStayWithinWords() {
        let pieces: [Unicode.Scalar] = [
            "\u{200C}", "\u{200D}", "\u{200C}", "a", "م", "👩", "\u{64B}", " ", "\n", "\u{202E}", "\u{E000}",
        ]
        var state: UInt64 = 1
        for _ in 0..<3000 {
            let text = (0..<20).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return pieces[Int(state >> 33) % pieces.count]
            }
            let shown = Array(ShownText.lines(String(String.UnicodeScalarView(text))).unicodeScalars)
            for (index, scalar) in shown.enumerated() where ShownText.kind(scalar) == .joiner {
                guard index > 0, index + 1 < shown.count else {
                    Issue.record("a joiner at an end: \(text)")
                    continue
                }
                for neighbour in [shown[index - 1], shown[index + 1]] {
                    #expect([.letter, .mark].contains(ShownText.kind(neighbour)), "\(text)")
                }
                #expect(!shown[index - 1].isASCII || !shown[index + 1].isASCII, "\(text)")
            }
        }
    }

    @Test(arguments: [
        ("a < b > c", "a ‹ b > c"), ("1 < 2", "1 < 2"), ("2 > 1", "2 > 1"), ("<i>x</i>", "‹i>x‹/i>"), ("<<b>", "<‹b>"),
        ("00:00:01,000 --> 00:00:02,000", "00:00:01,000 → 00:00:02,000"), ("---->-->", "--→→"), ("-> - ->", "-> - ->"),
        ("{\\an8}x", "{ \\an8}x"), ("{c:red}", "{ c:red}"), ("{ok}", "{ok}"), ("{", "{"),
    ])
    func subRipShowsTextsAsTheyAre(raw: String, payload: String) {
        #expect(SubRip.payload(raw) == payload)
        #expect(!SubRip.payload(payload).contains("-->"))
    }

    @Test func subtitlesSayWhoSpeaks() {
        var line = TranscriptLine(kind: .caption, author: "desk", text: "a\u{7}\n\nb", time: .zero)
        #expect(line.subtitle == "a\nb")
        line.speaker = "Anna\n"
        #expect(line.subtitle == "Anna: a\nb")
        line.kind = .note
        #expect(line.subtitle == "desk: a\nb")
        line.text = "\u{200B}"
        #expect(line.subtitle == "")
        #expect(TranscriptLine.readingTime(of: "") == .milliseconds(1500))
        #expect(TranscriptLine.readingTime(of: String(repeating: "x", count: 45)) == .seconds(3))
        #expect(TranscriptLine.readingTime(of: String(repeating: "x", count: 1000)) == .seconds(7))
    }
}
