/// 10 ms of sound on its way to the encoder: 480 samples in each of two channels at 48 kHz.
public struct SoundBlock: Sendable, Equatable {
    /// Samples a second in each channel.
    public static let sampleRate = 48_000
    /// Left and right.
    public static let channelCount = 2
    /// Samples in each channel.
    public static let length = 480
    public static let duration = Duration.milliseconds(10)

    /// Left and right in turn, `length` × `channelCount` values from -1 to 1.
    public var samples: [Float]
    /// When its first sample is heard at the host, on the host's monotonic clock. From block to block this is 10 ms more
    /// by the sound card's clock, which drifts against the monotonic one; a jump of more than 5 ms is a gap.
    public var time: MediaTime

    public init(samples: [Float], time: MediaTime) {
        self.samples = samples
        self.time = time
    }

    /// How long so many samples take.
    public static func time(ofSamples count: Int) -> Duration {
        .nanoseconds(Int64(count) * 1_000_000_000 / Int64(sampleRate))
    }
}

/// A source of sound. `run` is called on one thread; the other members from any thread.
public protocol SoundSource: AnyObject, Sendable {
    /// Delivers blocks until `stop()`: in order, as soon as they are there. A source that plays nothing may deliver silent
    /// blocks or none. It survives the loss of what it captures from, and goes on when that is back.
    func run(deliver: (SoundBlock) -> Void)

    /// False pauses capturing, because nobody listens. A source starts inactive.
    func setActive(_ isActive: Bool)

    /// Makes `run` return soon.
    func stop()
}
