import BeamClock
import BeamMedia
import Synchronization

/// Writes values of one kind into a file, and into more files after that.
protocol OutputWriter: AnyObject, SendableMetatype {
    associatedtype Value: Sendable

    /// The path of the file being written.
    var currentPath: String { get }

    /// - Throws: `cannotWriteFile`, `fileExists` or `cannotCreateFile` (for a next part).
    func write(_ value: Value) throws(CodecError)

    /// Completes the file. Without a value the empty file is removed.
    func finish() throws(CodecError)
}

/// What becomes of a file of pictures or sound that is written on a thread of its own.
public struct BackgroundHandlers: Sendable {
    /// A file begins: the first one, or `isContinued`, another one after it. On the writer's thread.
    public var onFile: @Sendable (_ path: String, _ isContinued: Bool) -> Void
    /// Values are left out from now on. On the thread that calls `push`.
    public var onBehind: @Sendable (_ path: String) -> Void
    /// All that waited is written, after `leftOut` values were left out since the last call. On the writer's thread,
    /// also at the end.
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

/// A writer on a thread of its own, before which values wait in a bounded queue. Those that find no room are left out
/// and counted.
final class BackgroundWriter<Writer: OutputWriter>: Sendable {
    private struct State {
        var path: String
        /// Values left out since that was last reported.
        var leftOut = 0
        /// `onBehind` was called, and `onCaughtUp` wasn't yet.
        var isBehind = false
        var lastWord: MediaTime?
        var hasEnded = false
    }

    /// The least time between two calls of `onBehind`: a reader that is a little too slow falls behind again and again.
    private let betweenWords = Duration.seconds(10)
    private let queue: BoundedQueue<Writer.Value>
    private let thread: WritingThread<Writer.Value>
    private let handlers: BackgroundHandlers
    private let state: Mutex<State>
    private let writer: Parcel<Writer>

    /// `patience` is how long `stop` waits for a file that takes nothing.
    init(
        _ writer: sending Writer, queue: BoundedQueue<Writer.Value>, patience: Duration, handlers: BackgroundHandlers
    ) {
        self.queue = queue
        thread = WritingThread(queue, patience: patience)
        self.handlers = handlers
        state = Mutex(State(path: writer.currentPath))
        self.writer = Parcel(writer)
    }

    func start(_ name: String) { thread.start(name) { [self] in run() } }

    /// Queues `value`, or leaves it out. Never waits.
    func push(_ value: Writer.Value) {
        guard queue.put(value) == .full else { return }
        let behind = state.withLock { state -> String? in
            guard !state.hasEnded else { return nil }
            state.leftOut += 1
            let now = MediaTime.now
            let isTold = state.isBehind || state.lastWord.map { now - $0 < betweenWords } ?? false
            guard !isTold else { return nil }
            state.isBehind = true
            state.lastWord = now
            return state.path
        }
        if let behind { handlers.onBehind(behind) }
    }

    /// Completes the file. If it takes nothing for some seconds, what waits is given up, and reported as a failure.
    func stop() {
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
            while let value = queue.take() {
                try writer.write(value)
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

    /// Reports how many values were left out: after `onBehind`, or at the end those of which nothing was said.
    private func noteLeftOut(atEnd isEnd: Bool = false) {
        let report = state.withLock { state -> (path: String, leftOut: Int)? in
            guard state.isBehind || isEnd, state.leftOut > 0 else { return nil }
            state.isBehind = false
            defer { state.leftOut = 0 }
            return (state.path, state.leftOut)
        }
        if let report { handlers.onCaughtUp(report.path, report.leftOut) }
    }

    /// Takes no more values, and drops those that wait. Returns the path of the file.
    private func end() -> String {
        queue.close()
        queue.flush()
        return state.withLock { state in
            state.hasEnded = true
            return state.path
        }
    }
}
