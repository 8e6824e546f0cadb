import BeamClock
import BeamCodec
import BeamMedia
import Synchronization

/// Takes the newest picture from the slot, converts and encodes it for each layer that is watched, and hands the frames to the
/// sinks: one thread, one frame at a time.
final class EncodeStage: Sendable {
    struct Settings: Sendable {
        var encoder: String?
        var maxSize: Int?
        var frameRate: Double
        /// In bits a second; nil: what suits the size.
        var bitRate: Int?
        var chroma = ChromaFormat.subsampled

        /// What is sent of a source of `size`, at full quality.
        func outputSize(for size: PixelSize) -> PixelSize {
            maxSize.map { size.fitting(longest: $0) } ?? size
        }

        func encoderSettings(for size: PixelSize) -> EncoderSettings {
            EncoderSettings(name: encoder, size: size, frameRate: frameRate, bitRate: bitRate, chroma: chroma)
        }

        /// The reduced layer's: every viewer can decode 4:2:0.
        var reduced: Settings {
            var settings = self
            settings.chroma = .subsampled
            return settings
        }
    }

    /// Called on the stage's thread.
    struct Handlers: Sendable {
        /// Frames are wanted from now on, or not any more.
        var onActivity: @Sendable (_ isActive: Bool) -> Void
        /// The source has another size.
        var onResize: @Sendable (PixelSize) -> Void
        /// The named encoder has failed, and another has taken its place.
        var onFallback: @Sendable (String, CodecError) -> Void
        /// Nothing can be encoded any more.
        var onFailure: @Sendable (CodecError) -> Void
    }

    private let state: EncodeState
    private let thread: StageThread

    /// `encoder` was opened for the source's first size, so that a wrong one is known before anything runs. `wanted` wakes the stage by
    /// nudging `slot`. The sinks are open, and are closed when the stage has ended.
    init(
        _ settings: Settings, encoder: sending VideoEncoder, size: PixelSize, from slot: LatestSlot<Picture>,
        wanted: EncoderDemand, into sinks: [any FrameSink], handlers: Handlers
    ) {
        let state = EncodeState(size: size)
        self.state = state
        // The encoder's owner from here on is the stage's thread.
        let parcel = Parcel(encoder)
        thread = StageThread("beam-encode") {
            guard let encoder = parcel.take() else { return }
            var worker = Worker(
                wanted: wanted, onActivity: handlers.onActivity,
                layers: (0..<StreamDemand.layerCount).map { layer in
                    LayerEncoder(
                        layer, layer == 0 ? settings : settings.reduced, encoder: layer == 0 ? encoder : nil,
                        size: size,
                        wanted: wanted, state: state, sinks: sinks, handlers: handlers)
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
        /// Pictures of the first layer that newer ones replaced, while it was held or between two of its frames.
        var leftOut: UInt64
        var size: PixelSize
        var layers: [HostReport.Layer]
        var capture: LatencyHistogram.Summary?
        var encode: LatencyHistogram.Summary?
    }

    /// Totals, and the times since the last such report; or all of them.
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

    /// Carries the encoder from the thread that opened it to the one that uses it.
    private final class Parcel: Sendable {
        private let content: Mutex<VideoEncoder?>
        init(_ encoder: sending VideoEncoder) { content = Mutex(encoder) }
        func take() -> sending VideoEncoder? {
            content.withLock { content in
                let encoder = content
                content = nil
                return encoder
            }
        }
    }

    /// The stage's thread's own.
    private struct Worker {
        let wanted: EncoderDemand
        let onActivity: @Sendable (Bool) -> Void
        var isActive = false
        var layers: [LayerEncoder]
        /// The source's newest picture, where it may be wanted once more: for a layer that somebody comes to, or at another size.
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

        /// Only here, where what is wanted is read: whoever told it further on could be overtaken by somebody with newer news.
        private mutating func followActivity() {
            let isWatched = wanted.isWatched
            guard isWatched != isActive else { return }
            isActive = isWatched
            onActivity(isWatched)
        }

        private mutating func offer(_ picture: Picture) {
            newest = nil
            let now = MediaTime.now
            for layer in layers.indices {
                // Who has come since the last look sees this one: on a still screen there is no other.
                _ = layers[layer].update(at: now)
                layers[layer].offer(picture, at: now)
            }
            if layers.contains(where: \.mayWantSource) { newest = picture }
        }

        /// Each layer in turn; returns when to look again.
        private mutating func serve() throws(CodecError) -> MediaTime? {
            var deadline: MediaTime?
            for layer in layers.indices {
                if layers[layer].update(at: .now), let picture = newest ?? (layer > 0 ? layers[0].lastPicture : nil) {
                    // Somebody has come, to a screen on which nothing moves.
                    layers[layer].offerAgain(picture)
                }
                if let due = try layers[layer].serve(source: newest) { deadline = min(deadline ?? due, due) }
            }
            if !layers.contains(where: \.mayWantSource) { newest = nil }
            return deadline
        }
    }
}
