import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// How often keyframes are made: each one costs all viewers of its layer.
struct KeyframeScheduleTests {
    @Test func aSingleViewerGetsAKeyframeAtOnce() {
        var schedule = KeyframeSchedule()
        schedule.keyframeCame(now: .at(1), isPeriodic: false)
        #expect(schedule.request(now: .at(1.01)) == .request)
        #expect(schedule.isRequested)
    }

    @Test func withSeveralViewersThereAreFiveKeyframesASecondAtMost() {
        var schedule = KeyframeSchedule()
        var requests = 0
        // 50 viewers a second request one; the encoder takes 10 ms.
        for step in 0..<500 {
            let now = MediaTime.at(1 + Double(step) * 0.02)
            if schedule.deadlineReached(now: now) == .request { requests += 1 }
            if schedule.requestLimited(now: now) == .request { requests += 1 }
            if schedule.isRequested { schedule.keyframeCame(now: now + .milliseconds(10), isPeriodic: false) }
        }
        #expect((45...51).contains(requests), "\(requests) in 10 s")
    }
}
