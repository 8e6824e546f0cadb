import Glibc

/// A time of day by this machine's clock and time zone, as people read it: `12:03:10`.
struct TimeOfDay: Sendable, Hashable, CustomStringConvertible {
    var hour: Int
    var minute: Int
    var second: Int

    static var now: TimeOfDay {
        var seconds = time(nil)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return TimeOfDay(hour: Int(parts.tm_hour), minute: Int(parts.tm_min), second: Int(parts.tm_sec))
    }

    var description: String { [hour, minute, second].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":") }
}
