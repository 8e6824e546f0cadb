import BeamClock
import BeamMedia

/// What a `SoundOutput` is doing. Each description is a person-facing sentence.
public enum SoundOutputState: Sendable, Hashable, CustomStringConvertible {
    /// `name` nil: on the default device.
    case playing(name: String?)
    /// There is no device of the chosen name.
    case noSuchDevice(name: String, names: [String])
    /// Nothing can be played; tries go on.
    case noOutput(reason: String)
    /// The device or the server has gone; tries go on.
    case lost

    public var description: String {
        switch self {
        case .playing(nil): "Sound is played."
        case .playing(let name?): "Sound is played on \(name)."
        case .noSuchDevice(let name, let names):
            "There is no audio output \(name). "
                + (names.isEmpty ? "There is none at all." : "There are: \(names.joined(separator: ", ")).")
        case .noOutput(let reason): "No sound is played: \(reason)."
        case .lost: "No sound is played for now: the sound server or the device has gone."
        }
    }
}

/// What an output asks for.
public struct OutputDemand: Sendable {
    /// The time of the call.
    public var now: MediaTime
    /// How long after `now` the buffer's first sample is heard. From call to call, `now` + `latency` moves on evenly.
    public var latency: Duration
    /// All of the buffer has to be filled. Otherwise it may be as little as one sample: the output asks again when there is
    /// need for more, so what isn't given now can be decided later.
    public var isWhole: Bool

    public init(now: MediaTime, latency: Duration, isWhole: Bool) {
        self.now = now
        self.latency = latency
        self.isWhole = isWhole
    }
}

/// Plays sound on PulseAudio or PipeWire, as much at once as the source gives; without a server through SDL, in steps of 256
/// samples (5.3 ms). 48 kHz, stereo.
///
/// Opening a device may take long, so a thread of its own does that. It opens the device again when it was lost.
public final class SoundOutput: Sendable {
    /// Fills the buffer with the next samples, left and right in turn. Returns how many it has given, in each channel. Called
    /// on the device's thread; it mustn't wait.
    public typealias Fill = @Sendable (_ samples: UnsafeMutableBufferPointer<Float>, _ demand: OutputDemand) -> Int

    /// Samples in each channel that SDL and the silent device ask for at once.
    static let step = 256
    /// A thread that hangs in a sound library is left behind.
    private static let stopTimeout = Duration.seconds(2)

    private let feed: OutputFeed
    private let keeper: OutputReopener

    /// Nothing is played before `start`. Create it on the thread that creates the window, and not at the same time:
    /// SDL's settings have no lock.
    ///
    /// - Parameters:
    ///   - device: what the sound server, or else SDL, calls it; nil: the default device.
    ///   - onState: called on the output's thread with the first state and whenever it changes.
    public init(
        device: String? = nil, onState: @escaping @Sendable (SoundOutputState) -> Void, fill: @escaping Fill
    ) {
        SDLAudio.setHints()
        feed = OutputFeed(fill)
        keeper = OutputReopener(feed, device: device, onState: onState)
    }

    deinit { stop() }

    public func start() { keeper.start() }

    /// Ends it. After this returns, neither `fill` nor `onState` is called any more. Usually takes some milliseconds; at
    /// most 2 s, if the sound server hangs.
    public func stop() {
        feed.end()
        keeper.stop(timeout: Self.stopTimeout)
    }

    /// From 0 to 1, a factor. Another value is brought into this range. Any thread may set it.
    public var volume: Float {
        get { feed.volume }
        set { feed.volume = newValue > 0 ? min(newValue, 1) : 0 }
    }

    /// Any thread may set it.
    public var isMuted: Bool {
        get { feed.isMuted }
        set { feed.isMuted = newValue }
    }
}
