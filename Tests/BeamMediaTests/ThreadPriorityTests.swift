import BeamMedia
import Foundation
import Synchronization
import Testing

struct ThreadPriorityTests {
    /// Whether this user may have real-time priority: tries it on a thread that ends at once.
    private static let isRealTimeAllowed = onThread {
        var parameters = sched_param()
        parameters.sched_priority = 1
        return sched_setscheduler(0, SCHED_RR, &parameters) == 0
    }

    /// Runs `body` on a thread of its own.
    private static func onThread(_ body: @escaping @Sendable () -> Bool) -> Bool {
        let result = Mutex(false)
        StageThread("beam-test") { result.withLock { $0 = body() } }.join()
        return result.withLock { $0 }
    }

    @Test(.enabled(if: isRealTimeAllowed, "this user may not have real-time priority (RLIMIT_RTPRIO, CAP_SYS_NICE)"))
    func `Sound has real-time priority where that is allowed, and what it starts doesn't`() {
        let hasIt = Self.onThread {
            ThreadPriority.raiseForSound()
            // Beside the policy there is a flag.
            return sched_getscheduler(0) & 0xff == SCHED_RR
        }
        let startedHasIt = Self.onThread {
            ThreadPriority.raiseForSound()
            return Self.onThread { sched_getscheduler(0) != SCHED_OTHER }
        }
        #expect(hasIt && !startedHasIt)
    }
}
