import BeamClock
import BeamMedia
import Synchronization

/// Writes pictures into a YUV4MPEG2 file or pipe on a thread of its own, so that neither the decoder nor a window waits
/// for a disk, or for a program that doesn't read its pipe.
///
/// Pictures wait in a bounded queue. Those that find no room are left out and counted.
public final class BackgroundPictures: Sendable {
    /// Half a second at 30 pictures a second.
    public static let mostPictures = 16
    /// In bytes: more than five pictures of 3840 × 2160 in 4:2:0.
    public static let mostBytes = 64 << 20
    /// The least time between two calls of `onBehind`: a reader that is a little too slow falls behind again and again.
    private static let betweenWords = Duration.seconds(10)

    public struct Handlers: Sendable {
        /// A file begins: the first one, or `isContinued`, another one after a change of size or format. On the writer's
        /// thread.
        public var onFile: @Sendable (_ path: String, _ isContinued: Bool) -> Void
        /// Pictures are left out from now on. On the thread that calls `push`.
        public var onBehind: @Sendable (_ path: String) -> Void
        /// All waiting pictures are written, after `leftOut` were left out since the last call. On the writer's thread, also
        /// at the end.
        public var onCaughtUp: @Sendable (_ path: String, _ leftOut: Int) -> Void
        /// The file can't be written any more. On the writer's thread, or on the one that calls `stop`.
        public var onFailure: @Sendable (_ path: String, CodecError) -> Void

        public init(
            onFile: @escaping @Sendable (_ path: String, _ isContinued: Bool) -> Void,
            onBehind: @escaping @Sendable (_ path: String) -> Void,
            onCaughtUp: @escaping @Sendable (_ path: String, _ leftOut: Int) -> Void,
            onFailure: @escaping @Sendable (_ path: String, CodecError) -> Void
        ) {
            self.onFile = onFile
            self.onBehind = onBehind
            self.onCaughtUp = onCaughtUp
            self.onFailure = onFailure
        }
    }

    private struct State {
        var path: String
        /// Pictures left out since that was last reported.
        var leftOut = 0
        /// `onBehind` was called, and `onCaughtUp` wasn't yet.
        var isBehind = false
        var lastWord: MediaTime?
        var hasEnded = false
    }

    private let queue = BoundedQueue<Picture>(
        capacity: mostPictures, weighing: { $0.buffer.byteCount }, atMost: mostBytes)
    private let thread: WritingThread<Picture>
    private let handlers: Handlers
    private let state: Mutex<State>
    private let writer: Parcel<Y4MWriter>

    /// Creates the file, which must not exist, or opens the pipe. `path` and `frameRate` are those of `Y4MWriter`.
    ///
    /// - Throws: what `Y4MWriter.init` does.
    public convenience init(path: String, frameRate: Double, handlers: Handlers) throws(CodecError) {
        try self.init(path: path, frameRate: frameRate, patience: .seconds(5), handlers: handlers)
    }

    init(path: String, frameRate: Double, patience: Duration, handlers: Handlers) throws(CodecError) {
        thread = WritingThread(queue, patience: patience)
        self.handlers = handlers
        state = Mutex(State(path: path))
        writer = Parcel(try Y4MWriter(path: path, frameRate: frameRate))
    }

    public func start() { thread.start("beam-pictures") { [self] in run() } }

    /// Queues `picture`, or leaves it out. Never waits.
    public func push(_ picture: Picture) {
        guard queue.put(picture) == .full else { return }
        let behind = state.withLock { state -> String? in
            guard !state.hasEnded else { return nil }
            state.leftOut += 1
            let now = MediaTime.now
            let isTold = state.isBehind || state.lastWord.map { now - $0 < Self.betweenWords } ?? false
            guard !isTold else { return nil }
            state.isBehind = true
            state.lastWord = now
            return state.path
        }
        if let behind { handlers.onBehind(behind) }
    }

    /// Completes the file. If it takes nothing for some seconds, what waits is given up, and reported as a failure.
    public func stop() {
        switch thread.stop() {
        case .complete: break
        // An empty file is removed.
        case .neverStarted: _ = writer.take()
        case .stuck:
            let path = end()
            handlers.onFailure(path, .cannotWriteFile(path: path, reason: OutputFile.takesNothing))
        }
    }

    // MARK: The writer's thread

    private func run() {
        guard let writer = writer.take() else { return }
        do throws(CodecError) {
            var path: String?
            while let picture = queue.take() {
                try writer.write(picture)
                thread.progressed()
                if writer.currentPath != path {
                    state.withLock { $0.path = writer.currentPath }
                    handlers.onFile(writer.currentPath, path != nil)
                    path = writer.currentPath
                }
                if queue.count == 0 { noteLeftOut() }
            }
            try writer.finish()
            noteLeftOut(atEnd: true)
        } catch {
            handlers.onFailure(end(), error)
        }
    }

    /// Reports how many pictures were left out: after `onBehind`, or at the end those of which nothing was said.
    private func noteLeftOut(atEnd isEnd: Bool = false) {
        let report = state.withLock { state -> (path: String, leftOut: Int)? in
            guard state.isBehind || isEnd, state.leftOut > 0 else { return nil }
            state.isBehind = false
            defer { state.leftOut = 0 }
            return (state.path, state.leftOut)
        }
        if let report { handlers.onCaughtUp(report.path, report.leftOut) }
    }

    /// Takes no more pictures, and drops those that wait. Returns the path of the file.
    private func end() -> String {
        queue.close()
        queue.flush()
        return state.withLock { state in
            state.hasEnded = true
            return state.path
        }
    }
}
