import Foundation

/// How the system's scheduler treats the threads that a frame passes.
public enum ThreadPriority {
    private static let wantedNiceness: Int32 = -10

    /// Raises the calling thread's priority as far as the system allows this user, so that a frame doesn't wait for
    /// other programs: its niceness to −10 or what the limit is (RLIMIT_NICE), else the least real-time priority
    /// (RLIMIT_RTPRIO). Where neither is allowed everything works as before, and nothing is said.
    ///
    /// For threads that wait most of the time, and never spin.
    public static func raise() {
        if setNiceness(wantedNiceness) { return }
        if let least = leastNiceness, least < 0, setNiceness(max(least, wantedNiceness)) { return }
        var parameters = sched_param()
        parameters.sched_priority = sched_get_priority_min(SCHED_RR)
        _ = pthread_setschedparam(pthread_self(), SCHED_RR, &parameters)
    }

    /// On Linux 0 is the calling thread, not its process (setpriority(2), "C library/kernel differences").
    private static func setNiceness(_ niceness: Int32) -> Bool {
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness) == 0
    }

    /// What RLIMIT_NICE allows, which is told as 20 less the niceness.
    private static var leastNiceness: Int32? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(__RLIMIT_NICE.rawValue), &limit) == 0 else { return nil }
        return 20 - Int32(clamping: min(limit.rlim_cur, 40))
    }
}
