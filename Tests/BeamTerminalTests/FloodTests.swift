import BeamMedia
import Testing

@testable import BeamTerminal

/// Of what others can cause as often as they like the first few are reported, and the rest is summed up or left out.
struct FloodTests {
    private let start = MediaTime(nanoseconds: 5_000_000_000)

    @Test func theFirstEventsArePrintedAndTheRestIsSummedUpOnce() {
        var counts = FloodCounts()
        var told = 0
        var written = 0
        for index in 0..<212 {
            let now = start + .milliseconds(Int64(index * 40))
            #expect(counts.takeSummaries(now: now).isEmpty)
            let verdict = counts.note(.connectionRefused, from: .v4(UInt32(index % 3)), now: now)
            told += verdict.toPerson ? 1 : 0
            written += verdict.toProgram ? 1 : 0
        }
        #expect(told == 9, "three from each")
        #expect(written == 20)
        #expect(counts.takeSummaries(now: start + .milliseconds(9999)).isEmpty)
        let summaries = counts.takeSummaries(now: start + .seconds(10))
        #expect(
            summaries.map(\.words) == ["212 connections from 3 addresses were refused in the last 10 s."])
        #expect(summaries.first?.isForProgram == true)
        #expect(counts.takeSummaries(now: start + .seconds(100)).isEmpty, "once")
    }

    @Test func printedEventsAreNotSummedUp() {
        var counts = FloodCounts()
        for _ in 0..<5 { #expect(counts.note(.wrongCode, from: .v4(1), now: start).toPerson) }
        #expect(counts.takeSummaries(now: start + .seconds(10)).isEmpty)
    }

    @Test func eachKindAndEachPeriodHasItsOwnAllowance() {
        var counts = FloodCounts()
        for _ in 0..<50 { _ = counts.note(.viewerRefused, from: .v4(1), now: start) }
        #expect(counts.note(.wrongCode, from: .v4(1), now: start).toPerson)
        #expect(!counts.note(.viewerRefused, from: .v4(1), now: start).toPerson)
        let others = (2..<50).count { counts.note(.viewerRefused, from: .v4($0), now: start).toPerson }
        #expect(others == 7, "ten in all")
        #expect(counts.takeSummaries(now: start + .seconds(10)).map(\.flood) == [.viewerRefused])
        #expect(counts.note(.viewerRefused, from: .v4(2), now: start + .seconds(10)).toPerson)
    }

    @Test func theAddressesThatAreKeptAreBounded() {
        var counts = FloodCounts()
        for index in 0..<100_000 { _ = counts.note(.connectionRefused, from: .v4(UInt32(index)), now: start) }
        let summary = counts.takeSummaries(now: start + .seconds(10)).first
        #expect(summary?.addresses == FloodCounts.mostAddresses)
        #expect(summary?.words.contains("1024 or more addresses") == true)
    }

    @Test func tenLinesInTenSecondsArePrintedOfWhatIsNotSummedUp() {
        var counts = FloodCounts()
        let told = (0..<600).count { counts.note(.note, now: start + .milliseconds(100) * $0).toPerson }
        #expect(told == 60, "in a minute of ten a second")
        #expect(counts.takeSummaries(now: start + .seconds(100)).isEmpty)
        let later = counts.note(.note, now: start + .seconds(60))
        #expect(later == FloodCounts.Verdict(toPerson: true, toProgram: true))
    }
}
