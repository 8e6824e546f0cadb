import BeamMedia
import BeamWire

/// The stream of a host: its simulcast layers, and the media key that seals them.
struct HostStream: Sendable {
    var layers: [SimulcastLayer]
    private(set) var sealer: DatagramSealer
    var sound: SoundStream
    var pointer = PointerStream()
    private(set) var keys: MediaKeys
    /// When the last media key was announced.
    private var lastKeyChange: MediaTime?
    /// When the next media key is announced; set if that had to wait because the last one was too recent.
    private var nextKeyChange: MediaTime?
    /// The screen is being shared.
    var isOn = false
    /// For each layer, the largest share of parity that a viewer needs.
    var parityShare = [Double](repeating: 0, count: SimulcastLayer.count)
    /// For each layer, the rate in bits a second that its viewers' paths carry; nil: the options'.
    var wantedRates = [Int?](repeating: nil, count: SimulcastLayer.count)
    /// Working memory of `LayerRate`, reused.
    var scratch: [Int] = []

    init(_ pacing: Pacing, random: inout some RandomNumberGenerator) {
        keys = MediaKeys(random: &random)
        sealer = DatagramSealer(key: keys.current)
        sound = SoundStream(key: keys.current)
        layers = (0..<SimulcastLayer.count).map { SimulcastLayer($0, limits: pacing) }
    }

    // MARK: The media key

    /// What the caller has to do.
    struct KeyChange: Sendable {
        /// The key that was announced is the present one now.
        var isNextUsed = false
        /// Send this key to every version 2 viewer: it is the next one.
        var made: SealingKey?
    }

    /// When to call `keyDeadlineReached`.
    var keyDeadline: MediaTime? {
        Self.earlier(keys.deadline, nextKeyChange)
    }

    private static func earlier(_ one: MediaTime?, _ other: MediaTime?) -> MediaTime? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }

    /// Announces a new media key, because a viewer has left or the present key has sealed enough datagrams. Once it is
    /// in use, a viewer that left can't open what is sent.
    mutating func replaceKey(now: MediaTime, random: inout some RandomNumberGenerator) -> KeyChange {
        // Limited in rate, so that viewers that come and go don't cause a message to everybody each time.
        if let lastKeyChange, now - lastKeyChange < HostLimits.mediaKeyInterval {
            nextKeyChange = lastKeyChange + HostLimits.mediaKeyInterval
            return KeyChange()
        }
        nextKeyChange = nil
        guard let key = keys.replace(now: now, random: &random) else { return KeyChange() }
        lastKeyChange = now
        return KeyChange(made: key)
    }

    /// Every viewer has the next key, or its deadline has passed: uses it from the next frame on.
    mutating func advanceKey(now: MediaTime, random: inout some RandomNumberGenerator) -> KeyChange {
        let isStale = keys.advance()
        sealer = DatagramSealer(key: keys.current)
        sound.use(keys.current)
        let made = isStale ? replaceKey(now: now, random: &random).made : nil
        return KeyChange(isNextUsed: true, made: made)
    }

    mutating func keyDeadlineReached(now: MediaTime, random: inout some RandomNumberGenerator) -> KeyChange {
        if let deadline = keys.deadline, deadline <= now { return advanceKey(now: now, random: &random) }
        if let nextKeyChange, nextKeyChange <= now { return replaceKey(now: now, random: &random) }
        return KeyChange()
    }

    var isKeyWornOut: Bool {
        max(sealer.datagramsSealed, sound.datagramsSealed) > HostLimits.datagramsPerKey
    }

    // MARK: Layers

    /// When `streamDeadlineReached` is due.
    var deadline: MediaTime? {
        layers.reduce(Self.earlier(Self.earlier(keyDeadline, sound.deadline), pointer.deadline)) { next, layer in
            Self.earlier(Self.earlier(next, layer.keyframes.deadline), layer.temporalUntil)
        }
    }

    /// Drops all frames and keyframe requests.
    mutating func stopLayers() {
        for index in layers.indices {
            layers[index].removeAll()
            layers[index].keyframes.stop()
        }
    }
}
