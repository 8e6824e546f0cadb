import BeamMedia
import Glibc

/// What the calling thread has used of its core (CLOCK_THREAD_CPUTIME_ID): it grows only while the thread runs.
public enum ThreadTime {
    public static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
    }
}

extension MediaTime {
    /// The machine's monotonic clock (CLOCK_MONOTONIC). All frame timestamps are read here.
    public static var now: MediaTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MediaTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
