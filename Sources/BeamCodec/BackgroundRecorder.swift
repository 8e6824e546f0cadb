import BeamClock
import BeamMedia
import Synchronization

/// Records a stream into a file on a thread of its own, so that nothing else waits for the disk.
///
/// Access units wait in a bounded queue. If there is no room, they are dropped up to a keyframe, which is requested when
/// the disk has caught up.
public final class BackgroundRecorder: Sendable {
    /// Access units of a stall of the disk that is bridged without a gap: 10 s at 60 frames a second, as when a disk
    /// spins up or flushes its journal.
    public static let mostUnits = 600
    /// Packets of sound in the same time, which wait in the same queue if sound is recorded.
    public static let mostSound = 1000
    /// 10 s at about 50 Mbit/s, in bytes.
    public static let mostBytes = 64 << 20

    /// What waits for the disk.
    public struct Entry: Sendable {
        enum Content {
            /// To be shown at `time` on any clock.
            case unit(AccessUnit, time: MediaTime)
            case caption(TimedCaption)
            /// Its first decoded sample is heard at `time`, on the same clock.
            case sound(opus: [UInt8], time: MediaTime)
            case soundExpected
        }

        var content: Content

        /// In bytes.
        var weight: Int {
            switch content {
            case .unit(let unit, _): unit.bytes.count
            case .caption(let caption): caption.text.utf8.count
            case .sound(let opus, _): opus.count
            case .soundExpected: 0
            }
        }
    }

    public struct Handlers: Sendable {
        /// A file begins: the first one, or `isContinued`, another one after a change of size. On the recorder's thread.
        public var onFile: @Sendable (_ path: String, _ isContinued: Bool) -> Void
        /// The disk is too slow, and access units are dropped. Once for each recording, on the thread that calls `push`.
        public var onGap: @Sendable () -> Void
        /// A keyframe is needed to go on after a gap. On any thread.
        public var onKeyframeNeeded: @Sendable () -> Void
        /// The recording has ended; what was written is kept. On the recorder's thread, or on the one that calls `stop`.
        public var onFailure: @Sendable (_ path: String, CodecError) -> Void

        public init(
            onFile: @escaping @Sendable (_ path: String, _ isContinued: Bool) -> Void,
            onGap: @escaping @Sendable () -> Void, onKeyframeNeeded: @escaping @Sendable () -> Void,
            onFailure: @escaping @Sendable (_ path: String, CodecError) -> Void
        ) {
            self.onFile = onFile
            self.onGap = onGap
            self.onKeyframeNeeded = onKeyframeNeeded
            self.onFailure = onFailure
        }
    }

    public struct Report: Sendable, Hashable {
        /// The requested file, and the newest file: another one begins when the size changes.
        public var path: String
        public var lastPath: String
        /// From the first picture to the end of the recording; zero before that.
        public var length = Duration.zero
        /// Access units written, and dropped because the disk was too slow.
        public var frames: UInt64 = 0
        public var dropped: UInt64 = 0
        /// Captions dropped because the disk was too slow.
        public var droppedCaptions: UInt64 = 0
        /// Packets of sound dropped because the disk was too slow. They are silent in the recording.
        public var droppedSound: UInt64 = 0

        public init(path: String) {
            self.path = path
            lastPath = path
        }
    }

    private enum Phase {
        /// Waiting for the first keyframe.
        case beginning
        case recording
        /// A unit was dropped, so those up to a keyframe are, too.
        case skipping
        case ended
    }

    private struct State {
        var phase = Phase.beginning
        var hasGap = false
        /// A keyframe was requested to end the present gap.
        var hasAsked = false
        /// When the recording began, and when it ends; nil: not known.
        var begin: MediaTime?
        var end: MediaTime?
        var report: Report
    }

    /// How far the written time stays behind the clock while nothing comes: units are late by the encoder, and by the
    /// network.
    private static let lag = Duration.seconds(2)
    /// How often time goes on while nothing comes.
    private static let step = Duration.milliseconds(500)

    private let queue: BoundedQueue<Entry>
    private let thread: WritingThread<Entry>
    private let handlers: Handlers
    private let state: Mutex<State>
    private let recorder: Parcel<StreamRecorder>
    private let clock: (@Sendable () -> MediaTime)?

    /// Whether files have a sound track.
    public enum SoundTrack: Sendable {
        case none
        case present
        /// Only if `expectSound` is called before the first keyframe comes.
        case ifExpected
    }

    /// Creates the file, which must not exist. With `captions`, it has a subtitle track. `queue` holds what waits for the
    /// disk.
    ///
    /// - Parameter clock: the clock of the units' times, which runs as fast as the machine's. With it the recording
    ///   goes on while nothing comes, and lasts until it is ended; nil: it ends with the last unit.
    /// - Throws: what `StreamRecorder.init` does.
    public init(
        path: String, captions: Bool = false, sound: SoundTrack = .none, queue: BoundedQueue<Entry>? = nil,
        clock: (@Sendable () -> MediaTime)? = nil, handlers: Handlers
    ) throws(CodecError) {
        self.clock = clock
        let queue = queue ?? Self.makeQueue(sound: sound != .none)
        self.queue = queue
        self.handlers = handlers
        thread = WritingThread(queue)
        state = Mutex(State(report: Report(path: path)))
        recorder = Parcel(try StreamRecorder(path: path, captions: captions, sound: sound == .present))
    }

    public static func makeQueue(sound: Bool = false) -> BoundedQueue<Entry> {
        BoundedQueue(capacity: mostUnits + (sound ? mostSound : 0), weighing: { $0.weight }, atMost: mostBytes)
    }

