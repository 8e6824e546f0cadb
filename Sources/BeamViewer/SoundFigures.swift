import BeamMedia
import BeamPlayout

/// How a viewer's sound is played. Totals since the start; the rest is at present.
public struct SoundFigures: Sendable, Equatable {
    /// What was played and made up, and how long packets wait.
    public var statistics = SoundStatistics()
    /// The sound's latency minus the picture's, positive if the sound is later: medians of about 2 s. Nil while one of them
    /// is unknown.
    public var skew: Duration?
    /// How long pictures are held for the sound.
    public var hold = Duration.zero
    /// 0 to 1.
    public var volume = 1.0
    public var isMuted = false
    /// The device that plays; nil while there is none.
    public var device: String?
}
