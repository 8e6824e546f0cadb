import BeamMedia

/// How much parity a viewer gets with each frame: none where what is lost can be sent again before anybody notices, and up to
/// half of the frame where a round trip is longer than a picture lasts.
///
/// Asking costs a round trip and only what was lost, parity costs no time but a share of everything.
struct ParityPlan: Sendable {
    /// A round trip up to this isn't worth any parity; from there on its worth grows, until nothing else helps in time.
    private static let shortTrip = Duration.milliseconds(12)
    private static let longTrip = Duration.milliseconds(32)
    /// Less than this share is lost now and then on any network.
    private static let leastLoss = 0.002
    private static let most = 0.5
    /// How long a burst of losses is remembered.
    private static let memory = Duration.seconds(2)

    /// Of a frame's parts; 0 for none.
    private(set) var share = 0.0
    /// The greatest share of a report's datagrams that was lost, lately: bursts need more than the mean says.
    private var peak = 0.0
    private var peakAt = MediaTime.zero

    mutating func reported(expected: Int, lost: Int, now: MediaTime) {
        // Of a few datagrams nothing can be said.
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
