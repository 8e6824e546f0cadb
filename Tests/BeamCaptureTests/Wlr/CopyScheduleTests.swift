import BeamMedia
import Testing

@testable import BeamCapture

@Suite struct CopyScheduleTests {
    /// A display of `refresh` Hz, of which each refresh shows something new until `end`, and the copies that are made of it.
    private func copies(
        maxRate: Double, refresh: Double, until end: Double, knowsRefresh: Bool = true
    ) -> [(time: Double, waits: Bool)] {
        var schedule = CopySchedule(maxFrameRate: maxRate)
        var made: [(time: Double, waits: Bool)] = []
        var now = 0.0
        while now < end {
            let asked = max(now, schedule.due.seconds)
            let waits = schedule.waitsForDamage(now: .at(asked), refreshRate: knowsRefresh ? refresh : nil)
            let time = ((asked * refresh).rounded(.down) + 1) / refresh
            schedule.copied(at: .at(time), isPicture: true)
            made.append((time, waits))
            // Until it is handled.
            now = time + 0.001
        }
        return made
    }

    @Test(arguments: [10.0, 24, 30, 59.94, 60, 75, 144])
    func onAverageTheRateIsKept(refresh: Double) {
        for maxRate in [5.0, 30, 60] {
            let made = copies(maxRate: maxRate, refresh: refresh, until: 10)
            #expect(Double(made.count) <= min(maxRate, refresh) * 10 + 3)
            #expect(Double(made.count) >= min(maxRate, refresh) * 10 * 0.9, "\(maxRate) of \(refresh)")
        }
    }

    @Test func aDisplayOfTheSameRateIsNeverMissed() {
        for (refresh, isKnown) in [(60.0, true), (59.94, true), (50, true), (60, false), (50, false)] {
            let made = copies(maxRate: 60, refresh: refresh, until: 5, knowsRefresh: isKnown)
            for (one, next) in zip(made, made.dropFirst()) { #expect(next.time - one.time < 1.5 / refresh) }
            // Asked for right after the one before.
            #expect(made.dropFirst().allSatisfy { $0.waits })
        }
    }

    @Test func whatWasAskedForLateIsCopiedAtOnce() {
        var schedule = CopySchedule(maxFrameRate: 60)
        #expect(!schedule.waitsForDamage(now: .at(1), refreshRate: 60))
        schedule.copied(at: .at(1), isPicture: false)
        #expect(schedule.waitsForDamage(now: .at(1.008), refreshRate: 60))
        #expect(!schedule.waitsForDamage(now: .at(1.009), refreshRate: 60))
        #expect(!schedule.waitsForDamage(now: .at(1.008), refreshRate: 144))
        #expect(schedule.waitsForDamage(now: .at(1.004), refreshRate: nil))
        #expect(!schedule.waitsForDamage(now: .at(1.005), refreshRate: nil))
        // A compositor that says nonsense.
        #expect(schedule.waitsForDamage(now: .at(1), refreshRate: .infinity))
        #expect(schedule.waitsForDamage(now: .at(1), refreshRate: 0.0001))
        schedule.restart()
        #expect(!schedule.waitsForDamage(now: .at(1), refreshRate: 60))
    }

    /// Otherwise the compositor would have to draw for ever on a desktop where nothing moves.
    @Test func aCopyThatShowsNothingNewDoesNotDelayTheNextOneWhichWaits() {
        var schedule = CopySchedule(maxFrameRate: 10)
        schedule.copied(at: .at(1), isPicture: true)
        schedule.copied(at: .at(1.05), isPicture: true)
        #expect(schedule.due > .at(1.09))
        let due = schedule.due
        #expect(!schedule.waitsForDamage(now: due, refreshRate: 60))
        schedule.copied(at: due + .milliseconds(16), isPicture: false)
        #expect(schedule.due == due)
        #expect(schedule.waitsForDamage(now: due + .milliseconds(17), refreshRate: 60))
    }
}

extension MediaTime {
    fileprivate static func at(_ seconds: Double) -> MediaTime { MediaTime(nanoseconds: Int64(seconds * 1e9)) }
    fileprivate var seconds: Double { Double(nanoseconds) / 1e9 }
}
