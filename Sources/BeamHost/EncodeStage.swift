import BeamClock
import BeamCodec
import BeamMedia
import Synchronization

/// Takes the newest picture from the slot, converts and encodes it for each layer that is watched, and pushes the
/// frames to the sinks. One thread, one frame at a time.
final class EncodeStage: Sendable {
    struct Settings: Sendable {
        var encoder: String?
        var maxSize: Int?
        var frameRate: Double
        /// In bits a second; nil: the default for the size.
        var bitRate: Int?
        var chroma = ChromaFormat.subsampled

        /// The sent size, at full quality, for a source of `size`.
        func outputSize(for size: PixelSize) -> PixelSize {
            maxSize.map { size.fitting(longest: $0) } ?? size
        }

        func encoderSettings(for size: PixelSize) -> EncoderSettings {
            EncoderSettings(name: encoder, size: size, frameRate: frameRate, bitRate: bitRate, chroma: chroma)
        }

        /// The settings of the reduced layer: 4:2:0, which every viewer can decode.
        var reduced: Settings {
            var settings = self
            settings.chroma = .subsampled
            return settings
        }
    }

    /// Called on the stage's thread.
    struct Handlers: Sendable {
        /// Whether frames are wanted has changed.
        var onActivity: @Sendable (_ isActive: Bool) -> Void
        /// Whether the pointer may be left out of the pictures has changed; it may not at first.
        var onPointerApart: @Sendable (_ isApart: Bool) -> Void = { _ in }
        /// The source's size has changed.
        var onResize: @Sendable (PixelSize) -> Void
        /// The named encoder has failed, and libx264 has replaced it.
        var onFallback: @Sendable (String, CodecError) -> Void
        /// The stage has ended, because nothing can be encoded any more.
        var onFailure: @Sendable (CodecError) -> Void
    }

    private let state: EncodeState
    private let thread: StageThread

    /// `encoder` was opened for the source's first size by the caller, so that a wrong choice fails before anything
    /// runs. `wanted` wakes the stage by nudging `slot`. The sinks are open; close them after the stage has ended.
    init(
        _ settings: Settings, encoder: sending VideoEncoder, size: PixelSize, from slot: LatestSlot<Picture>,
        wanted: EncoderDemand, patches: PatchStage? = nil, into sinks: [any FrameSink], handlers: Handlers
    ) {
        let state = EncodeState(size: size)
        self.state = state
        // From here on the stage's thread owns the encoder.
        let parcel = Parcel(encoder)
        thread = StageThread("beam-encode") {
            guard let encoder = parcel.take() else { return }
            var worker = Worker(
                wanted: wanted, onActivity: handlers.onActivity, onPointerApart: handlers.onPointerApart,
                layers: (0..<StreamDemand.layerCount).map { layer in
                    LayerEncoder(
                        layer, layer == 0 ? settings : settings.reduced, encoder: layer == 0 ? encoder : nil,
                        size: size,
                        wanted: wanted, patches: layer == 0 ? patches : nil, state: state, sinks: sinks,
                        handlers: handlers)
                })
            do throws(CodecError) {
                try worker.run(slot)
            } catch {
                handlers.onFailure(error)
            }
        }
    }

    struct Report: Sendable {
        var encoded: UInt64
        /// Pictures of layer 0 that newer ones replaced while it was held or between two of its frames.
        var leftOut: UInt64
        var size: PixelSize
        var layers: [HostReport.Layer]
        var capture: LatencyHistogram.Summary?
        var encode: LatencyHistogram.Summary?
    }

    /// Totals; times since the last such report, or since the start.
    func report(sinceStart: Bool) -> Report {
        state.shared.withLock { shared in
            Report(
                encoded: shared.encoded, leftOut: shared.leftOut, size: shared.size, layers: shared.layers,
                capture: sinceStart ? shared.capture.total.summary : shared.capture.takeRecent(),
                encode: sinceStart ? shared.encode.total.summary : shared.encode.takeRecent())
        }
    }

    /// Returns when the stage's thread has ended. Close the slot first.
    func join() { thread.join() }

    /// Used by the stage's thread only.
    private struct Worker {
        let wanted: EncoderDemand
        let onActivity: @Sendable (Bool) -> Void
        let onPointerApart: @Sendable (Bool) -> Void
        var isActive = false
        var isPointerApart = false
        var layers: [LayerEncoder]
        /// The source's newest picture, if a layer may need it again: when a viewer joins or changes layers, or at another
        /// size.
        var newest: Picture?

        mutating func run(_ slot: LatestSlot<Picture>) throws(CodecError) {
            var deadline: MediaTime?
            while true {
                let taken = slot.take(until: deadline)
                followActivity()
                switch taken {
                case .value(let picture): offer(picture)
                case .nudged: break
                case .closed: return
                }
                deadline = try serve()
            }
        }

        /// Switches the source on or off. Only this thread does, so that of two changes the older can't arrive last.
        private mutating func followActivity() {
            // First, so that the first picture is without a pointer already.
            let isApart = wanted.isPointerApart
            if isApart != isPointerApart {
                isPointerApart = isApart
                onPointerApart(isApart)
            }
            let isWatched = wanted.isWatched
            guard isWatched != isActive else { return }
            isActive = isWatched
            // When somebody watches again, the source begins with a picture.
            if !isWatched { newest = nil }
            onActivity(isWatched)
        }

        private mutating func offer(_ picture: Picture) {
            newest = nil
            let now = MediaTime.now
            for layer in layers.indices {
                // Update first: a viewer that has just joined gets this picture, and on a still screen there is no
                // other.
                _ = layers[layer].update(at: now)
                layers[layer].offer(picture, at: now)
            }
            if layers.contains(where: \.mayNeedSource) || isBetweenLayers { newest = picture }
        }

        /// Serves each layer; returns when to do so again.
        private mutating func serve() throws(CodecError) -> MediaTime? {
            var deadline: MediaTime?
            // A layer that isn't watched any more drops its picture, and its viewer may be about to get the other layer.
            let last = newest ?? layers[0].newestPicture
            for layer in layers.indices {
                if layers[layer].update(at: .now), let picture = newest ?? (layer > 0 ? last : nil) {
                    // A viewer has joined while the screen is still.
                    if layer > 0 { newest = picture }
                    layers[layer].offerUnchanged(picture)
                }
                if let due = try layers[layer].serve(source: newest) { deadline = min(deadline ?? due, due) }
            }
            if !layers.contains(where: \.mayNeedSource) { newest = isBetweenLayers ? last : nil }
            return deadline
        }

        /// A viewer has left a layer and is about to get another one. While nobody watches, nothing is kept that would be
        /// outdated later.
        private var isBetweenLayers: Bool { isActive && !layers.contains(where: \.isWatched) }
    }
}
