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
        /// The named encoder has failed, and another has taken its place.
        var onFallback: @Sendable (String, CodecError) -> Void
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
        /// A screen at rest: for so long nothing has changed, and the picture may get better.
        static let rest = Duration.milliseconds(60)
        /// From one improvement to the next.
        static let refinement = Duration.milliseconds(60)

        var settings: Settings
        let state: State
        var encoder: VideoEncoder
        var size: PixelSize
        let handlers: Handlers
        let converter = PictureConverter()
        /// Pictures went by while nobody watched: what they changed isn't known any more.
        var hasMissed = false
        /// The picture that was sent last, and when.
        var last: Picture?
        var lastTime = MediaTime.zero
        /// When a keyframe that was asked for is made of the last picture; until then the next one is about to come.
        var repetition: MediaTime?
        /// When the last picture is coded better, if no other comes; nil when it can't be.
        var improvement: MediaTime?

        mutating func run(_ slot: LatestSlot<Picture>) {
            do throws(CodecError) {
                while true {
                    switch slot.take(within: patience) {
                    case .value(let picture): try encode(picture)
                    case .nudged: try goOnWithLast()
                    case .closed: return
                    }
                }
            } catch {
                handlers.onFailure(error)
            }
        }

        /// How long to wait for a picture; nil: for ever.
        private var patience: Duration? {
            guard let next = [repetition, improvement].compactMap({ $0 }).min() else { return nil }
            return max(.zero, next - .now)
        }

        private mutating func encode(_ picture: Picture) throws(CodecError) {
            let begin = MediaTime.now
            repetition = nil
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
                hasMissed = true
                return forget()
            }
            var picture = picture
            if hasMissed {
                hasMissed = false
                picture.damage = DamageRegion(PixelRect(picture.size))
            }
            // Let go of, so that its memory and what hasn't changed in it serve again.
            last = nil
            let converted = try converter.convert(picture, to: output)
            last = converted
            improvement = begin + Self.rest
            guard
                let unit = try coded({ encoder throws(CodecError) in
                    try encoder.encode(converted, keyframe: isKeyframe)
                })
            else { return }
            handOn(unit, waited: begin - picture.time, begin: begin)
        }

        private mutating func forget() {
            last = nil
            repetition = nil
            improvement = nil
        }

        /// No new picture has come: a keyframe may have been asked for, or there is time to make the last one better.
        private mutating func goOnWithLast() throws(CodecError) {
            let (isWatched, isKeyframe) = state.shared.withLock { ($0.isWatched, $0.needsKeyframe) }
            guard isWatched else { return forget() }
            guard var last else { return }
            let now = MediaTime.now
            if isKeyframe {
                // A picture that moves is not sent twice: the next one comes within a frame or two, and is the keyframe.
                let due = lastTime + .nanoseconds(Int64(2e9 / settings.frameRate))
                guard due <= now else {
                    repetition = due
                    return
                }
                repetition = nil
                state.shared.withLock { $0.needsKeyframe = false }
                // The screen still looks like this.
                last.time = now
                improvement = now + Self.refinement
                guard let unit = try coded({ encoder throws(CodecError) in try encoder.encode(last, keyframe: true) })
                else { return }
                handOn(unit, waited: nil, begin: now)
            } else if let due = improvement, due <= now {
                last.time = now
                let unit = try coded { encoder throws(CodecError) in try encoder.refine(last) }
                improvement = encoder.isRefined ? nil : now + Self.refinement
                if let unit { handOn(unit, waited: nil, begin: now) }
            }
        }

        /// What `body` codes. A device's encoder that fails gives way to the processor's, which begins with a keyframe.
        private mutating func coded(
            _ body: (VideoEncoder) throws(CodecError) -> AccessUnit?
        ) throws(CodecError) -> AccessUnit? {
            do throws(CodecError) {
                return try body(encoder)
            } catch {
                guard encoder.name != VideoEncoder.standardName else { throw error }
                handlers.onFallback(encoder.name, error)
                VideoEncoder.giveUpPreferred()
                settings.encoder = VideoEncoder.standardName
                encoder = try VideoEncoder(settings.encoderSettings(for: size))
                return try body(encoder)
            }
        }

        /// `waited` is nil for a picture that was sent before.
        private mutating func handOn(_ unit: AccessUnit, waited: Duration?, begin: MediaTime) {
            let end = MediaTime.now
            var unit = unit
            unit.isRepeated = waited == nil
            unit.stages = waited.map { AccessUnit.StageTimes(waited: $0, encode: end - begin) }
            state.shared.withLock { shared in
                shared.encoded += 1
                if waited != nil { shared.encode.record(end - begin) }
            }
            handlers.onAccessUnit(unit)
        }
    }
}
