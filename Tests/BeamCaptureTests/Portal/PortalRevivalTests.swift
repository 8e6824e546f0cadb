import BeamMedia
import Testing

@testable import BeamCapture

/// When a session that has ended is begun again, in virtual time.
struct PortalRevivalTests {
    private static let begin = MediaTime.zero + .seconds(100)

    private func at(_ seconds: Double) -> MediaTime { Self.begin + .milliseconds(Int64(seconds * 1000)) }

    /// How long after `start` attempts are made that fail after `duration` seconds each, and what comes at the end.
    private func attempts(
        _ revival: inout PortalRevival, from start: Double, lasting duration: Double
    ) -> (times: [Double], end: PortalTrouble?) {
        var (now, times) = (at(start), [Double]())
        for _ in 0..<1000 {
            switch revival.next(isLocked: false, now: now) {
            case .wait(let until?): now = until
            case .wait: return (times, nil)
            case .giveUp(let trouble): return (times, trouble)
            case .attempt(let limit):
                times.append((now - at(start)).inSeconds)
                now = min(now + .milliseconds(Int64(duration * 1000)), limit)
            }
        }
        return (times, nil)
    }

    @Test func whatBrokeIsTriedForAMinuteEverMoreSlowly() {
        var revival = PortalRevival(after: .broken("gone"), now: at(0))
        #expect(revival.next(isLocked: false, now: at(0)) == .wait(until: at(0.5)))
        #expect(revival.visibility == .monitorOff)
        let (times, end) = attempts(&revival, from: 0, lasting: 0)
        #expect(times == [0.5, 1.5, 3.5, 7.5, 15.5, 23.5, 31.5, 39.5, 47.5, 55.5])
        #expect(end == .lost(reason: "gone"))

        // A dialog that nobody answers.
        revival = PortalRevival(after: .broken("gone"), now: at(0))
        #expect(attempts(&revival, from: 0, lasting: 1000).times == [0.5])
    }

    @Test func aSessionThatSomebodyEndsIsOver() {
        var revival = PortalRevival(after: .closed, now: at(0))
        #expect(revival.next(isLocked: false, now: at(0)) == .wait(until: at(2)))
        #expect(revival.visibility == nil)
        #expect(revival.next(isLocked: false, now: at(2)) == .giveUp(.ended))
    }

    /// The lock may be told before the session's end, or after it; what breaks meanwhile waits, too.
    @Test(
        arguments: [(.closed, 0), (.closed, 1.9), (.broken("gone"), 0), (.broken("gone"), 30)]
            as [(PortalCapture.End, Double)])
    func aSessionThatTheLockEndsIsBegunWhenItIsUnlocked(end: PortalCapture.End, lock: Double) {
        var revival = PortalRevival(after: end, now: at(0))
        if lock > 0 { _ = revival.next(isLocked: false, now: at(0)) }
        #expect(revival.next(isLocked: true, now: at(lock)) == .wait(until: nil))
        #expect(revival.visibility == .screenLocked)
        let unlock = lock + 36_000
        #expect(revival.next(isLocked: true, now: at(unlock)) == .wait(until: nil))
        #expect(revival.next(isLocked: false, now: at(unlock)) == .wait(until: at(unlock + 0.5)))
        // Usually it is there at once.
        #expect(revival.visibility == nil)
        #expect(revival.next(isLocked: false, now: at(unlock + 0.5)) == .attempt(until: at(unlock + 60)))
        #expect(revival.next(isLocked: false, now: at(unlock + 1)) == .wait(until: at(unlock + 2)))
        #expect(revival.visibility == .monitorOff)
        // It is locked again.
        #expect(revival.next(isLocked: true, now: at(unlock + 1.5)) == .wait(until: nil))
        #expect(revival.visibility == .screenLocked)
        let (times, trouble) = attempts(&revival, from: unlock + 100, lasting: 0)
        #expect(times.first == 0.5)
        #expect(times.last.map { $0 < 60 } == true)
        #expect(trouble.map { if case .lost = $0 { true } else { false } } == true)
    }
}
