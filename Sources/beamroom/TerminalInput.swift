import Foundation
import Glibc
import Synchronization

/// Lines that a person types on standard input, read by a thread of its own. Text typed before a question was shown
/// must not answer it: `discardTyped` discards it, whether the terminal, the pipe or this object holds it.
///
/// On a terminal that shows the questions, too, keys are read one by one and not echoed (`TerminalMode`), so that what is
/// typed can be shown in its own place. In the background nothing is read.
final class TerminalInput: Sendable {
    /// Called on the reading thread, under no lock.
    struct Handlers: Sendable {
        var onLine: @Sendable (String) -> Void
        /// The text typed so far has changed; only with `readsKeys`.
        var onEdit: @Sendable (String) -> Void
        /// The job was brought to the foreground, or is in the background now.
        var onMove: @Sendable (_ toForeground: Bool) -> Void
        /// Nobody can type any more.
        var onEnd: @Sendable () -> Void
    }

    private struct State {
        /// Counts the calls of `discardTyped`: lines from earlier epochs don't count.
        var epoch = 0
        /// The start of a line whose end hasn't been read, from keys or in whole pieces.
        var typed = TypedLine()
        var unfinished: [UInt8] = []
        var isReading = false
        var hasEnded = false
    }

    private enum Text: Equatable {
        case line(String)
        case edit(String)
    }

    /// In bytes. A longer line is no answer, and is dropped.
    private static let longestLine = 4096
    /// How often a job looks whether it was brought to the foreground; in the foreground, whether it still is there.
    private static let backgroundCheck = CInt(250)
    private static let foregroundCheck = CInt(1000)

    /// Keys are read one by one: standard input is the terminal that questions are shown on.
    let readsKeys: Bool
    private let isTerminal = isatty(STDIN_FILENO) == 1
    private let state = Mutex(State())

    init(readsKeys: Bool) { self.readsKeys = readsKeys }

    /// Begins to read; later calls do nothing. Reading can't be cancelled: the thread runs until the program ends.
    func start(_ handlers: Handlers) {
        let mustStart = state.withLock { state in
            defer { state.isReading = true }
            return !state.isReading
        }
        guard mustStart else { return }
        if readsKeys { TerminalMode.shared.enter() }
        Thread.detachNewThread { [self] in run(handlers) }
    }

    /// Discards what has been typed up to now, without waiting.
    func discardTyped() {
        // What is typed on the terminal now is meant for another program.
        guard !isInBackground else { return }
        // An unfinished line that the terminal holds.
        if isTerminal { tcflush(STDIN_FILENO, TCIFLUSH) }
        state.withLock { state in
            state.epoch += 1
            state.typed = TypedLine()
            state.unfinished.removeAll()
            // The reading thread reads only under this lock, so everything typed up to now is read here or was read before.
            var buffer = [UInt8](repeating: 0, count: Self.longestLine)
            for _ in 0..<Self.mostDiscarded where Self.isReadable(within: 0) {
                let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
                guard count > 0 else {
                    state.hasEnded = count == 0
                    return
                }
            }
        }
    }

    /// Most reads in one call of `discardTyped`, in case a program writes without end.
    private static let mostDiscarded = 64

    var isInBackground: Bool { isTerminal && TerminalJob.isInBackground() }

    // MARK: The thread

    private func run(_ handlers: Handlers) {
        var wasInBackground = false
        while !state.withLock({ $0.hasEnded }) {
            let isInBackground = isInBackground
            if isInBackground != wasInBackground {
                wasInBackground = isInBackground
                if readsKeys, !isInBackground { TerminalMode.shared.enter() }
                handlers.onMove(!isInBackground)
            }
            if isInBackground {
                _ = poll(nil, 0, Self.backgroundCheck)
                continue
            }
            guard Self.isReadable(within: isTerminal ? Self.foregroundCheck : -1) else { continue }
            guard let texts = read() else { break }
            for (text, epoch) in texts where state.withLock({ $0.epoch }) == epoch {
                switch text {
                case .line(let line): handlers.onLine(line)
                case .edit(let text): handlers.onEdit(text)
                }
            }
        }
        handlers.onEnd()
    }

    /// What is there to read, each text with the epoch in which it was typed; nil at the end.
    private func read() -> [(text: Text, epoch: Int)]? {
        state.withLock { state in
            // `discardTyped` may have read it meanwhile.
            guard Self.isReadable(within: 0) else { return [] }
            var buffer = [UInt8](repeating: 0, count: Self.longestLine)
            let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
            if count < 0, errno == EINTR || errno == EAGAIN { return [] }
            // Moved to the background since it was asked.
            if count < 0, errno == EIO, isInBackground { return [] }
            guard count > 0 else { return nil }
            let texts = readsKeys ? Self.keys(buffer.prefix(count), &state) : Self.lines(buffer.prefix(count), &state)
            return texts.map { ($0, state.epoch) }
        }
    }

    private static func keys(_ bytes: ArraySlice<UInt8>, _ state: inout State) -> [Text] {
        var texts: [Text] = []
        for byte in bytes {
            switch state.typed.take(byte) {
            case .none: break
            case .edited:
                // Only the newest state is shown.
                if case .edit? = texts.last { texts.removeLast() }
                texts.append(.edit(state.typed.text))
            case .finished(let line): texts.append(.line(line))
            case .ended:
                state.hasEnded = true
                return texts
            }
        }
        return texts
    }

    private static func lines(_ bytes: ArraySlice<UInt8>, _ state: inout State) -> [Text] {
        var lines: [Text] = []
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                if state.unfinished.count < longestLine {
                    lines.append(.line(String(decoding: state.unfinished, as: UTF8.self)))
                }
                state.unfinished.removeAll(keepingCapacity: true)
            } else if state.unfinished.count < longestLine {
                state.unfinished.append(byte)
            }
        }
        return lines
    }

    private static func isReadable(within milliseconds: CInt) -> Bool {
        var wait = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        return poll(&wait, 1, milliseconds) > 0
    }
}
