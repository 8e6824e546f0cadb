import BeamMedia

/// Tells when a sound device has stood still, because its server was busy or changed its steps: from then on all is heard
/// later by that time, unless something is left out.
///
/// A device may ask seldom and irregularly, for much at once. So it doesn't matter how long it asks for nothing. What
/// counts is the length of all samples that it has asked for, or got: the device stood still if that falls behind the clock.
public struct SoundDevicePace: Sendable {
    /// What a device may fall behind, in seconds. Less isn't worth a gap in the sound: the resampler makes up for it.
    private static let tolerance = 0.02
    /// By how much slower than the clock it may run, in seconds a second: more than any.
    private static let drift = 0.001

    private var begin: MediaTime?
    /// Samples since `begin`.
    private var samples: Int64 = 0
    /// At the last call, in seconds since `begin`.
    private var elapsedBefore = 0.0
    /// How far it was behind the clock, when it was behind least.
    private var usual = 0.0

    public init() {}

    /// The device asks for so many samples at `now`; 0 if it doesn't say, and `got` tells. True if it stood still before, and
    /// for its first call.
    public mutating func asked(for count: Int, now: MediaTime) -> Bool {
        samples += Int64(count)
        guard let begin else {
            restart(count, now)
            return true
        }
        let elapsed = (now - begin).inSeconds
        let lag = elapsed - Double(samples) / Double(SoundBlock.sampleRate)
        usual = min(usual + max(0, elapsed - elapsedBefore) * Self.drift, lag)
        elapsedBefore = elapsed
        guard lag - usual > Self.tolerance else { return false }
        restart(count, now)
        return true
    }

    /// The device got samples although it didn't say how many it wanted.
    public mutating func got(_ count: Int) { samples += Int64(count) }

    private mutating func restart(_ count: Int, _ now: MediaTime) {
        begin = now
        samples = Int64(count)
        elapsedBefore = 0
        usual = -Double(count) / Double(SoundBlock.sampleRate)
    }
}
