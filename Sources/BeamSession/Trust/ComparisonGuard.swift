import BeamMedia
import BeamWire

/// Counts failed comparisons, and makes the digits longer after many of them.
///
/// A comparison begins when the host's person agrees to it. It gives an attacker in the middle one chance in a million
/// that both screens show the same digits. After `sixDigitFailures` failures within a day, nine digits are compared
/// instead of six. An attacker whose victim agrees once a second, all day, so has a chance of 12 × 10⁻⁶ + 86,388 × 10⁻⁹
/// < 10⁻⁴. Nobody has to wait: at worst, honest people compare nine digits.
struct ComparisonGuard: Sendable {
    /// Failures within `memory` after which nine digits are compared.
    static let sixDigitFailures = 12
    static let memory = Duration.seconds(86_400)

    /// The times of the last failures, at most `sixDigitFailures`.
    private var failures: [MediaTime] = []

    /// A comparison that the person had agreed to has failed: the digits differed, or the viewer left. Returns the
    /// number of failures within a day, at most `sixDigitFailures`.
    mutating func failed(now: MediaTime) -> Int {
        forget(now: now)
        if failures.count == Self.sixDigitFailures { failures.removeFirst() }
        failures.append(now)
        return failures.count
    }

    mutating func length(now: MediaTime) -> PairingCode.Length {
        forget(now: now)
        return failures.count < Self.sixDigitFailures ? .six : .nine
    }

    private mutating func forget(now: MediaTime) { failures.removeAll { now - $0 > Self.memory } }
}
