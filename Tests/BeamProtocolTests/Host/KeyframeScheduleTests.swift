import BeamMedia
import Testing

@testable import BeamProtocol

/// Who has keyframes made, and how many: everybody in a lane pays for them.
struct KeyframeScheduleTests {
    @Test func whoJoinsGetsOneAtOnce() {
        var schedule = KeyframeSchedule()
        schedule.keyframeCame(now: .at(1), isPeriodic: false)
        #expect(schedule.joined(now: .at(1.01)) == .request)
    }

    @Test func whoJoinsAndLeavesWithoutEndGetsFiveASecond() {
        var schedule = KeyframeSchedule()
        var requests = 0
        // 50 joins a second; the encoder takes 10 ms.
        for step in 0..<500 {
            let now = MediaTime.at(1 + Double(step) * 0.02)
            if schedule.deadlineReached(now: now) == .request { requests += 1 }
            if schedule.joined(now: now) == .request { requests += 1 }
            schedule.keyframeCame(now: now + .milliseconds(10), isPeriodic: false)
        }
        #expect((50...70).contains(requests), "\(requests) in 10 s")
    }
}
