import BeamMedia
import Synchronization

/// What the encoder is to make of each simulcast layer, and whether the next frame is to be a keyframe: the only place that holds
/// either. It is made before the network and the encoder. Consumers write to it on any thread; the encoder's thread reads it.
final class EncoderDemand: Sendable {
    /// How long a consumer that holds a layer holds the others, too. Holds that only pace the stream are far shorter (`isHeld` ends when
    /// some tens of milliseconds of datagrams have left); a viewer that has vanished holds until it is given up, some 15 s later.
    static let longestHold = Duration.seconds(1)

    /// What one consumer wants of one layer.
    private struct Claim {
        var demand = StreamDemand()
        /// When the encoder saw first that this consumer holds the layer.
        var heldSince: MediaTime?
        /// The layer goes on without this consumer, which has held it for too long and gets nothing before the next keyframe after that.
        var isPassedOver = false

        var isHolding: Bool { demand.isWatched && demand.isHeld }
        var wantsFrames: Bool { demand.isWatched && !demand.isHeld }
        var isAbsent: Bool { isPassedOver && isHolding }
    }

    private struct Layer {
        /// By consumer.
        var claims: [Claim] = []
        var needsKeyframe = false

        var demand: StreamDemand {
            claims.reduce(StreamDemand()) { $1.isAbsent ? $0 : $0.union($1.demand) }
        }

        /// When the first of those that hold the layer has held the others for long enough; nil where there are no others.
        var holdEnd: MediaTime? {
            guard claims.contains(where: \.wantsFrames) else { return nil }
            return claims.compactMap { $0.isAbsent ? nil : $0.heldSince.map { $0 + EncoderDemand.longestHold } }.min()
        }

        /// Whoever holds the layer for too long is passed over from now on.
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

        /// Returns whether there is something new to read.
        mutating func set(_ demand: StreamDemand, of consumer: Int) -> Bool {
            let before = self.demand
            claims[consumer].demand = demand
            guard !claims[consumer].isHolding else { return self.demand != before }
            claims[consumer].heldSince = nil
            if !demand.isWatched {
                claims[consumer].isPassedOver = false
            } else if claims[consumer].isPassedOver {
                // It lacks what the next frames refer to.
                needsKeyframe = true
                return true
            }
            return self.demand != before
        }
    }

    private let layers = Mutex(Array(repeating: Layer(), count: StreamDemand.layerCount))
    private let wake: @Sendable () -> Void

    /// `wake` is called on the writer's thread when there is something new to read.
    init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

    // MARK: Consumers

    /// Somebody who takes the encoder's frames.
    struct Consumer: Sendable {
        private let owner: EncoderDemand
        private let index: Int

        fileprivate init(_ owner: EncoderDemand, _ index: Int) {
            self.owner = owner
            self.index = index
        }

        /// What this consumer wants of a simulcast layer from now on.
        func set(_ demand: StreamDemand, layer: Int) { owner.set(demand, layer: layer, of: index) }

        /// The layer's next frame is to be a keyframe: made from the last picture if no newer one comes, and not while the layer is held.
        func requestKeyframe(layer: Int) { owner.requestKeyframe(layer: layer, of: index) }

        /// Whether the frame, which was made just now, is for this consumer, too. To be asked once about each frame.
        func takes(_ frame: EncodedFrame) -> Bool { owner.takes(frame, consumer: index) }
    }

    /// Another consumer, which wants nothing yet.
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
            // Who is passed over gets a keyframe when its hold ends. Until then it would get none of those that it asks for.
            guard !layers[layer].claims[consumer].isAbsent else { return false }
            layers[layer].needsKeyframe = true
            return true
        }
        if isNews { wake() }
    }

    private func takes(_ frame: EncodedFrame, consumer: Int) -> Bool {
        layers.withLock { layers in
            let claim = layers[frame.layer].claims[consumer]
            guard claim.isPassedOver else { return true }
            guard frame.isKeyframe, !claim.isAbsent else { return false }
            layers[frame.layer].claims[consumer].isPassedOver = false
            return true
        }
    }

    // MARK: The encoder's thread

    /// What is wanted of a simulcast layer at `now`, by all consumers together.
    func demand(layer: Int, at now: MediaTime) -> StreamDemand {
        layers.withLock { layers in
            layers[layer].advance(to: now)
            return layers[layer].demand
        }
    }

    /// When a layer that is held isn't any more, whatever the consumer that holds it says; nil: only that consumer ends it.
    func holdEnd(layer: Int) -> MediaTime? { layers.withLock { $0[layer].holdEnd } }

    /// Somebody wants frames of a layer, whichever.
    var isWatched: Bool { layers.withLock { $0.contains { $0.claims.contains(where: \.demand.isWatched) } } }

    func needsKeyframe(layer: Int) -> Bool { layers.withLock { $0[layer].needsKeyframe } }

    /// The layer's encoder has made a keyframe, which goes to every consumer.
    func keyframeMade(layer: Int) { layers.withLock { $0[layer].needsKeyframe = false } }
}
