import Foundation
import Testing

@testable import BeamMeasure

/// Results are read back unchanged, and invalid lines are refused with their number.
struct ResultsFileTests {
    private func text(_ records: [MeasureRecord]) -> String {
        records.map { ResultsFile.line($0) + "\n" }.joined()
    }

    @Test func whatIsWrittenIsReadBack() throws {
        var remote = MeasureRecord.sample("host \"desk\"\n")
        remote.quality = nil
        remote.host = nil
        remote.sound = nil
        remote.totalMs = nil
        remote.clockErrorMs = 0.25
        let records = [MeasureRecord.sample(), .sample(repetition: 2), remote]
        let scratch = try ScratchDirectory()
        let path = try scratch.write(Data(text(records).utf8), to: "results.jsonl")
        #expect(try ResultsFile.read(path) == records)
        #expect(text(records).split(separator: "\n").count == 3)
    }

    @Test func emptyLinesAndCRLFAreAccepted() throws {
        let line = ResultsFile.line(.sample())
        let data = Data("\n\r\n  \n\(line)\r\n\n".utf8)
        #expect(try ResultsFile.records(in: data, path: "x").count == 1)
    }

    private func refusal(_ line: String) throws -> String {
        let data = Data((ResultsFile.line(.sample()) + "\n" + line + "\n").utf8)
        let error = try #require(throws: MeasureError.self) { try ResultsFile.records(in: data, path: "old.jsonl") }
        #expect(error.description.contains("old.jsonl, line 2"))
        #expect(!error.description.contains("Decod") && !error.description.contains("Swift"))
        return error.description
    }

    @Test(arguments: [
        "nonsense", "{", "[]", "null", "42", "\"text\"", "{\"format\":1", "\u{FFFD}\u{0}\u{1}",
        String(repeating: "[", count: 4000), "{\"format\":NaN}", "{\"format\":1e999}",
    ])
    func invalidRecordsAreRefused(line: String) throws { _ = try refusal(line) }

    @Test func aMissingKeyIsNamed() throws {
        let line = ResultsFile.line(.sample())
        #expect(try refusal(line.replacing("\"peakMemoryMB\"", with: "\"peak\"")).contains("peakMemoryMB"))
        #expect(try refusal(line.replacing("\"cell\"", with: "\"sell\"")).contains("“cell” is missing"))
        #expect(try refusal(line.replacing("\"repetition\":1", with: "\"repetition\":\"one\"")).contains("repetition"))
    }

    /// Lines without sound are those of earlier versions.
    @Test func soundMayBeMissingButNotBroken() throws {
        let line = ResultsFile.line(.sample())
        let old = line.replacing(/"sound":\{.*?\}\},/.dotMatchesNewlines(), with: "")
        #expect(!old.contains("sound") && line.contains("sound"))
        #expect(try ResultsFile.records(in: Data(old.utf8), path: "x").first?.sound == nil)
        #expect(try refusal(line.replacing("\"p95SkewMs\":1.2", with: "\"p95SkewMs\":1e12")).contains("p95SkewMs"))
        #expect(try refusal(line.replacing("\"lostPackets\":1", with: "\"lost\":1")).contains("lostPackets"))
    }

    @Test func implausibleNumbersAreRefused() throws {
        let line = ResultsFile.line(.sample())
        for wild in ["1e300", "-1e12"] {
            #expect(
                try refusal(line.replacing("\"firstFrameMs\":40", with: "\"firstFrameMs\":\(wild)")).contains(
                    "firstFrameMs"))
        }
        for none in ["NaN", "Infinity", "1e999"] {
            _ = try refusal(line.replacing("\"firstFrameMs\":40", with: "\"firstFrameMs\":\(none)"))
        }
    }

    @Test func anotherFormatIsReported() throws {
        #expect(try refusal("{\"format\":2}").contains("format 2"))
    }

    @Test func longLinesAreRefused() throws {
        #expect(try refusal(String(repeating: "x", count: ResultsFile.maxLineBytes + 1)).contains("too long"))
        let line = ResultsFile.line(.sample(String(repeating: "c", count: 301)))
        #expect(try refusal(line).contains("cell"))
    }

    @Test func invalidUTF8IsRefused() throws {
        let data = Data([0xff, 0xfe, 0x00, 0x0a])
        #expect(throws: MeasureError.self) { try ResultsFile.records(in: data, path: "x") }
    }

    @Test func missingAndSpecialFilesAreRefused() throws {
        let scratch = try ScratchDirectory()
        for path in [scratch.path, scratch.file("none.jsonl"), "/dev/zero"] {
            let error = try #require(throws: MeasureError.self) { try ResultsFile.read(path) }
            #expect(error.description.contains(path))
        }
        let empty = try scratch.write(Data("\n".utf8), to: "empty.jsonl")
        #expect(throws: MeasureError.noResults(path: empty)) { try ResultsFile.read(empty) }
    }

    @Test func eventsWithUnknownStagesAreRead() throws {
        let event = try #require(
            ProgramEvent(
                line: #"""
                    {"event":"summary","t":3.5,"frames":12,"latencyMs":{"warp":{"median":1.5,"p95":2},"odd":7,"x":{}}}
                    """#))
        #expect(event.name == "summary" && event.time == 3.5 && event.count("frames") == 12)
        #expect(event.latencies == ["warp": .init(median: 1.5, p95: 2, max: nil)])
        #expect(ProgramEvent(line: "words") == nil && ProgramEvent(line: #"{"event":"x"}"#) == nil)
    }
}
