import BeamClock
import BeamCodec
import BeamMedia
import Synchronization

/// Records simulcast layer 0 into a file, on a thread of its own: whatever the disk does, nobody else waits for it.
///
/// Frames wait in a bounded queue. One for which there is no room is left out, and so are the frames after it up to a keyframe, which is
/// asked for when the disk has caught up.
final class RecorderSink: FrameSink {
    /// How long a disk may take to write nothing at all, as one that spins up or flushes its journal does: 10 s of 60 frames a second.
    static let mostFrames = 600
    /// The same time at 50 Mbit/s.
    static let mostBytes = 64 << 20

    struct Handlers: Sendable {
        /// A file begins: the first, or another where the picture has another size. On the recorder's thread.
        var onFile: @Sendable (_ path: String) -> Void
        /// The disk is too slow, and frames are left out. Once for each recording, on the encoder's thread.
        var onGap: @Sendable () -> Void
        /// Nothing more is recorded; what was written is kept. On the recorder's thread.
        var onFailure: @Sendable (CodecError) -> Void
    }

    private enum Phase {
        /// The first keyframe is on its way.
        case beginning
        case recording
        /// There was no room for a frame: those up to a keyframe are of no use.
        case skipping
        /// Nothing is recorded any more.
        case ended
    }

    private struct State {
        var phase = Phase.beginning
        var hasGap = false
        var report: HostReport.Recording
    }

    private let queue: BoundedQueue<EncodedFrame>
    private let consumer: EncoderDemand.Consumer
    private let handlers: Handlers
    private let state: Mutex<State>
    /// Nil when it has been taken by the thread.
    private let recorder: Mutex<StreamRecorder?>
    private let thread = Mutex<StageThread?>(nil)

    /// Creates the file, which must not exist. `queue` holds the frames that wait for the disk.
    ///
    /// - Throws: what `StreamRecorder.init` does.
    init(
        path: String, consumer: EncoderDemand.Consumer,
        queue: BoundedQueue<EncodedFrame> = BoundedQueue(
            capacity: mostFrames, weighing: { $0.unit.bytes.count }, atMost: mostBytes), handlers: Handlers
    ) throws(CodecError) {
        self.queue = queue
        self.consumer = consumer
        self.handlers = handlers
        state = Mutex(State(report: HostReport.Recording(path: path)))
        recorder = Mutex(try StreamRecorder(path: path))
    }

    /// What is recorded up to now.
    var report: HostReport.Recording { state.withLock { $0.report } }

    func open() {
        thread.withLock { $0 = StageThread("beam-record") { [self] in run() } }
        consumer.set(StreamDemand(isWatched: true), layer: 0)
        consumer.requestKeyframe(layer: 0)
    }

    func push(_ frame: EncodedFrame) {
        guard frame.layer == 0, isWanted(frame) else { return }
        guard queue.put(frame) == .full else { return }
        let isFirstGap = state.withLock { state in
            guard state.phase != .ended else { return false }
            state.phase = .skipping
            state.report.dropped += 1
            defer { state.hasGap = true }
            return !state.hasGap
        }
        if isFirstGap { handlers.onGap() }
        // The thread may have written all of it before it could see that something was left out.
        askIfCaughtUp()
    }

    private func isWanted(_ frame: EncodedFrame) -> Bool {
        state.withLock { state in
            switch state.phase {
            case .recording: return true
            case .ended: return false
            case .beginning:
                guard frame.isKeyframe else { return false }
                state.phase = .recording
                return true
            case .skipping:
                // A keyframe for which there is barely room would only be the beginning of the next gap.
                guard frame.isKeyframe, queue.count <= queue.capacity / 2 else {
                    state.report.dropped += 1
                    return false
                }
                state.phase = .recording
                return true
            }
        }
    }

    /// After a gap the recording goes on with a keyframe, which the viewers pay for, too: not before there is room for what follows it.
    private func askIfCaughtUp() {
        guard queue.count == 0, state.withLock({ $0.phase == .skipping }) else { return }
        consumer.requestKeyframe(layer: 0)
    }

    func close() {
        queue.close()
        if let thread = thread.withLock({ $0 }) {
            thread.join()
        } else {
            // Nothing was ever recorded: the name is free again.
            recorder.withLock { $0?.discard() }
        }
    }

    // MARK: The recorder's thread

    private func run() {
        guard let recorder = takeRecorder() else { return }
        do throws(CodecError) {
            var path: String?
            while let frame = queue.take() {
                try recorder.write(frame.unit, at: frame.captureTime)
                if recorder.currentPath != path {
                    path = recorder.currentPath
                    handlers.onFile(recorder.currentPath)
                }
                state.withLock { state in
                    state.report.frames += 1
                    state.report.lastPath = recorder.currentPath
                }
                askIfCaughtUp()
            }
            try recorder.finish()
        } catch {
            end()
            handlers.onFailure(error)
        }
    }

    /// No frame is wanted any more, and what waits is of no use.
    private func end() {
        state.withLock { $0.phase = .ended }
        consumer.set(StreamDemand(), layer: 0)
        queue.close()
        queue.flush()
    }

    private func takeRecorder() -> sending StreamRecorder? {
        recorder.withLock { recorder in
            let taken = recorder
            recorder = nil
            return taken
        }
    }
}
