import Glibc

/// A time in the past, as people say it.
enum PastDay {
    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]

    /// `today at 14:05`, `yesterday at 09:30`, `on 3 March`, `on 3 March 2025`.
    ///
    /// - Parameters:
    ///   - seconds: since 1970.
    ///   - now: the same.
    static func words(_ seconds: Int, now: Int = time(nil)) -> String {
        let (then, today) = (parts(seconds), parts(now))
        func isSameDay(_ other: tm) -> Bool { then.tm_year == other.tm_year && then.tm_yday == other.tm_yday }
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let clock = "\(two(then.tm_hour)):\(two(then.tm_min))"
        if isSameDay(today) { return "today at \(clock)" }
        // The noon before: a day has 23 to 25 hours.
        let noon = now - Int(today.tm_hour) * 3600 - 12 * 3600
        if isSameDay(parts(noon)) { return "yesterday at \(clock)" }
        let month = months[max(0, min(11, Int(then.tm_mon)))]
        return "on \(then.tm_mday) \(month)" + (then.tm_year == today.tm_year ? "" : " \(Int(then.tm_year) + 1900)")
    }

    private static func parts(_ seconds: Int) -> tm {
        var (seconds, parts) = (time_t(seconds), tm())
        localtime_r(&seconds, &parts)
        return parts
    }
}
