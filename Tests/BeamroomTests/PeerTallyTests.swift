import BeamMedia
import BeamProtocol
import Testing

@testable import beamroom

/// Events of unknown peers: the first few are printed, the rest are summed up.
struct PeerTallyTests {
    private let start = MediaTime(nanoseconds: 5_000_000_000)

    @Test func theFirstEventsArePrintedAndTheRestIsSummedUpOnce() {
        var tally = PeerTally()
        var told = 0
        var written = 0
        for index in 0..<212 {
            let now = start + .milliseconds(Int64(index * 40))
            #expect(tally.takeSummaries(now: now).isEmpty)
            let verdict = tally.note(.connectionRefused, from: .v4(UInt32(index % 3)), now: now)
            told += verdict.toPerson ? 1 : 0
            written += verdict.toProgram ? 1 : 0
        }
        #expect(told == 9, "three from each")
        #expect(written == 20)
        #expect(tally.takeSummaries(now: start + .milliseconds(9999)).isEmpty)
        let summaries = tally.takeSummaries(now: start + .seconds(10))
        #expect(
            summaries.map(\.words) == ["212 connections from 3 addresses were refused in the last 10 s."])
        #expect(summaries.first?.isForProgram == true)
        #expect(tally.takeSummaries(now: start + .seconds(100)).isEmpty, "once")
    }

    @Test func printedEventsAreNotSummedUp() {
        var tally = PeerTally()
        for _ in 0..<5 { #expect(tally.note(.wrongCode, from: .v4(1), now: start).toPerson) }
        #expect(tally.takeSummaries(now: start + .seconds(10)).isEmpty)
    }

    @Test func eachKindAndEachPeriodHasItsOwnAllowance() {
        var tally = PeerTally()
        for _ in 0..<50 { _ = tally.note(.viewerRefused, from: .v4(1), now: start) }
        #expect(tally.note(.wrongCode, from: .v4(1), now: start).toPerson)
        #expect(!tally.note(.viewerRefused, from: .v4(1), now: start).toPerson)
        let others = (2..<50).count { tally.note(.viewerRefused, from: .v4($0), now: start).toPerson }
        #expect(others == 7, "ten in all")
        #expect(tally.takeSummaries(now: start + .seconds(10)).map(\.kind) == [.viewerRefused])
        #expect(tally.note(.viewerRefused, from: .v4(2), now: start + .seconds(10)).toPerson)
    }

    @Test func theAddressesThatAreKeptAreBounded() {
        var tally = PeerTally()
        for index in 0..<100_000 { _ = tally.note(.connectionRefused, from: .v4(UInt32(index)), now: start) }
        let summary = tally.takeSummaries(now: start + .seconds(10)).first
        #expect(summary?.addresses == PeerTally.mostAddresses)
        #expect(summary?.words.contains("1024 or more addresses") == true)
    }
}
