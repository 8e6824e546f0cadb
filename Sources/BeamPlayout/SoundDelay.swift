import BeamMedia

/// The delay that sound should have: as long as the network demands, or longer if the picture is later.
///
/// Delays are counted from a packet's place on the timeline (`SoundTimeline`) until it is played, less the device's
/// latency. Times are in seconds.
struct SoundDelay: Sendable {
    /// The first delay of all, before anything is known of the network.
    private static let firstDelay = 0.01
    /// Added to the delay that packets needed, for what a busy machine or network has not shown yet. Packets then wait for some
    /// 3 ms on a quiet network.
    private static let margin = 0.00075
    /// The delay shrinks if it is too large by this, and by this with each packet (2 ms a second).
    private static let hysteresis = 0.00025
    private static let shrinking = 2e-5
    /// A delay that is off by this for this long is changed at once, with a gap, if it is for the picture.
    private static let largeError = 0.08
    private static let errorPatience = 1.0
    /// The means of the device's latency and of the host's clock are those of so many packets: 1 s and 5 s.
    private static let deviceCount = 100.0
    private static let clockCount = 512.0

    private(set) var lateness = SoundLateness()
    /// What the network demands. It follows `lateness`, and shrinks slowly.
    private(set) var network = firstDelay
    /// `SoundBuffer.leastLatency`.
    var leastLatency: Duration?
    /// From the device's callback until its first sample is heard; a mean.
    private var device: Double?
    /// The host's time on this machine's clock less that of the timeline; a mean.
    private var hostShift: Double?
    /// The delay was raised for the picture.
    private var isRaised = false
    /// Since when the delay has a large error.
    private var errorSince: Double?

    /// The present aim.
    var wanted: Double { max(network, picture ?? network) }

    /// The longest delay at which late packets are played.
    var longest: Double {
        guard !lateness.isEmpty else { return .infinity }
        return max(lateness.least + SoundBuffer.longestDelay.inSeconds, wanted + 5 * SoundBuffer.packet)
    }

    /// What `leastLatency` asks for.
    private var picture: Double? {
        guard let leastLatency, let device, let hostShift else { return nil }
        // The stamps are the host's choice, the bound is not.
        return min(leastLatency.inSeconds - device + hostShift, network + SoundBuffer.longestLatency.inSeconds)
    }

    /// The latency from the host's time until the sound is heard, at a delay; nil until it is known.
    func latency(at delay: Double) -> Double? {
        guard let device, let hostShift else { return nil }
        return delay + device - hostShift
    }

    mutating func noteDevice(latency: Duration) {
        let latency = min(max(latency.inSeconds, -1), 5)
        device = device.map { $0 + (latency - $0) / Self.deviceCount } ?? latency
    }

    /// What was known of the device's latency isn't true any more.
    mutating func forgetDevice() { device = nil }

    /// The host's time on this machine's clock differs from the timeline by this. It is measured again and again, so its
    /// steps are smoothed; a jump of the stamps isn't.
    mutating func noteHost(shift: Double) {
        let difference = shift - (hostShift ?? shift)
        hostShift = abs(difference) > Self.largeError ? shift : (hostShift ?? shift) + difference / Self.clockCount
    }

    /// The same, of a packet that isn't played yet: a first guess, so that the first one is in step, too.
    mutating func noteFirst(hostShift shift: Double) { if hostShift == nil { hostShift = shift } }

    /// A packet needed this delay.
    mutating func learn(_ needed: Double) { lateness.add(needed) }

    /// The path has become longer: this is the delay now.
    mutating func relearn(at delay: Double) {
        lateness.removeAll()
        network = delay
    }

    /// Moves by what a packet allows. It grows at once.
    mutating func follow() {
        guard !lateness.isEmpty else { return }
        let wanted = lateness.wanted + Self.margin
        if wanted >= network {
            network = wanted
        } else if wanted < network - Self.hysteresis {
            network = max(wanted, network - Self.shrinking)
        }
        network = min(network, lateness.least + SoundBuffer.longestDelay.inSeconds)
    }

    /// Whether the delay, present `delay`, is to be changed at once with a gap: it has been far from what the picture needs
    /// for a while.
    mutating func needsGap(at delay: Double, _ time: Double) -> Bool {
        if wanted > network + Self.largeError / 2 {
            isRaised = true
        } else if delay < network + Self.largeError / 2 {
            isRaised = false
        }
        guard isRaised, abs(wanted - delay) > Self.largeError else {
            errorSince = nil
            return false
        }
        let since = errorSince ?? time
        errorSince = since
        return time - since > Self.errorPatience
    }

    /// Nothing plays: the next beginning sets the delay.
    mutating func forgetError() { errorSince = nil }
}
