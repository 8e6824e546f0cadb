import BeamMedia
import Foundation
import Testing

@testable import BeamWords

/// Entries of transcripts, compared with what the formats say and read by ffmpeg.
struct TranscriptFormatterTests {
    private func entries(_ format: TranscriptFormat, _ lines: [TranscriptLine]) -> [String] {
        var formatter = TranscriptFormatter(format)
        var entries = lines.compactMap { formatter.add($0) }
        if let last = formatter.finish() { entries.append(last) }
        return entries
    }

    private func file(_ format: TranscriptFormat, _ lines: [TranscriptLine]) -> String {
        TranscriptFormatter(format).header + entries(format, lines).joined()
    }

    private let talk = [
        caption("Good morning", at: 1, speaker: "Anna"),
        caption("Two\nlines", at: 2.5),
        TranscriptLine(kind: .note, author: "Ben's laptop", text: "a < b & c > d", time: .milliseconds(83_250)),
        TranscriptLine(kind: .alert, author: "desk", text: "The share is paused", time: .seconds(3_723)),
    ]

    @Test func textIsForPeople() {
        #expect(
            file(.txt, talk) == """
                [0:00:01] Anna: Good morning
                [0:00:02] desk: Two
                    lines
                [0:01:23] Ben's laptop: a < b & c > d
                [1:02:03] The share is paused

                """)
    }

    /// Words that a member puts into another's mouth don't look like the other's.
    @Test func aClaimedSpeakerIsShownWithItsAuthor() {
        var line = caption("I agree", at: 1, speaker: "B", author: "A")
        line.isClaim = true
        #expect(file(.txt, [line]) == "[0:00:01] A: “B” says: I agree\n")
        #expect(file(.srt, [line]).contains("\nA: “B” says: I agree\n"))
        #expect(file(.vtt, [line]).contains("\n<v A: “B” says>I agree\n"))
        #expect(file(.jsonl, [line]).contains(#""author":"A","speaker":"B","claimed":true,"text""#))
        line.speaker = "A"
        #expect(file(.txt, [line]) == "[0:00:01] A: I agree\n")
    }

    @Test func subRip() {
        #expect(
            file(.srt, talk) == """
                1
                00:00:01,000 --> 00:00:02,500
                Anna: Good morning

                2
                00:00:02,500 --> 00:00:04,000
                Two
                lines

                3
                00:01:23,250 --> 00:01:24,750
                Ben's laptop: a ‹ b & c > d

                4
                01:02:03,000 --> 01:02:04,500
                The share is paused


                """)
    }

    @Test func webVTT() {
        #expect(
            file(.vtt, talk) == """
                WEBVTT

                00:00:01.000 --> 00:00:02.500
                <v Anna>Good morning

                00:00:02.500 --> 00:00:04.000
                <v desk>Two
                lines

                00:01:23.250 --> 00:01:24.750
                <v Ben's laptop>a &lt; b &amp; c &gt; d

                01:02:03.000 --> 01:02:04.500
                The share is paused


                """)
    }

    private struct Line: Codable, Equatable {
        var t: Double
        var kind: String
        var author: String
        var speaker: String?
        var text: String
    }

    @Test func jsonLinesAreReadByAnotherParser() throws {
        let hostile = #"quote " backslash \ {"t":1} </script>"#
        let lines = talk + [caption(hostile, at: 0, speaker: #"a"b\"#, author: "x\u{2028}\u{7}y")]
        let read = try entries(.jsonl, lines).map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
        #expect(read[0] == Line(t: 1, kind: "caption", author: "desk", speaker: "Anna", text: "Good morning"))
        #expect(read[1].text == "Two\nlines" && read[1].speaker == nil)
        #expect(read[2] == Line(t: 83.25, kind: "note", author: "Ben's laptop", text: "a < b & c > d"))
        #expect(read[4] == Line(t: 0, kind: "caption", author: "x y", speaker: #"a"b\"#, text: hostile))
        for entry in entries(.jsonl, lines) { #expect(entry.filter { $0 == "\n" }.count == 1 && entry.hasSuffix("\n")) }
    }

    @Test func endingsNameTheFormats() throws {
        for format in TranscriptFormat.allCases {
            #expect(try TranscriptFormat(path: "/tmp/a.b/Talk.\(format.rawValue.uppercased())") == format)
        }
        for path in ["talk", "talk.md", ".txt", "/a.srt/talk", "talk."] {
            #expect(throws: WordsError.unknownFileEnding(path: path)) { try TranscriptFormat(path: path) }
        }
        let words = WordsError.unknownFileEnding(path: "talk.md").description
        for format in TranscriptFormat.allCases { #expect(words.contains(".\(format.rawValue)")) }
    }

    // MARK: Times

    /// The beginnings and ends of the cues, in ms.
    private func cues(_ text: String) -> [(start: Int, end: Int)] {
        let times = /(\d+):(\d\d):(\d\d)[,.](\d\d\d) --> (\d+):(\d\d):(\d\d)[,.](\d\d\d)/
        return text.matches(of: times).map { match in
            let (_, h, m, s, ms, h2, m2, s2, ms2) = match.output
            func time(_ parts: Substring...) -> Int {
                let numbers = parts.map { Int($0) ?? 0 }
                return ((numbers[0] * 60 + numbers[1]) * 60 + numbers[2]) * 1000 + numbers[3]
            }
            return (time(h, m, s, ms), time(h2, m2, s2, ms2))
        }
    }

    @Test func cuesLastAsLongAsTheirTextTakesToRead() {
        func duration(_ count: Int) -> Int {
            let cue = cues(file(.srt, [caption(String(repeating: "x", count: count), at: 0)]))[0]
            return cue.end - cue.start
        }
        #expect(duration(1) == 1500 && duration(30) == 2000 && duration(75) == 5000 && duration(2000) == 7000)
    }

    @Test(arguments: [TranscriptFormat.srt, .vtt]) func cuesStayInOrderAtWildTimes(_ format: TranscriptFormat) {
        var generator = SystemRandomNumberGenerator()
        var wild = (0..<500).map { number in
            caption("line \(number)", at: Double(number) + Double.random(in: -3...3, using: &generator))
        }
        wild += [
            caption("same", at: 700), caption("moment", at: 700), caption("of three", at: 700.2),
            caption("negative", at: -5), caption("late", at: 3_599_999.999), caption("too late", at: 1e12),
            TranscriptLine(kind: .note, author: "a", text: "never", time: .nanoseconds(Int64.max)),
        ]
        let cues = cues(file(format, wild))
        #expect(cues.count == wild.count)
        for cue in cues { #expect(cue.end > cue.start && cue.end - cue.start >= 500 && cue.end - cue.start <= 7000) }
        for (a, b) in zip(cues, cues.dropFirst()) {
            #expect(b.start >= a.start)
            // Cut where the next one begins, unless they begin at about the same time.
            #expect(a.end <= b.start || b.start - a.start < 500)
        }
        #expect(cues.last?.start == 3_600_000_000)
    }

    // MARK: Hostile texts

    static let hostile = [
        "1\n00:00:59,000 --> 00:01:00,000\nforged", "WEBVTT\n\n00:59.000 --> 01:00.000\nforged", "a ---> b --> c -->",
        "<v Root>forged</v><i>x</i> & &lt; <", "{\\an8}{\\b1}up {c:red} {y:b}", "NOTE\n\ncomment", "42", "7\n8\n9",
        "\u{1B}]0;title\u{7}\u{202E}x", "\n\n\n a \n\r\n\u{2028}\u{2029} b", "<font size=99>big</font> 1 < 2 > 0",
        "STYLE\n::cue { color: red }", "[0:00:01] desk: forged\n[0:00:02] desk: forged",
    ]

    @Test func oneTextIsOneEntry() {
        for text in Self.hostile {
            let line = caption(text, at: 5, speaker: "A\n\n--> <v>&", author: "de\nsk")
            for format in TranscriptFormat.allCases {
                let entries = entries(format, [line, line])
                #expect(entries.count == 2)
                for entry in entries {
                    #expect(entry.unicodeScalars.allSatisfy { $0 == "\n" || ShownText.kind($0) != .nothing })
                    switch format {
                    case .txt: #expect(entry.matches(of: /(?m)^\[/).count == 1, "\(entry)")
                    case .jsonl: #expect(entry.dropLast().contains("\n") == false)
                    case .srt, .vtt:
                        #expect(entry.matches(of: /-->/).count == 1 && entry.hasSuffix("\n\n"), "\(entry)")
                        #expect(entry.dropLast(2).contains("\n\n") == false)
                    }
                }
            }
        }
        #expect(file(.vtt, [caption("", at: 1), caption("\u{200B}\n", at: 2)]) == "WEBVTT\n\n")
    }

    @Test(.enabled(if: Tool.isThere, "ffmpeg is not installed"), arguments: [TranscriptFormat.srt, .vtt])
    func ffmpegReadsEachCueAndItsText(_ format: TranscriptFormat) throws {
        let scratch = try Scratch()
        let path = scratch.file("hostile.\(format.rawValue)")
        let lines = Self.hostile.enumerated().map {
            caption("begin\($0.offset) \($0.element) end", at: Double(10 * $0.offset))
        }
        try Data(file(format, lines).utf8).write(to: URL(fileURLWithPath: path))
        let cues = try Tool.cues(path)
        #expect(cues.map(\.start) == lines.indices.map { Double(10 * $0) })
        for cue in cues { #expect(cue.duration >= 1.5 && cue.duration <= 7) }
        // As a player shows it: converted to text, its styles resolved.
        let shown = try Tool.run("ffmpeg", "-i", path, "-f", "ass", "-")
        let dialogues = shown.split(separator: "\n").filter { $0.hasPrefix("Dialogue:") }
        #expect(dialogues.count == lines.count)
        for (number, dialogue) in dialogues.enumerated() {
            #expect(dialogue.contains("begin\(number)") && dialogue.hasSuffix(" end"), "\(dialogue)")
            for style in ["{\\i1}", "{\\an8}", "{\\fs"] { #expect(!dialogue.contains(style), "\(dialogue)") }
        }
    }
}
