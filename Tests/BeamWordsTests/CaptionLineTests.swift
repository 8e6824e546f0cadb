import BeamMedia
import Testing

@testable import BeamWords

/// Lines of captioners, good and bad, without files.
struct CaptionLineTests {
    private func line(_ text: String) -> CaptionLine { CaptionLine(Array(text.utf8)) }

    @Test func textIsAFinalCaption() {
        #expect(line("Good morning") == .final("Good morning", speaker: nil))
        #expect(line("\u{FEFF}  Käse, 会議, שלום ") == .final("Käse, 会議, שלום", speaker: nil))
        #expect(line("") == .empty && line(" \t ") == .empty && line("\u{202E}\u{200B}\u{0}") == .empty)
    }

    @Test func jsonTellsPartialFromFinal() {
        #expect(line(#"{"partial":"Good mor"}"#) == .partial("Good mor", speaker: nil))
        #expect(line(#"{"final":"Good morning","speaker":"Anna"}"#) == .final("Good morning", speaker: "Anna"))
        #expect(line(#"{"final":"a\nb\r\n\n c","speaker":null,"confidence":0.5}"#) == .final("a\nb\nc", speaker: nil))
        // What was believed to be heard is taken back.
        #expect(line(#"{"partial":"","speaker":"Anna"}"#) == .partial("", speaker: "Anna"))
        #expect(line(#"{"final":" "}"#) == .partial("", speaker: nil))
    }

    @Test(arguments: [
        "{", "{}", "{\"partial\":1}", "{\"final\":null}", "{\"partial\":\"a\",\"final\":\"b\"}",
        "{\"final\":\"a\",\"speaker\":7}", "{\"final\":\"a\"} trailing", "{\"final\":\"a\"",
        "{\"final\":[\"a\"]}", String(repeating: "{\"a\":", count: 10_000), "{" + String(repeating: "[", count: 60_000),
    ])
    func otherObjectsAreBad(_ text: String) {
        guard case .bad(let reason) = line(text) else {
            Issue.record("\(text.prefix(60)) is taken as \(line(text))")
            return
        }
        #expect(!reason.isEmpty)
    }

    @Test func textsAreMadeSafeToShow() {
        #expect(line("\u{1B}[2Jroot\u{7} a\u{0}b\u{85}c") == .final("[2Jroot ab\nc", speaker: nil))
        #expect(line("\u{202E}evil\u{202C} \u{2066}x\u{2069}\u{200B}\u{200F}") == .final("evil x", speaker: nil))
        #expect(
            line(#"{"final":"a\u001b[0m\u202eb","speaker":"An\u202ena\nroot\u0007"}"#)
                == .final("ab", speaker: "Anna root"))
        // Bytes that aren't UTF-8.
        #expect(CaptionLine([0x61, 0xFF, 0xC3, 0x62]) == .final("a\u{FFFD}\u{FFFD}b", speaker: nil))
        // A pile of marks.
        let marks = "e" + String(repeating: "\u{301}", count: 100)
        #expect(line(marks) == .final("e\u{301}\u{301}\u{301}\u{301}", speaker: nil))
        let name = String(repeating: "x", count: 500)
        guard case .final(_, let speaker?) = line("{\"final\":\"a\",\"speaker\":\"\(name)\"}") else {
            Issue.record("a long name is refused")
            return
        }
        #expect(speaker.count == CaptionLine.longestSpeaker)
        // Each byte becomes three.
        #expect(CaptionLine([UInt8](repeating: 0xFF, count: 64 << 10)) == .bad(CaptionLine.tooLong))
    }

    // MARK: Splitting

    private func split(_ chunks: [[UInt8]]) -> [LineSplitter.Line] {
        var splitter = LineSplitter()
        var lines: [LineSplitter.Line] = []
        for chunk in chunks { lines += splitter.append(chunk[...]) }
        if let last = splitter.end() { lines.append(last) }
        return lines
    }

    @Test func linesAreTheSameWhereverTheBytesAreCut() {
        let text = Array("one\r\n\ntwo\rthree\n\r\nfour é\nlast".utf8)
        let expected: [LineSplitter.Line] = ["one", "", "three", "", "four é", "last"].enumerated().map {
            .text(number: $0.offset + 1, Array($0.element.utf8))
        }
        for length in 1...text.count {
            let chunks = stride(from: 0, to: text.count, by: length).map {
                Array(text[$0..<min($0 + length, text.count)])
            }
            #expect(split(chunks) == expected)
        }
    }

