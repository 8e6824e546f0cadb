import BeamMedia
import Dispatch
import Glibc
import Synchronization

/// Lines for a file descriptor, written by a thread of its own. Adding a line waits only for a lock that is held for
/// microseconds, never for the terminal, the pipe or the disk behind the descriptor.
///
/// The queue is limited in bytes. When it is full the oldest lines are left out, and their number is written in their
/// place. If a write fails (disk full, reader gone), its lines are lost and counted, and the output goes on.
final class QueuedOutput: Sendable {
    /// Erases that many rows of live lines, from the last one up, each from its first column to its end (ECMA-48, 8.3.22 and 8.3.41).
    private static func erasing(_ rows: Int) -> [UInt8] {
        guard rows > 0 else { return [] }
        return Array(("\r\u{1B}[K" + String(repeating: "\u{1B}[A\u{1B}[K", count: rows - 1)).utf8)
    }
    /// Most bytes in one write(2); a longer line is written alone.
    private static let pieceSize = 64 << 10

    private struct Line {
        var bytes: [UInt8] = []
        var beforeWriting: (@Sendable () -> Void)?
    }

    private struct State {
        /// Lines before `first` have been taken.
        var lines: [Line] = []
        var first = 0
        /// Size of the waiting lines in bytes.
        var size = 0
        /// Number of lines left out that hasn't been written yet.
        var missing = 0
        /// The newest live lines, to be shown below the others.
        var live: [[UInt8]] = []
        /// The live lines that the thread wrote last, and all bytes that it has written so far.
        var shownLive: [[UInt8]] = []
        /// They don't look as they were written.
        var isStale = false
        var written: UInt64 = 0
        /// The thread sleeps, or is about to, until `wake` is signalled.
        var isAsleep = false
        var isClosed = false
        /// Signalled when there is nothing left to write.
        var waiters: [DispatchSemaphore] = []

        var isDone: Bool { first == lines.count && live == shownLive && !isStale }

        mutating func takeFirst() -> Line {
            let line = lines[first]
            lines[first] = Line()
            first += 1
            size -= line.bytes.count
            if first == lines.count || first > 1024 && first > lines.count / 2 {
                lines.removeFirst(first)
                first = 0
            }
            return line
        }
    }

    private struct Piece {
        var bytes: [UInt8]
        var lines: Int
        /// The number of lines left out that this piece reports.
        var missing: Int
        var beforeWriting: (@Sendable () -> Void)?
        /// The live lines at its end.
        var live: [[UInt8]] = []
    }

    private let descriptor: CInt
    private let limit: Int
    private let rows: @Sendable ([UInt8]) -> Int
    private let notice: @Sendable (Int) -> [UInt8]
    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - descriptor: owned by the caller. It must stay open until the process ends or `close` has returned true.
    ///   - limit: most bytes in the queue.
    ///   - rows: how many rows of the terminal a live line takes now, which is more than one if the terminal has become
    ///     narrower since. Called on the writing thread.
    ///   - notice: makes the line, with its line end, that reports how many lines were left out. Called on the writing thread.
    init(
        _ descriptor: CInt, limit: Int, rows: @escaping @Sendable ([UInt8]) -> Int = { _ in 1 },
        notice: @escaping @Sendable (Int) -> [UInt8]
    ) {
        self.descriptor = descriptor
        self.limit = limit
        self.rows = rows
        self.notice = notice
        // Never joined: it may be blocked in write(2) for ever.
        _ = StageThread("beam-output") { [self] in run() }
    }

    /// Adds a line, including its line end.
    ///
    /// - Parameter beforeWriting: called on the writing thread just before the line goes out; never if it is left out.
    func add(_ line: [UInt8], beforeWriting: (@Sendable () -> Void)? = nil) {
        change { state in
            guard line.count <= limit else { return state.missing += 1 }
            state.lines.append(Line(bytes: line, beforeWriting: beforeWriting))
            state.size += line.count
            while state.size > limit {
                _ = state.takeFirst()
                state.missing += 1
            }
        }
    }

    /// Replaces the live lines, each without a line end.
    func setLive(_ lines: [[UInt8]]) { change { $0.live = lines } }

    /// Writes the live lines again, also if they are the same.
    func redraw() { change { $0.isStale = !$0.shownLive.isEmpty } }

    /// Waits until everything is written: at most 300 ms without progress, and 3 s in all.
    ///
    /// - Returns: whether everything was written.
    @discardableResult
    func flush() -> Bool { drain(closing: false) }

    /// As `flush`; lines added afterwards are dropped.
    @discardableResult
    func close() -> Bool { drain(closing: true) }

    private func drain(closing: Bool) -> Bool {
        let drained = DispatchSemaphore(value: 0)
        change { state in
            if closing { state.isClosed = true }
            state.waiters.append(drained)
        }
        var seen = state.withLock { $0.written }
        for _ in 0..<10 {
            if drained.wait(timeout: .now() + .milliseconds(300)) == .success { return true }
            let written = state.withLock { $0.written }
            if written == seen { return false }
            seen = written
        }
        return false
    }

    private func change(_ body: (inout State) -> Void) {
        let mustWake = state.withLock { state in
            if !state.isClosed { body(&state) }
            defer { state.isAsleep = false }
            return state.isAsleep
        }
        if mustWake { wake.signal() }
    }

    // MARK: The thread

    private func run() {
        // The live lines that were written last.
        var shown: [[UInt8]] = []
        while true {
            let shownRows = shown.reduce(0) { $0 + rows($1) }
            let (piece, isAtEnd, waiters) = state.withLock { state in
                let piece = take(&state, erasing: shownRows)
                guard piece == nil else { return (piece, false, [DispatchSemaphore]()) }
                defer { state.waiters = [] }
                state.isAsleep = !state.isClosed
                return (nil, state.isClosed, state.waiters)
            }
            for waiter in waiters { waiter.signal() }
            if isAtEnd { return }
            if let piece {
                shown = piece.live
                write(piece)
            } else {
                wake.wait()
            }
        }
    }

    /// The next bytes to write, which begin by erasing that many rows; nil if there are none.
    private func take(_ state: inout State, erasing rows: Int) -> Piece? {
        guard !state.isDone else { return nil }
        var piece = Piece(bytes: Self.erasing(rows), lines: 0, missing: 0)
        if state.first < state.lines.count, state.missing > 0 {
            piece.bytes += notice(state.missing)
            piece.missing = state.missing
            state.missing = 0
        }
        while state.first < state.lines.count {
            let next = state.lines[state.first]
            // A line with `beforeWriting` begins a piece.
            let fits = piece.bytes.count + next.bytes.count <= Self.pieceSize && next.beforeWriting == nil
            guard piece.lines == 0 || fits else { break }
            let line = state.takeFirst()
            piece.bytes += line.bytes
            piece.lines += 1
            piece.beforeWriting = piece.beforeWriting ?? line.beforeWriting
        }
        piece.bytes += state.live.joined(separator: [UInt8(ascii: "\n")])
        state.shownLive = state.live
        piece.live = state.live
        state.isStale = false
        return piece
    }

    private func write(_ piece: Piece) {
        piece.beforeWriting?()
        var rest = piece.bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
                state.withLock { $0.written += UInt64(count) }
            } else if count < 0, errno == EAGAIN {
                // Another program has made the terminal or the pipe non-blocking.
                var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&wait, 1, -1)
            } else if count == 0 || errno != EINTR {
                // Reported with the next lines, if those can be written.
                return state.withLock { $0.missing += piece.lines + piece.missing }
            }
        }
    }
}
