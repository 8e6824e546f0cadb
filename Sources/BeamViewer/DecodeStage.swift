import BeamCamera
import BeamClock
import BeamCodec
import BeamMedia
import BeamNetwork
import BeamWire
import Foundation
import Synchronization

/// Decodes the session's frames in order, on a thread of its own or in turn with others on a pool's threads, and puts the
/// newest picture into the slot.
final class DecodeStage: ViewerSink {
    struct Handlers: Sendable {
        /// A picture was put into the slot; when the first datagram of its frame had arrived.
        var onPicture: @Sendable (_ arrival: MediaTime) -> Void
        /// The size of the first picture, and each change of it.
        var onSize: @Sendable (PixelSize) -> Void
        /// A frame couldn't be decoded: a keyframe is needed.
        var onBrokenFrame: @Sendable () -> Void
        /// The stream exceeds the viewer's bounds, or its format isn't supported. Nothing more is decoded before the
        /// next keyframe, which may be of another kind.
        var onRefusedStream: @Sendable (CodecError) -> Void
        var onWarning: @Sendable (String) -> Void
        /// There is no decoder: the stage has ended.
        var onFailure: @Sendable (CodecError) -> Void
    }

    /// Frames between network and decoder: a third of a second at 60 frames a second.
    private static let queueCapacity = 20
    /// In bytes: two frames of the greatest length.
    private static let queueBytes = 16 << 20

    private struct Shared: Sendable {
        var decoded: UInt64 = 0
        var size: PixelSize?
        var decoder: String?
        var times = FrameTimes()
    }

    private final class State: Sendable {
        let shared = Mutex(Shared())
    }

    /// Threads that decode the slices of a frame in parallel, which adds no delay. With threads or a device libavcodec
    /// checks less for missing slices; that costs nothing here, because frames arrive complete or not at all.
    private static let sliceThreads = min(4, ProcessInfo.processInfo.activeProcessorCount)

    private let state = State()
    private let queue = BoundedQueue<ReceivedFrame>(
        capacity: queueCapacity, weighing: { $0.unit.bytes.count }, atMost: queueBytes)
    private let choice: DecoderChoice
    private let bounds: StreamBounds
    private let files: ViewerFiles
    private let onBrokenFrame: @Sendable () -> Void
    private let parcel: Parcel<Worker>
    private let pool: DecoderPool?
    private let running = Mutex(Running.notStarted)

    private enum Running: Sendable {
        case notStarted
        case thread(StageThread)
        case pooled(DecoderPool.Lane)
    }

    /// `slot` is nil without a window.
    init(
        _ choice: DecoderChoice, bounds: StreamBounds, slot: LatestSlot<Picture>?, files: ViewerFiles,
        pool: DecoderPool? = nil, handlers: Handlers
    ) throws(CodecError) {
        self.choice = choice
        self.bounds = bounds
        self.files = files
        self.pool = pool
        onBrokenFrame = handlers.onBrokenFrame
        let state = self.state
        parcel = Parcel(
            Worker(
                state: state, slot: slot, files: files, handlers: handlers,
                decoder: try Self.named(choice, bounds)))
    }

    /// Starts to load the decoder, and to decode. Frames queued before are decoded, too.
    ///
    /// While one library is loaded, no other can be loaded and no thread can start: do first what needs these.
    func open() {
        let (parcel, queue, choice, bounds) = (self.parcel, self.queue, self.choice, self.bounds)
        running.withLock { running in
            guard case .notStarted = running else { return }
            files.recorder?.start()
            files.pictures?.start()
            for camera in files.cameras { camera.start() }
            guard let pool else {
                running = .thread(
                    StageThread("beam-decode") {
                        guard var worker = parcel.take() else { return }
                        worker.run(queue, choice, bounds)
                    })
                return
            }
            guard let worker = parcel.take() else { return }
            running = .pooled(pool.addLane(PooledWorker(worker, queue, choice, bounds)))
        }
    }

