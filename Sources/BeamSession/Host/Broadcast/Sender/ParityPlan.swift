import BeamMedia

/// Decides the share of parity that a viewer gets with each frame: none where a retransmission arrives before the loss
/// is noticed, up to half of the frame where a round trip is longer than a picture lasts.
///
/// A retransmission costs a round trip and only what was lost. Parity costs no time, but a share of everything.
struct ParityPlan: Sendable {
    /// Up to the short round trip no parity is worth its cost. From there its share grows, up to the long one, from
    /// where retransmissions come too late.
    private static let shortTrip = Duration.milliseconds(12)
    private static let longTrip = Duration.milliseconds(32)
    /// A smaller share is lost now and then on any network.
    private static let leastLoss = 0.002
    private static let most = 0.5
    /// How long a burst of losses is remembered.
    private static let memory = Duration.seconds(2)

    /// Parity as a share of a frame's parts; 0 for none.
    private(set) var share = 0.0
    /// The largest recent share of losses in a report: bursts need more parity than the mean loss.
    private var peak = 0.0
    private var peakAt = MediaTime.zero

    mutating func reported(expected: Int, lost: Int, now: MediaTime) {
        // Fewer datagrams say nothing about the share.
        guard expected >= 8 else { return }
        let passed = (now - peakAt).inSeconds / Self.memory.inSeconds
        let faded = peak * max(0, 1 - passed / 4)
        peak = max(faded, min(1, Double(max(0, lost)) / Double(expected)))
        peakAt = now
    }

    mutating func plan(loss: Double, roundTrip: Duration) {
        let urgency = (roundTrip - Self.shortTrip).inSeconds / (Self.longTrip - Self.shortTrip).inSeconds
        guard loss > Self.leastLoss, urgency > 0 else {
            share = 0
            return
        }
        let needed = max(loss * 1.5, peak)
        share = min(Self.most, min(1, urgency) * needed)
    }
}
