import BeamMedia
import Glibc

extension MediaTime {
    /// The machine's monotonic clock (CLOCK_MONOTONIC). All frame timestamps are read here.
    public static var now: MediaTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MediaTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
