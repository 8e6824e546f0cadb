import BeamMedia

/// What a layer's frames take of a path, in encoded bits a second: now, and at most in the last minute.
///
/// A desktop stands still for most of the time, and takes a hundredth of what the options allow. Whether a path is fast enough for it
/// is asked of what it takes.
struct LayerUse: Sendable {
    /// Seconds that `most` is of: scrolling comes again after a pause.
    private static let span: Int64 = 60

    /// A second of the clock, and the bytes that came in it.
    private struct Second: Sendable {
        var number: Int64 = 0
        var bytes = 0
    }

    private var running = Second()
    private var past = [Second](repeating: Second(), count: Int(clamping: span))
    private var last = 0
    private var mostPast = 0

    mutating func count(_ bytes: Int, now: MediaTime) {
        turn(now: now)
        running.bytes += bytes
    }

    /// In the second that ended last, or in the one that runs if that has taken more already.
    mutating func current(now: MediaTime) -> Double {
        turn(now: now)
        return Double(max(running.bytes, last)) * 8
    }

    /// In the second of the last minute that took the most.
    mutating func most(now: MediaTime) -> Double {
        turn(now: now)
        return Double(max(running.bytes, mostPast)) * 8
    }

    private mutating func turn(now: MediaTime) {
        let number = now.nanoseconds / 1_000_000_000
        guard number > running.number else { return }
        past[Int(clamping: running.number % Self.span)] = running
        last = running.number == number - 1 ? running.bytes : 0
        mostPast = past.lazy.filter { number - $0.number <= Self.span }.map(\.bytes).max() ?? 0
        running = Second(number: number)
    }
}
