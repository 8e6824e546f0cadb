import BeamMedia

/// What is sent: the simulcast layers, and the key that seals them all.
struct HostStream: Sendable {
    var layers: [SimulcastLayer]
    private(set) var sealer: DatagramSealer
    private(set) var keys: MediaKeys
    /// When the last media key was given out.
    private var lastKeyChange: MediaTime?
    /// Another media key is to be given out then: the last change was a moment ago.
    private var nextKeyChange: MediaTime?
    /// The screen is being shared.
    var isOn = false
    /// Of each layer, the parity that somebody needs with its frames.
    var parityShare = [Double](repeating: 0, count: SimulcastLayer.count)
    /// Working memory of `LayerRate`.
    var scratch: [Int] = []

    init(_ pacing: Pacing, random: inout some RandomNumberGenerator) {
        keys = MediaKeys(random: &random)
        sealer = DatagramSealer(key: keys.current)
        layers = (0..<SimulcastLayer.count).map { SimulcastLayer($0, limits: pacing) }
    }

    // MARK: The media key

    /// What `replaceKey` has to have done.
    enum KeyChange: Sendable {
        case none
        /// Give this key to every viewer of version 2.
        case announce(SealingKey)
    }

    /// When `keyDeadlineReached` is to be called.
    var keyDeadline: MediaTime? {
        Self.earlier(keys.deadline, nextKeyChange)
    }

    private static func earlier(_ one: MediaTime?, _ other: MediaTime?) -> MediaTime? {
        guard let one, let other else { return one ?? other }
        return min(one, other)
    }

    /// A viewer has left, or the key has sealed enough: from the next key on, nobody who has left can open what is sent.
    mutating func replaceKey(now: MediaTime, random: inout some RandomNumberGenerator) -> KeyChange {
        // Viewers that come and go must not cause a message to everybody each time.
        if let lastKeyChange, now - lastKeyChange < HostLimits.mediaKeyInterval {
            nextKeyChange = lastKeyChange + HostLimits.mediaKeyInterval
            return .none
        }
        nextKeyChange = nil
        guard let key = keys.replace(now: now, random: &random) else { return .none }
        lastKeyChange = now
        return .announce(key)
    }

    /// Every viewer has the next key: seals with it from the next frame on.
    mutating func advanceKey(now: MediaTime, random: inout some RandomNumberGenerator) -> KeyChange {
        let isStale = keys.advance()
        sealer = DatagramSealer(key: keys.current)
        return isStale ? replaceKey(now: now, random: &random) : .none
    }

    mutating func keyDeadlineReached(now: MediaTime, random: inout some RandomNumberGenerator) -> KeyChange {
        if let deadline = keys.deadline, deadline <= now { return advanceKey(now: now, random: &random) }
        if let nextKeyChange, nextKeyChange <= now { return replaceKey(now: now, random: &random) }
        return .none
    }

    var isKeyWornOut: Bool { sealer.datagramsSealed > HostLimits.datagramsPerKey }

    // MARK: Layers

    /// When something of the stream's own is due.
    var deadline: MediaTime? {
        layers.reduce(keyDeadline) { next, layer in
            let temporal =
                layer.demand.wantsTemporalLayers && layer.temporalUntil < .distantFuture ? layer.temporalUntil : nil
            return Self.earlier(Self.earlier(next, layer.keyframes.deadline), temporal)
        }
    }

    /// Nothing is sent: what waits is gone.
    mutating func stopLayers() {
        for index in layers.indices {
            layers[index].removeAll()
            layers[index].keyframes.stop()
        }
    }
}
