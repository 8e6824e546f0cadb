import BeamClock
import BeamCodec
import BeamMedia
import Foundation
import Synchronization

/// Decodes the session's frames in order, on a thread of its own, and puts the newest picture into the slot.
final class DecodeStage: Sendable {
    struct Handlers: Sendable {
        /// A picture was put into the slot.
        var onPicture: @Sendable () -> Void
        /// The size of the first picture, and each change of it.
        var onSize: @Sendable (PixelSize) -> Void
        /// A frame couldn't be decoded: a keyframe is needed.
        var onBrokenFrame: @Sendable () -> Void
        /// The stream exceeds the viewer's bounds, or its format isn't supported. Nothing more is decoded before the
        /// next keyframe, which may be of another kind.
        var onRefusedStream: @Sendable (CodecError) -> Void
        var onWarning: @Sendable (String) -> Void
        /// A file begins: the first one, or `isContinued`, another one after it.
        var onFile: @Sendable (OutputPath, _ isContinued: Bool) -> Void
        /// A file can't be written any more. Decoding goes on.
        var onFileFailure: @Sendable (OutputPath, CodecError) -> Void
        /// There is no decoder: the stage has ended.
        var onFailure: @Sendable (CodecError) -> Void
    }

    /// Files to write. Opened before anything runs, used by the stage's thread only.
    struct Files: ~Copyable {
        var recorder: StreamRecorder?
        var frames: Y4MWriter?
    }

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
    private let queue: BoundedQueue<ReceivedFrame>
    private let choice: DecoderChoice
    private let bounds: StreamBounds
    private let parcel: Parcel
    private let thread = Mutex<StageThread?>(nil)

    /// `slot` is nil without a window.
    init(
        _ choice: DecoderChoice, bounds: StreamBounds, queue: BoundedQueue<ReceivedFrame>, slot: LatestSlot<Picture>?,
        files: consuming sending Files, handlers: Handlers
    ) throws(CodecError) {
        self.queue = queue
        self.choice = choice
        self.bounds = bounds
        let state = self.state
        parcel = Parcel(
            Worker(
                state: state, slot: slot, handlers: handlers,
                decoder: try Self.named(choice, bounds), recorder: files.recorder, frames: files.frames))
    }

    /// Starts to load the decoder, and to decode. Frames queued before are decoded, too.
    ///
    /// While one library is loaded, no other can be loaded and no thread can start: do first what needs these.
    func start() {
        let (parcel, queue, choice, bounds) = (self.parcel, self.queue, self.choice, self.bounds)
        thread.withLock { thread in
            guard thread == nil else { return }
            thread = StageThread("beam-decode") {
                guard var worker = parcel.take() else { return }
                worker.run(queue, choice, bounds)
            }
        }
    }

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

    /// Returns when all queued frames are decoded, the files are complete and the thread has ended.
    func stop() {
        queue.close()
        // If it was never started: the files have to be completed.
        start()
        thread.withLock { $0 }?.join()
    }

    /// Moves the worker to its thread.
    private final class Parcel: Sendable {
        private let content: Mutex<Worker?>
        init(_ worker: sending Worker) { content = Mutex(worker) }
        func take() -> sending Worker? {
            content.withLock { content in
                let worker = content
                content = nil
                return worker
            }
        }
    }

    /// Used by the stage's thread only.
    private struct Worker {
        let state: State
        let slot: LatestSlot<Picture>?
        let handlers: Handlers
        /// Nil: opened by `run`.
        let decoder: VideoDecoder?
        /// Nil: there is none, or it has failed.
        var recorder: StreamRecorder?
        var frames: Y4MWriter?
        /// The files that were reported.
        var recordedPath: String?
        var framesPath: String?
        var size: PixelSize?
        var hasWarned = false
        /// Keyframes in a row that gave no picture.
        var brokenKeyframes = 0
        /// The last keyframe's stream was refused.
        var isRefused = false

        init(
            state: State, slot: LatestSlot<Picture>?, handlers: Handlers, decoder: VideoDecoder?,
            recorder: StreamRecorder?, frames: Y4MWriter?
        ) {
            self.state = state
            self.slot = slot
            self.handlers = handlers
            self.decoder = decoder
            self.recorder = recorder
            self.frames = frames
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
            if let recorder {
                writing(.recording, recorder.currentPath) { () throws(CodecError) in try recorder.finish() }
            }
            if let frames { writing(.frames, frames.currentPath) { () throws(CodecError) in try frames.finish() } }
        }

        /// Keyframes in a row without a picture after which the person is told: one may have been damaged.
        private static let mostBrokenKeyframes = 3

        private mutating func handle(_ frame: ReceivedFrame, _ decoder: VideoDecoder) {
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
            // After the window, because a file can wait.
            record(frame)
            if let picture { write(picture) }
        }

        private mutating func noteBrokenKeyframe(_ error: CodecError) {
            brokenKeyframes += 1
            if brokenKeyframes == Self.mostBrokenKeyframes { handlers.onRefusedStream(error) }
        }

        // MARK: Files

        private mutating func record(_ frame: ReceivedFrame) {
            guard let recorder else { return }
            let isWritten = writing(.recording, recorder.currentPath) { () throws(CodecError) in
                try recorder.write(frame.unit, at: frame.lastArrival)
            }
            guard isWritten else { return self.recorder = nil }
            guard recorder.hasBegun, recorder.currentPath != recordedPath else { return }
            handlers.onFile(OutputPath(kind: .recording, path: recorder.currentPath), recordedPath != nil)
            recordedPath = recorder.currentPath
        }

        private mutating func write(_ picture: Picture) {
            guard let frames else { return }
            guard
                writing(
                    .frames, frames.currentPath, { () throws(CodecError) in try frames.write(picture) })
            else { return self.frames = nil }
            guard frames.currentPath != framesPath else { return }
            handlers.onFile(OutputPath(kind: .frames, path: frames.currentPath), framesPath != nil)
            framesPath = frames.currentPath
        }

        /// Reports a failure of `body`. Returns whether it succeeded.
        @discardableResult
        private func writing(
            _ kind: OutputPath.Kind, _ path: String, _ body: () throws(CodecError) -> Void
        ) -> Bool {
            do throws(CodecError) {
                try body()
                return true
            } catch {
                handlers.onFileFailure(OutputPath(kind: kind, path: path), error)
                return false
            }
        }

        /// Warns once that the device has failed.
        private mutating func warn(_ decoder: VideoDecoder) {
            guard !hasWarned, let reason = decoder.hardwareFailure else { return }
            hasWarned = true
            handlers.onWarning(
                "The graphics device does not decode any more (\(reason)). The processor does from here on.")
        }

        private mutating func show(_ picture: Picture, of frame: ReceivedFrame, decodedBy name: String) {
            let end = MediaTime.now
            var picture = picture
            picture.decodedTime = end
            slot?.put(picture)
            handlers.onPicture()
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