    func push(_ frame: ReceivedFrame) {
        guard queue.put(frame) == .full else {
            if let pool, case .pooled(let lane) = running.withLock({ $0 }) { pool.schedule(lane) }
            return
        }
        // The decoder doesn't keep up, and queued frames are old: continue with a keyframe.
        queue.flush()
        onBrokenFrame()
    }

    /// Drops the queued frames.
    func flush() { queue.flush() }

    /// Opens a device that was requested, so that a failure is known before anything else begins. The software decoder
    /// is opened by the stage's thread, because its library takes a while to load.
    private static func named(
        _ choice: DecoderChoice, _ bounds: StreamBounds
    ) throws(CodecError) -> VideoDecoder? {
        guard case .vaapi = choice else { return nil }
        return try VideoDecoder(threads: sliceThreads, choice: choice, bounds: bounds)
    }

    struct Report: Sendable {
        var decoded: UInt64
        var size: PixelSize?
        /// The name of the decoder of the last picture.
        var decoder: String?
        /// The spans up to decoding.
        var times: [FrameSpan: LatencyHistogram.Summary]
    }

    func report(sinceStart: Bool) -> Report {
        state.shared.withLock { shared in
            Report(
                decoded: shared.decoded, size: shared.size, decoder: shared.decoder,
                times: shared.times.report(sinceStart: sinceStart))
        }
    }

    var cameras: [Camera] { files.cameras }

    /// What was recorded; nil: there is no recording.
    var recording: BackgroundRecorder.Report? { files.recorder?.report }

    /// A recording lasts until now, however long it takes to end everything else.
    func endRecording() { files.recorder?.markEnd() }

    /// Returns when all queued frames are decoded, the files are complete and the threads have ended. If the stage was
    /// never started, the frames are dropped, and it can't be started any more.
    func close() {
        queue.close()
        let running = running.withLock { running in
            if case .notStarted = running { _ = parcel.take() }
            return running
        }
        switch running {
        case .notStarted: break
        case .thread(let thread): thread.join()
        case .pooled(let lane): pool?.finish(lane)
        }
        files.recorder?.stop()
        files.pictures?.stop()
        for camera in files.cameras { camera.stop() }
    }

    /// Takes part in a pool.
    private final class PooledWorker: PooledStage {
        private var worker: Worker
        private let queue: BoundedQueue<ReceivedFrame>
        private let choice: DecoderChoice
        private let bounds: StreamBounds
        private var opened: VideoDecoder?
        private var hasFailed = false

        init(
            _ worker: Worker, _ queue: BoundedQueue<ReceivedFrame>, _ choice: DecoderChoice, _ bounds: StreamBounds
        ) {
            self.worker = worker
            self.queue = queue
            self.choice = choice
            self.bounds = bounds
        }

        func step() -> Bool {
            guard !hasFailed, let frame = queue.takeIfPresent() else { return false }
            do throws(CodecError) {
                let decoder: VideoDecoder
                if let present = opened ?? worker.decoder {
                    decoder = present
                } else {
                    // The pool's threads decode several streams at a time, so one for each frame is enough.
                    decoder = try VideoDecoder(threads: 1, choice: choice, bounds: bounds)
                }
                opened = decoder
                worker.handle(frame, decoder)
                return true
            } catch {
                hasFailed = true
                worker.handlers.onFailure(error)
                return false
            }
        }
    }

    /// Used by one thread at a time.
    private struct Worker {
        let state: State
        let slot: LatestSlot<Picture>?
        let files: ViewerFiles
        let handlers: Handlers
        /// Nil: opened by `run`.
        let decoder: VideoDecoder?
        var size: PixelSize?
        var times = RecordingTimes()
        var hasWarned = false
        /// Keyframes in a row that gave no picture.
        var brokenKeyframes = 0
        /// The last keyframe's stream was refused.
        var isRefused = false
        /// The number of the last frame that gave a picture.
        var lastNumber: UInt32?

