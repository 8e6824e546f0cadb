import BeamClock
import BeamCodec
import BeamMedia
import Synchronization

/// Takes the newest picture from the slot, converts and encodes it, and hands the frame on: one thread, one frame at a time.
final class EncodeStage: Sendable {
    struct Settings: Sendable {
        var encoder: String?
        var maxSize: Int?
        var frameRate: Double
        /// In bits a second; nil: what suits the size.
        var bitRate: Int?

        /// What is sent of a source of `size`.
        func outputSize(for size: PixelSize) -> PixelSize {
            maxSize.map { size.fitting(longest: $0) } ?? size
        }

        func encoderSettings(for size: PixelSize) -> EncoderSettings {
            EncoderSettings(name: encoder, size: size, frameRate: frameRate, bitRate: bitRate)
        }
    }

    /// What other threads ask of the stage, and what it tells them.
    private struct Shared {
        var needsKeyframe = false
        var isWatched = false
        var encoded: UInt64 = 0
        var size: PixelSize
        var capture = LatencyTrack()
        var encode = LatencyTrack()
    }

    private final class State: Sendable {
        let shared: Mutex<Shared>
        init(size: PixelSize) { shared = Mutex(Shared(size: size)) }
    }

    struct Handlers: Sendable {
        var onAccessUnit: @Sendable (AccessUnit) -> Void
        var onResize: @Sendable (PixelSize) -> Void
        /// Nothing can be encoded any more.
        var onFailure: @Sendable (CodecError) -> Void
    }

    private let state: State
    private let slot: LatestSlot<Picture>
    private let thread: StageThread

    /// `encoder` was opened for the source's first size, so that a wrong one is known before anything runs.
    init(
        _ settings: Settings, encoder: sending VideoEncoder, size: PixelSize, from slot: LatestSlot<Picture>,
        handlers: Handlers
    ) {
        let state = State(size: size)
        self.state = state
        self.slot = slot
        // The encoder's owner from here on is the stage's thread.
        let parcel = Parcel(encoder)
        thread = StageThread("beam-encode") {
            guard let encoder = parcel.take() else { return }
            var worker = Worker(settings: settings, state: state, encoder: encoder, size: size, handlers: handlers)
            worker.run(slot)
        }
    }

    /// The next frame is a keyframe, made from the last picture if no newer one comes.
    func requestKeyframe() {
        state.shared.withLock { $0.needsKeyframe = true }
        slot.nudge()
    }

    /// Nobody watches: nothing is encoded, and the last picture is forgotten, for it grows old.
    func setWatched(_ isWatched: Bool) {
        state.shared.withLock { $0.isWatched = isWatched }
        slot.nudge()
    }

    struct Report: Sendable {
        var encoded: UInt64
        var size: PixelSize
        var capture: LatencyHistogram.Summary?
        var encode: LatencyHistogram.Summary?
    }

    /// Totals, and the times since the last such report; or all of them.
    func report(sinceStart: Bool) -> Report {
        state.shared.withLock { shared in
            Report(
                encoded: shared.encoded, size: shared.size,
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
        let settings: Settings
        let state: State
        var encoder: VideoEncoder
        var size: PixelSize
        let handlers: Handlers
        let converter = PictureConverter()
        /// The picture that was sent last, and when.
        var last: Picture?
        var lastTime = MediaTime.zero
        /// Set while a keyframe that was asked for is left to the next picture, which is about to come.
        var patience: Duration?

        mutating func run(_ slot: LatestSlot<Picture>) {
            do throws(CodecError) {
                while true {
                    switch slot.take(within: patience) {
                    case .value(let picture): try encode(picture)
                    case .nudged: try repeatLast()
                    case .closed: return
                    }
                }
            } catch {
                handlers.onFailure(error)
            }
        }

        private mutating func encode(_ picture: Picture) throws(CodecError) {
            let begin = MediaTime.now
            patience = nil
            lastTime = begin
            let output = settings.outputSize(for: picture.size)
            let (isWatched, isKeyframe) = state.shared.withLock { shared in
                shared.size = output
                guard shared.isWatched else { return (false, false) }
                shared.capture.record(begin - picture.time)
                defer { shared.needsKeyframe = false }
                return (true, shared.needsKeyframe)
            }
            if output != size {
                encoder = try VideoEncoder(settings.encoderSettings(for: output))
                size = output
                handlers.onResize(output)
            }
            guard isWatched else {
                last = nil
                return
            }
            let converted = try converter.convert(picture, to: output)
            last = converted
            try send(converted, isKeyframe: isKeyframe, begin: begin)
        }

        /// A keyframe was asked for, perhaps while the screen stands still.
        private mutating func repeatLast() throws(CodecError) {
            let (isWatched, isKeyframe) = state.shared.withLock { ($0.isWatched, $0.needsKeyframe) }
            guard isWatched else {
                last = nil
                patience = nil
                return
            }
            guard isKeyframe, var last else { return }
            // A picture that moves is not sent twice: the next one comes within a frame or two, and is the keyframe.
            let wait = Duration.nanoseconds(Int64(2e9 / settings.frameRate))
            if patience == nil, MediaTime.now - lastTime < wait {
                patience = wait
                return
            }
            patience = nil
            state.shared.withLock { $0.needsKeyframe = false }
            // The screen still looks like this.
            last.time = .now
            try send(last, isKeyframe: true, begin: last.time)
        }

        private mutating func send(_ picture: Picture, isKeyframe: Bool, begin: MediaTime) throws(CodecError) {
            guard var unit = try encoder.encode(picture, keyframe: isKeyframe) else { return }
            let end = MediaTime.now
            unit.stages = AccessUnit.StageTimes(waited: begin - picture.time, encode: end - begin)
            state.shared.withLock { shared in
                shared.encoded += 1
                shared.encode.record(end - begin)
            }
            handlers.onAccessUnit(unit)
        }
    }
}
