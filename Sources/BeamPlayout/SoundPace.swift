/// How fast the sound is played, so that its delay stays where it is wanted although the two sound clocks differ.
///
/// An observer with two states estimates the delay and the clocks' drift from noisy observations, one a packet: it
/// predicts the delay from the drift and the ratio in use, and corrects both by what the observation differs. The ratio
/// is the drift and a part proportional to the delay's error. That is a PI controller whose integral isn't disturbed by
/// the delay's own changes, because the observer knows of them. All times are in seconds.
struct SoundPace: Sendable {
    /// 5 cents, about the smallest difference in pitch that listeners notice between notes played one after the other.
    private static let mostDeviation = 0.003
    /// The ratio's change with each packet: 500 ppm a second, 0.9 cents, far below what is heard as a glide.
    private static let slew = 5e-6
    /// An error of the delay decays in 5 s. For errors of up to 12 ms that asks for less than `slew` allows, so that the
    /// delay doesn't overshoot.
    private static let gain = 0.2
    /// Twice what two sound cards differ by at most.
    private static let mostDrift = 0.001
    /// The observer's bandwidth in radians a second: it averages over some 10 s, less at the beginning.
    private static let bandwidth = 0.1
    /// An observation that is off by more is a disturbance (a late callback), and counts as this.
    private static let outlier = 0.02
    /// So many outliers in a row are a jump, such as a device that stopped for a while.
    private static let mostOutliers = 50
    /// Observations after a beginning which say nothing of the drift (1 s), because the devices' clocks settle.
    private static let settling = 100.0
    /// Packets after which `drift` is more than a guess (10 s), and those that `clockDrift` is the mean of (60 s).
    private static let firstCount = 1000.0
    private static let meanCount = 6000.0

    /// From when a packet is heard at the host until it is played, with an unknown constant.
    private(set) var delay = 0.0
    /// By how much the delay grows a second at a ratio of 1: by the sound clocks' drift, and that of the clocks which the
    /// delay is measured by.
    private(set) var drift = 0.0
    /// The mean of `drift`: by how much the host's sound clock is faster than this machine's, as far as the two machines'
    /// other clocks agree.
    private(set) var clockDrift = 0.0
    /// Samples to take for each that is played.
    private(set) var ratio = 1.0
    private var sinceBegin = 0.0
    private var observations = 0.0
    private var outliers = 0

    /// The sound begins with this delay.
    mutating func begin(at delay: Double) {
        self.delay = delay
        sinceBegin = 0
        outliers = 0
    }

    /// The delay has changed by this: something was left out or put in.
    mutating func shift(by change: Double) { delay += change }

    /// A packet's delay. Without one (nil) the packet was lost.
    mutating func observe(_ observed: Double?) {
        delay += (drift - (ratio - 1)) * SoundBuffer.packet
        guard let observed else { return }
        var difference = observed - delay
        if abs(difference) > Self.outlier {
            outliers += 1
            if outliers > Self.mostOutliers { return begin(at: observed) }
            difference = difference < 0 ? -Self.outlier : Self.outlier
        } else {
            outliers = 0
        }
        sinceBegin += 1
        guard sinceBegin > Self.settling else {
            delay += difference / (1 + sinceBegin)
            return
        }
        observations += 1
        // The drift's bandwidth falls as 1/t, so that it is known soon; the delay is the mean while that is faster.
        let bandwidth = max(Self.bandwidth, 1 / (1 + observations * SoundBuffer.packet))
        delay += difference * max(2 * bandwidth * SoundBuffer.packet, 1 / (1 + sinceBegin))
        drift += difference * bandwidth * bandwidth * SoundBuffer.packet
        drift = min(max(drift, -Self.mostDrift), Self.mostDrift)
        guard observations > Self.firstCount else { return }
        clockDrift += (drift - clockDrift) / min(observations - Self.firstCount, Self.meanCount)
    }

    /// Moves the ratio by what a packet allows.
    mutating func steer(to wanted: Double) {
        let aim = 1 + drift + (delay - wanted) * Self.gain
        let allowed = min(max(aim, 1 - Self.mostDeviation), 1 + Self.mostDeviation)
        ratio += min(max(allowed - ratio, -Self.slew), Self.slew)
    }
}
