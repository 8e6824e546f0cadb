import Foundation

/// The scheduling priority of the threads in a frame's path.
public enum ThreadPriority {
    private static let wantedNiceness: Int32 = -10
    /// SCHED_RESET_ON_FORK, sched(7): what the thread starts, a thread or a sound server, has the usual priority.
    private static let resetOnFork: Int32 = 0x4000_0000

    /// Raises the calling thread's priority as far as this user is allowed, so that frames don't wait for other
    /// programs: niceness −10 or RLIMIT_NICE's minimum, otherwise the lowest real-time priority (RLIMIT_RTPRIO).
    /// Silently does nothing if neither is allowed.
    ///
    /// Only for threads that wait most of the time and never spin.
    public static func raise() {
        if setNiceness(wantedNiceness) { return }
        if let least = leastNiceness, least < 0, setNiceness(max(least, wantedNiceness)) { return }
        _ = setRealTime()
    }

    /// The same for sound, where one ms too late is heard: the lowest real-time priority, otherwise as `raise` does it.
    ///
    /// Only for threads that need little time for whatever comes from the network.
    public static func raiseForSound() {
        if !setRealTime() { raise() }
    }

    /// How far this user may raise priorities.
    public enum Allowed: Sendable {
        case realTime
        /// Niceness below 0.
        case raised
        case usual
    }

    /// Found out by raising the calling thread's, which keeps it: only for a thread that ends soon.
    public static func tryAll() -> Allowed {
        if setRealTime() { return .realTime }
        if setNiceness(wantedNiceness) { return .raised }
        if let least = leastNiceness, least < 0, setNiceness(least) { return .raised }
        return .usual
    }

    private static func setRealTime() -> Bool {
        var parameters = sched_param()
        parameters.sched_priority = sched_get_priority_min(SCHED_RR)
        return pthread_setschedparam(pthread_self(), SCHED_RR | resetOnFork, &parameters) == 0
    }

    /// On Linux, 0 means the calling thread, not the process (setpriority(2), "C library/kernel differences").
    private static func setNiceness(_ niceness: Int32) -> Bool {
        setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness) == 0
    }

    /// The lowest niceness that RLIMIT_NICE allows; the limit is stored as 20 - niceness.
    private static var leastNiceness: Int32? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(__RLIMIT_NICE.rawValue), &limit) == 0 else { return nil }
        return 20 - Int32(clamping: min(limit.rlim_cur, 40))
    }
}
