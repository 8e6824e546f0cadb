import BeamMedia

/// The round-trip time in seconds: smoothed as in RFC 6298, clause 2, and its minimum of the last 10 s.
struct RoundTripEstimate: Sendable {
    /// Samples above this, in seconds, are taken for mistakes: nobody watches a screen over such a path.
    private static let longest = 30.0

    private(set) var smoothed: Double?
    private(set) var variation = 0.0
    private var minima = Ring<Double>(capacity: 10, filler: 0)
    private var began = MediaTime.zero

    /// The minimum of the last 10 s; 0 before the first sample.
    var minimum: Double {
        minima.isEmpty ? 0 : (0..<minima.count).reduce(.infinity) { min($0, minima[back: $1]) }
    }

    mutating func add(_ sample: Double, now: MediaTime) {
        guard (0..<Self.longest).contains(sample) else { return }
        if let old = smoothed {
            variation += (abs(old - sample) - variation) / 4
            smoothed = old + (sample - old) / 8
        } else {
            smoothed = sample
            variation = sample / 2
        }
        if minima.isEmpty || now - began >= .seconds(1) {
            minima.append(sample)
            began = now
        } else {
            minima[back: 0] = min(minima[back: 0], sample)
        }
    }

    /// The path has become longer by `delay` seconds. The minimum is bounded, because the congestion window depends on
    /// it for the next 10 s.
    mutating func rebase(by delay: Double) {
        let minimum = minimum
        minima.removeAll()
        minima.append(min(max(0, minimum + delay), Self.longest))
    }
}