        init(
            state: State, slot: LatestSlot<Picture>?, files: ViewerFiles, handlers: Handlers, decoder: VideoDecoder?
        ) {
            self.state = state
            self.slot = slot
            self.files = files
            self.handlers = handlers
            self.decoder = decoder
        }

        mutating func run(_ queue: BoundedQueue<ReceivedFrame>, _ choice: DecoderChoice, _ bounds: StreamBounds) {
            do throws(CodecError) {
                let decoder =
                    if let decoder {
                        decoder
                    } else {
                        try VideoDecoder(threads: DecodeStage.sliceThreads, choice: choice, bounds: bounds)
                    }
                while let frame = queue.take() { handle(frame, decoder) }
            } catch {
                handlers.onFailure(error)
            }
        }

        /// Keyframes in a row without a picture after which the person is told: one may have been damaged.
        private static let mostBrokenKeyframes = 3

        mutating func handle(_ frame: ReceivedFrame, _ decoder: VideoDecoder) {
            let picture: Picture?
            // No keyframe is requested: it would be refused as well until the host changes its stream.
            if isRefused, !frame.isKeyframe { return }
            isRefused = false
            defer { warn(decoder) }
            do throws(CodecError) {
                picture = try decoder.decode(frame)
            } catch {
                switch error {
                case .streamBeyondBounds, .unsupportedStream:
                    isRefused = true
                    handlers.onRefusedStream(error)
                default:
                    if frame.isKeyframe { noteBrokenKeyframe(error) }
                    handlers.onBrokenFrame()
                }
                return
            }
            if let picture {
                brokenKeyframes = 0
                show(picture, of: frame, decodedBy: decoder.name)
            } else if frame.isKeyframe {
                noteBrokenKeyframe(.unsupportedStream(reason: "its pictures come with a delay"))
            }
            files.recorder?.push(frame.unit, at: times.time(of: frame))
            if let picture { files.pictures?.push(picture) }
        }

        private mutating func noteBrokenKeyframe(_ error: CodecError) {
            brokenKeyframes += 1
            if brokenKeyframes == Self.mostBrokenKeyframes { handlers.onRefusedStream(error) }
        }

        /// Warns once that the device has failed.
        private mutating func warn(_ decoder: VideoDecoder) {
            guard !hasWarned, let reason = decoder.hardwareFailure else { return }
            hasWarned = true
            handlers.onWarning(
                "The graphics device has stopped decoding (\(reason)). The processor decodes from now on.")
        }

        /// What the frame says of the screen; if the picture before isn't that of the frame before, all may have changed.
        private mutating func changes(of frame: ReceivedFrame) -> FrameChanges? {
            defer { lastNumber = frame.number }
            guard let changes = FrameChanges(frame.unit) else { return nil }
            guard frame.isKeyframe || frame.number == lastNumber.map({ $0 &+ 1 }) else {
                return .all(of: frame.unit.size, at: changes.captureTime)
            }
            return changes
        }

        private mutating func show(_ picture: Picture, of frame: ReceivedFrame, decodedBy name: String) {
            let end = MediaTime.now
            var picture = picture
            picture.decodedTime = end
            picture.changes = changes(of: frame)
            picture.session = frame.session
            slot?.put(picture)
            for camera in files.cameras { camera.push(picture) }
            handlers.onPicture(frame.firstArrival)
            state.shared.withLock { shared in
                shared.decoded += 1
                shared.size = picture.size
                shared.decoder = name
                shared.times.recordArrival(of: frame)
                shared.times.record(.decode, end - frame.lastArrival)
                if let capture = frame.captureTime { shared.times.record(.captureToPicture, end - capture) }
            }
            if picture.size != size {
                size = picture.size
                handlers.onSize(picture.size)
            }
        }
    }
}
