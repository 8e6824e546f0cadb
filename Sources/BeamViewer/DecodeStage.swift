import BeamClock
import BeamCodec
import BeamMedia
import Foundation
import Synchronization

/// Decodes each frame that the session delivers, in order, on a thread of its own; the newest picture waits in the slot.
final class DecodeStage: Sendable {
    struct Handlers: Sendable {
        /// A picture waits in the slot.
        var onPicture: @Sendable () -> Void
        /// The first picture, or the first of another size.
        var onSize: @Sendable (PixelSize) -> Void
        /// A frame could not be decoded: the next keyframe mends it.
        var onBrokenFrame: @Sendable () -> Void
        /// The stream takes more than a viewer gives it, or nothing here shows it: nothing more of it is decoded before the next
        /// keyframe, which may be of another size.
        var onRefusedStream: @Sendable (CodecError) -> Void
        /// Something to know, that stops nothing.
        var onWarning: @Sendable (String) -> Void
        /// A file cannot be written any more, or there is no decoder.
        var onFailure: @Sendable (CodecError) -> Void
    }

    /// Files that are written beside the picture's way; opened before anything runs, used by the stage's thread alone.
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

    /// Slices of one frame are decoded side by side, which adds no delay. A frame arrives whole or not at all, so that
    /// the lesser care of libavcodec with missing slices, where it uses threads or a device, costs nothing here.
    private static let sliceThreads = min(4, ProcessInfo.processInfo.activeProcessorCount)

    private let state = State()
    private let queue: BoundedQueue<ReceivedFrame>
    private let choice: DecoderChoice
    private let bounds: StreamBounds
    private let parcel: Parcel
    /// Nil until `start`.
    private let thread = Mutex<StageThread?>(nil)

    /// `slot` is nil where nobody looks.
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

    /// Begins to load the decoder, and to decode. What has been queued before isn't lost.
    ///
    /// While a library is loaded no other can be, and no thread begins: whatever needs one of these is to come first.
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

    /// A device that was asked for by name: whether it opens is to be known before anything else begins. The processor's
    /// decoder is made by its thread, for the library takes a while to load.
    private static func named(
        _ choice: DecoderChoice, _ bounds: StreamBounds
    ) throws(CodecError) -> VideoDecoder? {
        guard case .vaapi = choice else { return nil }
        return try VideoDecoder(threads: sliceThreads, choice: choice, bounds: bounds)
    }

    struct Report: Sendable {
        var decoded: UInt64
        var size: PixelSize?
        /// Where the last picture was decoded.
        var decoder: String?
        /// Up to the picture.
        var times: [FrameSpan: LatencyHistogram.Summary]
    }

    func report(sinceStart: Bool) -> Report {
        state.shared.withLock { shared in
            Report(
                decoded: shared.decoded, size: shared.size, decoder: shared.decoder,
                times: shared.times.report(sinceStart: sinceStart))
        }
    }

    /// Returns when what is queued is decoded, the files are complete and the thread has ended.
    func stop() {
        queue.close()
        // There may be files to complete.
        start()
        thread.withLock { $0 }?.join()
    }

    /// Carries the worker to its thread.
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

    /// The stage's thread's own.
    private struct Worker {
        let state: State
        let slot: LatestSlot<Picture>?
        let handlers: Handlers
        /// Nil: to be made.
        let decoder: VideoDecoder?
        let recorder: StreamRecorder?
        let frames: Y4MWriter?
        var size: PixelSize?
        var hasWarned = false
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
                while let frame = queue.take() { try handle(frame, decoder) }
                try recorder?.finish()
                try frames?.finish()
            } catch {
                handlers.onFailure(error)
            }
        }

        private mutating func handle(_ frame: ReceivedFrame, _ decoder: VideoDecoder) throws(CodecError) {
            let picture: Picture?
            // No keyframe is asked for: it would be refused, too, as long as the host doesn't change what it sends.
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
                    handlers.onBrokenFrame()
                }
                return
            }
            if let picture { show(picture, of: frame, decodedBy: decoder.name) }
            // Files come after the window: they have time.
            try recorder?.write(frame.unit, at: frame.lastArrival)
            if let picture { try frames?.write(picture) }
        }

        /// Says once that the device has failed.
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
