import BeamMedia

/// Measures a layer's bit rate: now, and its peak of the last minute.
///
/// A desktop is still most of the time and takes a hundredth of the options' rate. Whether a path is fast enough is
/// judged by what the layer really takes.
struct LayerUse: Sendable {
    /// Seconds that `peak` covers: long enough to remember scrolling that pauses and begins again.
    private static let span: Int64 = 60

    /// A second of the clock, and the bytes made in it.
    private struct Second: Sendable {
        var number: Int64 = 0
        var bytes = 0
    }

    private var running = Second()
    private var past = [Second](repeating: Second(), count: Int(clamping: span))
    private var last = 0
    private var peakPast = 0

    mutating func count(_ bytes: Int, now: MediaTime) {
        advance(now: now)
        running.bytes += bytes
    }

    /// Bits a second in the last complete second, or in the present one if that has more already.
    mutating func current(now: MediaTime) -> Double {
        advance(now: now)
        return Double(max(running.bytes, last)) * 8
    }

    /// Bits a second in the busiest second of the last minute.
    mutating func peak(now: MediaTime) -> Double {
        advance(now: now)
        return Double(max(running.bytes, peakPast)) * 8
    }

    private mutating func advance(now: MediaTime) {
        let number = now.nanoseconds / 1_000_000_000
        guard number > running.number else { return }
        past[Int(clamping: running.number % Self.span)] = running
        last = running.number == number - 1 ? running.bytes : 0
        peakPast = past.lazy.filter { number - $0.number <= Self.span }.map(\.bytes).max() ?? 0
        running = Second(number: number)
    }
}
