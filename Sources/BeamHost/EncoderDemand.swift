import BeamMedia
import Synchronization

/// What consumers want of each simulcast layer, and whether its next frame is to be a keyframe. Only this object holds
/// either. It is made before the network and the encoder. Consumers write to it on any thread; the encoder's thread
/// reads it.
final class EncoderDemand: Sendable {
    /// How long one consumer can hold a layer for the others. Holds for pacing are far shorter (`isHeld` ends when some
    /// tens of milliseconds of datagrams have left). A viewer that has vanished holds until it is given up, about 15 s
    /// later.
    static let longestHold = Duration.seconds(1)

    /// What one consumer wants of one layer.
    private struct Claim {
        var demand = StreamDemand()
        /// When the encoder's thread first saw this hold.
        var heldSince: MediaTime?
        /// The consumer has held the layer for too long. The layer goes on without it, and it gets no frames before the
        /// next keyframe after its hold.
        var isPassedOver = false

        var isHolding: Bool { demand.isWatched && demand.isHeld }
        var wantsFrames: Bool { demand.isWatched && !demand.isHeld }
        var isIgnored: Bool { isPassedOver && isHolding }
    }

    private struct Layer {
        /// Indexed by consumer.
        var claims: [Claim] = []
        var needsKeyframe = false

        var demand: StreamDemand {
            claims.reduce(StreamDemand()) { $1.isIgnored ? $0 : $0.union($1.demand) }
        }

        /// When the earliest hold reaches `longestHold`; nil if no other consumer waits for it.
        var holdEnd: MediaTime? {
            guard claims.contains(where: \.wantsFrames) else { return nil }
            return claims.compactMap { $0.isIgnored ? nil : $0.heldSince.map { $0 + EncoderDemand.longestHold } }.min()
        }

        /// Starts to time new holds, and passes over consumers whose hold is too long.
        mutating func advance(to now: MediaTime) {
            for index in claims.indices where claims[index].isHolding {
                claims[index].heldSince = claims[index].heldSince ?? now
            }
            guard claims.contains(where: \.wantsFrames) else { return }
            for index in claims.indices {
                guard let since = claims[index].heldSince, now - since >= EncoderDemand.longestHold else { continue }
                claims[index].isPassedOver = true
            }
        }

        /// Returns true if the encoder's thread has something new to read.
        mutating func set(_ demand: StreamDemand, of consumer: Int) -> Bool {
            let before = self.demand
            claims[consumer].demand = demand
            guard !claims[consumer].isHolding else { return self.demand != before }
            claims[consumer].heldSince = nil
            if !demand.isWatched {
                claims[consumer].isPassedOver = false
            } else if claims[consumer].isPassedOver {
                // It has missed frames that the next ones refer to.
                needsKeyframe = true
                return true
            }
            return self.demand != before
        }
    }

    private let layers = Mutex(Array(repeating: Layer(), count: StreamDemand.layerCount))
    private let wake: @Sendable () -> Void

    /// `wake` is called on the writer's thread when the encoder's thread has something new to read.
    init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

    // MARK: Consumers

    /// A receiver of the encoder's frames.
    struct Consumer: Sendable {
        private let owner: EncoderDemand
        private let index: Int

        fileprivate init(_ owner: EncoderDemand, _ index: Int) {
            self.owner = owner
            self.index = index
        }

        /// Sets what this consumer wants of a simulcast layer.
        func set(_ demand: StreamDemand, layer: Int) { owner.set(demand, layer: layer, of: index) }

        /// Requests that the layer's next frame be a keyframe. It is made from the last picture if no newer one comes,
        /// but not while the layer is held.
        func requestKeyframe(layer: Int) { owner.requestKeyframe(layer: layer, of: index) }

        /// Whether this consumer takes the frame that was just made. Call it once for each frame.
        func takes(_ frame: EncodedFrame) -> Bool { owner.takes(frame, consumer: index) }
    }

    /// Adds a consumer, which wants nothing yet.
    func addConsumer() -> Consumer {
        let index = layers.withLock { layers in
            for layer in layers.indices { layers[layer].claims.append(Claim()) }
            return layers[0].claims.count - 1
        }
        return Consumer(self, index)
    }

    private func set(_ demand: StreamDemand, layer: Int, of consumer: Int) {
        let isNews = layers.withLock { $0[layer].set(demand, of: consumer) }
        if isNews { wake() }
    }

    private func requestKeyframe(layer: Int, of consumer: Int) {
        let isNews = layers.withLock { layers in
            // A consumer that is passed over gets a keyframe when its hold ends. One made before wouldn't reach it.
            guard !layers[layer].claims[consumer].isIgnored else { return false }
            layers[layer].needsKeyframe = true
            return true
        }
        if isNews { wake() }
    }

    private func takes(_ frame: EncodedFrame, consumer: Int) -> Bool {
        layers.withLock { layers in
            let claim = layers[frame.layer].claims[consumer]
            guard claim.isPassedOver else { return true }
            guard frame.isKeyframe, !claim.isIgnored else { return false }
            layers[frame.layer].claims[consumer].isPassedOver = false
            return true
        }
    }

    // MARK: The encoder's thread

    /// What all consumers together want of a layer at `now`.
    func demand(layer: Int, at now: MediaTime) -> StreamDemand {
        layers.withLock { layers in
            layers[layer].advance(to: now)
            return layers[layer].demand
        }
    }

    /// The same, without a look at how long holds last: where nobody encodes.
    func demand(layer: Int) -> StreamDemand { layers.withLock { $0[layer].demand } }

    /// When a hold of the layer ends even if the consumer goes on holding; nil: only the consumer ends it.
    func holdEnd(layer: Int) -> MediaTime? { layers.withLock { $0[layer].holdEnd } }

    /// Some consumer wants frames of some layer.
    var isWatched: Bool { layers.withLock { $0.contains { $0.claims.contains(where: \.demand.isWatched) } } }

    /// Somebody watches, and all who do draw the pointer themselves.
    var isPointerApart: Bool {
        layers.withLock { layers in
            let demands = layers.map(\.demand).filter(\.isWatched)
            return !demands.isEmpty && demands.allSatisfy(\.hasOnlyPointerTakers)
        }
    }

    func needsKeyframe(layer: Int) -> Bool { layers.withLock { $0[layer].needsKeyframe } }

    /// The layer's encoder has made a keyframe, which answers all requests.
    func keyframeMade(layer: Int) { layers.withLock { $0[layer].needsKeyframe = false } }
}