    public var report: Report { state.withLock { $0.report } }

    public func start() { thread.start("beam-record") { [self] in run() } }

    /// Queues `unit`. Those before the first keyframe are left out. Never waits.
    public func push(_ unit: AccessUnit, at time: MediaTime) {
        guard isWanted(unit) else { return }
        guard queue.put(Entry(content: .unit(unit, time: time))) == .full else { return }
        let isFirstGap = state.withLock { state in
            guard state.phase != .ended else { return false }
            state.phase = .skipping
            state.hasAsked = false
            state.report.dropped += 1
            defer { state.hasGap = true }
            return !state.hasGap
        }
        if isFirstGap { handlers.onGap() }
        // The thread may have emptied the queue before it could see this gap.
        askIfCaughtUp()
    }

    /// Queues a caption for the subtitle track, as `StreamRecorder.addCaption` takes it. If there is no room, it is left out
    /// and counted. Never waits.
    public func addCaption(_ text: String, at time: MediaTime, for duration: Duration) {
        let caption = TimedCaption(text: text, time: time, duration: duration)
        guard queue.put(Entry(content: .caption(caption))) == .full else { return }
        state.withLock { $0.report.droppedCaptions += 1 }
    }

    /// There may be sound (`SoundTrack.ifExpected`).
    public func expectSound() { _ = queue.put(Entry(content: .soundExpected)) }

    /// Queues an Opus packet for the sound track, as `StreamRecorder.writeSound` takes it. If there is no room, it is
    /// left out and counted. Never waits.
    public func addSound(_ opus: [UInt8], at time: MediaTime) {
        guard opus.count <= OpusPacket.longest else { return }
        guard queue.put(Entry(content: .sound(opus: opus, time: time))) == .full else { return }
        state.withLock { $0.report.droppedSound += 1 }
    }

    private func isWanted(_ unit: AccessUnit) -> Bool {
        state.withLock { state in
            switch state.phase {
            case .recording: return true
            case .ended: return false
            case .beginning:
                guard unit.isKeyframe else { return false }
                state.phase = .recording
                return true
            case .skipping:
                // With less room the next gap would follow soon.
                guard unit.isKeyframe, queue.count <= queue.capacity / 2 else {
                    // This may be the one that was requested.
                    if unit.isKeyframe { state.hasAsked = false }
                    state.report.dropped += 1
                    return false
                }
                state.phase = .recording
                return true
            }
        }
    }

    /// Requests a keyframe to continue after a gap. It costs everybody who watches, so only once there is room for the
    /// units after it, and once: sound goes on during a gap.
    private func askIfCaughtUp() {
        guard queue.count == 0 else { return }
        let asks = state.withLock { state in
            guard state.phase == .skipping, !state.hasAsked else { return false }
            state.hasAsked = true
            return true
        }
        if asks { handlers.onKeyframeNeeded() }
    }

    /// The recording lasts until now, however long it takes to end everything else. What waits, and what still comes, is
    /// written.
    public func markEnd() {
        guard let now = clock?() else { return }
        state.withLock { $0.end = $0.end ?? now }
    }

    /// Completes the file, which lasts until `markEnd` was called, or until now. If it takes nothing for some seconds,
    /// what waits is given up, and reported as a failure.
    public func stop() {
        markEnd()
        switch thread.stop() {
        case .complete: break
        // Nothing was recorded: remove the empty file.
        case .neverStarted: recorder.take()?.discard()
        case .stuck:
            end()
            let path = report.lastPath
            handlers.onFailure(path, .cannotWriteFile(path: path, reason: OutputFile.takesNothing))
        }
    }

    // MARK: The recorder's thread

    private func run() {
        guard let recorder = recorder.take() else { return }
        var path: String?
        var nextStep = MediaTime.now + Self.step
        do throws(CodecError) {
            recording: while true {
                switch queue.take(until: clock == nil ? nil : nextStep) {
                case .value(let next): try write(next, recorder, &path)
                case .nothing: break
                case .closed: break recording
                }
                guard let clock, MediaTime.now >= nextStep else { continue }
                nextStep = .now + Self.step
                // What waits for the disk has its own times.
                if queue.count == 0 { try recorder.passTime(until: clock() - Self.lag) }
            }
            let end = state.withLock { state in
                if let begin = state.begin, let end = state.end { state.report.length = max(.zero, end - begin) }
                return state.end
            }
            try recorder.finish(at: end)
        } catch {
            end()
            handlers.onFailure(recorder.currentPath, error)
        }
    }

    /// `path` is that of the file that was reported last.
    private func write(_ next: Entry, _ recorder: StreamRecorder, _ path: inout String?) throws(CodecError) {
        switch next.content {
        case .unit(let unit, let time):
            try recorder.write(unit, at: time)
            thread.progressed()
            if recorder.currentPath != path {
                handlers.onFile(recorder.currentPath, path != nil)
                path = recorder.currentPath
            }
            state.withLock { state in
                if recorder.hasBegun, state.begin == nil { state.begin = time }
                state.report.frames += 1
                state.report.lastPath = recorder.currentPath
            }
        case .caption(let caption):
            try recorder.addCaption(caption.text, at: caption.time, for: caption.duration)
            thread.progressed()
        case .soundExpected:
            recorder.hasSound = true
            return
        case .sound(let opus, let time):
            try recorder.writeSound(opus, at: time)
            thread.progressed()
        }
        askIfCaughtUp()
    }

    /// Wants no more units, and drops those that wait.
    private func end() {
        state.withLock { $0.phase = .ended }
        queue.close()
        queue.flush()
    }
}