    /// What a terminal shows at each line's end.
    @Test(arguments: [
        ("\u{1B}[2K\rold\u{1B}[2K\r      \u{1B}[2K\r new text", " new text"),
        ("old\rnew", "new"), ("a longer one\r\u{1B}[Kshort", "short"), ("kept\u{1B}[K", "kept"), ("kept\r", "kept"),
        ("gone\u{1B}[2K", ""), ("gone\u{1B}[1K\u{1B}[Gnew", "new"),
        ("\u{1B}[1;31mred\u{1B}[0m, \u{1B}[38;5;214mamber", "red, amber"),
        ("\u{1B}]0;a title\u{7}text", "text"), ("\u{1B}]8;;https://example.org\u{1B}\\link\u{1B}]8;;\u{1B}\\", "link"),
        ("\u{1B}Pdevice\u{1B}\\text", "text"), ("\u{1B}(Btext\u{1B}7\u{1B}=", "text"),
        ("\u{9B}2Kerased: \u{9B}31mred", "erased: red"),
        ("\u{9D}a title\u{9C}text", "text"), ("typo\u{8}\u{8}\u{8}e", "te"), ("é\u{8}e", "e"), ("\u{1B}ö", "ö"),
        ("a\u{1B}", "a"),
        ("a\u{1B}[12", "a"), ("a\u{1B}]never ended", "a"), ("\u{1B}[999999999999Kx", "x"), ("Âé©", "Âé©"),
    ]) func aRedrawnLineIsWhatItIsAtItsEnd(_ written: String, _ shown: String) {
        let bytes = Array((written + "\nnext\n").utf8)
        for length in [1, 2, 3, bytes.count] {
            let chunks = stride(from: 0, to: bytes.count, by: length).map {
                Array(bytes[$0..<min($0 + length, bytes.count)])
            }
            #expect(
                split(chunks) == [.text(number: 1, Array(shown.utf8)), .text(number: 2, Array("next".utf8))],
                "\(length)")
        }
    }

    @Test func sequencesInJSONVanishWhole() {
        let line = #"{"final":"\u001b[1mbold\u001b[0m and\nplain","speaker":"\u001b[32mAnna\u001b[0m"}"#
        #expect(CaptionLine(Array(line.utf8)) == .final("bold and\nplain", speaker: "Anna"))
    }

    /// Redrawn without end, it costs no memory, and what is left of it may be as long as any line.
    @Test func aLineMayBeRedrawnWithoutEnd() {
        var splitter = LineSplitter()
        for _ in 0..<2000 {
            #expect(splitter.append(Array("\u{1B}[2K\r\(String(repeating: "x", count: 500))".utf8)[...]) == [])
        }
        #expect(splitter.draft?.count == 500)
        #expect(splitter.append([0x0A]) == [.text(number: 1, [UInt8](repeating: 0x78, count: 500))])
        #expect(splitter.draft == nil)
        // The first bytes of a character aren't shown.
        _ = splitter.append(Array("\u{1B}[2Kcaf".utf8)[...])
        _ = splitter.append([0xC3])
        #expect(splitter.draft.map { String(decoding: $0, as: UTF8.self) } == "caf")
        _ = splitter.append([0xE2, 0x82])
        #expect(splitter.draft.map { String(decoding: $0.prefix(3), as: UTF8.self) } == "caf")
    }

    @Test(arguments: [1 << 10, 4096, 1 << 20]) func longLinesAreReportedOnceAndSkipped(_ chunk: Int) {
        let longest = [UInt8](repeating: 0x61, count: LineSplitter.longest)
        let end: [UInt8] = [0x0D, 0x0A]
        var bytes = longest + end + longest + [0x61] + end
        bytes += [UInt8](repeating: 0x62, count: 3 * LineSplitter.longest) + end + [0x63]
        let chunks = stride(from: 0, to: bytes.count, by: chunk).map { Array(bytes[$0..<min($0 + chunk, bytes.count)]) }
        #expect(
            split(chunks) == [
                .text(number: 1, longest), .tooLong(number: 2), .tooLong(number: 3), .text(number: 4, [0x63]),
            ])
    }

    // MARK: Pace

    private func time(_ milliseconds: Int) -> MediaTime { .zero + .milliseconds(milliseconds) }

    @Test func theNewestPartialReplacesThoseThatWait() {
        var pace = CaptionPace()
        var passed: [(Int, String)] = []
        // 500 a second, for two seconds.
        for number in 0..<1000 {
            pace.replace(CaptionPace.Partial(text: "\(number)", speaker: nil))
            if let partial = pace.take(at: time(2 * number)) { passed.append((2 * number, partial.text)) }
        }
        #expect((55...61).contains(passed.count))
        for (time, text) in passed { #expect(text == "\(time / 2)", "an old one was passed on") }
        // The last one comes in the end.
        let due = pace.due
        #expect(due != nil && due! <= time(2100) && pace.take(at: time(2100))?.text == "999" && pace.due == nil)
    }

    @Test func finalCaptionsWaitAndReplaceThePartialOneOfTheirSpeaker() {
        var pace = CaptionPace()
        var now = time(0)
        for _ in 0..<1000 {
            now = now + pace.admitFinal(of: nil, at: now)
            _ = pace.admitFinal(of: nil, at: now)
        }
        // 1000 or more at 200 a second, after a burst of 200.
        #expect(now >= time(3900))
        pace.replace(CaptionPace.Partial(text: "a", speaker: "Anna"))
        let later = time(60_000)
        #expect(pace.admitFinal(of: "Ben", at: later) == .zero && pace.waiting?.text == "a")
        #expect(pace.admitFinal(of: "Anna", at: later) == .zero && pace.waiting == nil)
    }
}
