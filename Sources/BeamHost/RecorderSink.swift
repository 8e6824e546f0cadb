import BeamClock
import BeamCodec
import BeamMedia
import Synchronization

/// Records simulcast layer 0 into a file, on a thread of its own, so that nothing else waits for the disk.
///
/// Frames wait in a bounded queue. If there is no room, frames are dropped up to a keyframe, which is requested when
/// the disk has caught up.
final class RecorderSink: FrameSink {
    /// Frames of a stall of the disk that is bridged without a gap: 10 s at 60 frames a second, as when a disk spins up
    /// or flushes its journal.
    static let mostFrames = 600
    /// 10 s at about 50 Mbit/s, in bytes.
    static let mostBytes = 64 << 20

    struct Handlers: Sendable {
        /// A file begins: the first, or another after a change of size. On the recorder's thread.
        var onFile: @Sendable (_ path: String) -> Void
        /// The disk is too slow, and frames are dropped. Once for each recording, on the encoder's thread.
        var onGap: @Sendable () -> Void
        /// The recording has ended; what was written is kept. On the recorder's thread.
        var onFailure: @Sendable (CodecError) -> Void
    }

    private enum Phase {
        /// Waiting for the first keyframe.
        case beginning
        case recording
        /// A frame was dropped, so those up to a keyframe are, too.
        case skipping
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
    /// Nil once the thread has taken it.
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
        // The thread may have emptied the queue before it could see this gap.
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
                // With less room the next gap would follow soon.
                guard frame.isKeyframe, queue.count <= queue.capacity / 2 else {
                    state.report.dropped += 1
                    return false
                }
                state.phase = .recording
                return true
            }
        }
    }

    /// Requests a keyframe to continue after a gap. It costs the viewers, too, so only once there is room for the
    /// frames after it.
    private func askIfCaughtUp() {
        guard queue.count == 0, state.withLock({ $0.phase == .skipping }) else { return }
        consumer.requestKeyframe(layer: 0)
    }

    func close() {
        queue.close()
        if let thread = thread.withLock({ $0 }) {
            thread.join()
        } else {
            // Nothing was recorded: remove the empty file.
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

    /// Wants no more frames, and drops those that wait.
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
