import BeamMedia
import Testing

@testable import BeamHost
@testable import BeamLog
@testable import BeamSession
@testable import BeamTerminal
@testable import BeamWire

struct ReportTests {
    /// What comes while the early events are passed on waits behind them.
    @Test func earlyEventsKeepTheirOrder() {
        let early = EarlyEvents<Int>()
        #expect(early.hold(1) && early.hold(2))
        var passed: [Int] = []
        early.release { event in
            passed.append(event)
            if event == 1 { #expect(early.hold(3)) }
        }
        #expect(passed == [1, 2, 3])
        #expect(!early.hold(4), "nothing is held back any more")
        early.restart()
        #expect(early.hold(5))
    }

    private func report(at seconds: Double, frames: UInt64, bytes: UInt64) -> HostReport {
        var statistics = HostStatistics()
        (statistics.frames, statistics.bytes) = (frames, bytes)
        return HostReport(
            time: MediaTime(nanoseconds: 0) + .seconds(seconds), session: statistics, viewers: [], captured: 0,
            encoded: 0, replaced: 0, size: PixelSize(width: 2, height: 2), layers: [])
    }

    @Test func ratesAreOfTheTimeBetweenTwoReports() {
        let first = report(at: 10, frames: 60, bytes: 1000)
        let rate = StreamRate(report(at: 12, frames: 180, bytes: 3000), since: first)
        #expect(rate.framesPerSecond == 60 && rate.bitsPerSecond == 8000)
        // The first report is of a second; two at once don't divide by zero.
        #expect(StreamRate(first, since: nil).framesPerSecond == 60)
        #expect(StreamRate(first, since: first).framesPerSecond == 0)
    }

    /// Those of a browser whose socket is lost, and that comes again.
    @Test func totalsMayBeginAnew() {
        let before = report(at: 10, frames: 60, bytes: 1000)
        let rate = StreamRate(report(at: 12, frames: 30, bytes: 500), since: before)
        #expect(rate.framesPerSecond == 15 && rate.bitsPerSecond == 2000)
        #expect(StreamRate(report(at: 12, frames: 0, bytes: 0), since: before).framesPerSecond == 0)
    }

    @Test func theFirstAnswerCountsAndIsToldOnce() {
        let answer = FirstAnswer<Int>()
        nonisolated(unsafe) var told = 0
        answer.whenGiven { told += 1 }
        #expect(answer.wait(atMost: .zero) == nil)
        #expect(answer.give(1) && !answer.give(2))
        #expect(answer.wait() == 1 && answer.wait(atMost: .seconds(9)) == 1 && told == 1)
        answer.whenGiven { told += 1 }
        #expect(told == 2, "whoever asks later is told at once")
    }
}
