import Foundation
import Glibc
import Synchronization

/// Lines that a person types on standard input, read by a thread of its own. Text typed before a question was shown
/// must not answer it: `discardTyped` discards it, whether the terminal, the pipe or this object holds it.
final class TerminalInput: Sendable {
    private struct State {
        /// Counts the calls of `discardTyped`: lines from earlier epochs don't count.
        var epoch = 0
        /// The start of a line whose end hasn't been read.
        var unfinished: [UInt8] = []
        var isReading = false
        var hasEnded = false
    }

    /// In bytes. A longer line is no answer, and is dropped.
    private static let longestLine = 4096

    private let state = Mutex(State())

    /// Begins to read; later calls do nothing. `onLine` and `onEnd` are called on the reading thread. Reading can't be
    /// cancelled: the thread runs until the program ends.
    func start(onLine: @escaping @Sendable (String) -> Void, onEnd: @escaping @Sendable () -> Void) {
        let mustStart = state.withLock { state in
            defer { state.isReading = true }
            return !state.isReading
        }
        guard mustStart else { return }
        Thread.detachNewThread { [self] in
            while let lines = read() {
                for (line, epoch) in lines where state.withLock({ $0.epoch }) == epoch { onLine(line) }
            }
            onEnd()
        }
    }

    /// Discards what has been typed up to now, without waiting.
    func discardTyped() {
        // An unfinished line that the terminal holds.
        if isatty(STDIN_FILENO) == 1 { tcflush(STDIN_FILENO, TCIFLUSH) }
        state.withLock { state in
            state.epoch += 1
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

    /// Waits for lines, each with the epoch in which it was typed; nil at the end.
    private func read() -> [(line: String, epoch: Int)]? {
        while true {
            if state.withLock({ $0.hasEnded }) { return nil }
            guard Self.isReadable(within: -1) else { continue }
            let lines = state.withLock { state -> [(line: String, epoch: Int)]? in
                // `discardTyped` may have read it meanwhile.
                guard Self.isReadable(within: 0) else { return [] }
                var buffer = [UInt8](repeating: 0, count: Self.longestLine)
                let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
                if count < 0, errno == EINTR || errno == EAGAIN { return [] }
                guard count > 0 else { return nil }
                return take(buffer.prefix(count), &state)
            }
            guard let lines else { return nil }
            if !lines.isEmpty { return lines }
        }
    }

    private func take(_ bytes: ArraySlice<UInt8>, _ state: inout State) -> [(line: String, epoch: Int)] {
        var lines: [(line: String, epoch: Int)] = []
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                if state.unfinished.count < Self.longestLine {
                    lines.append((String(decoding: state.unfinished, as: UTF8.self), state.epoch))
                }
                state.unfinished.removeAll(keepingCapacity: true)
            } else if state.unfinished.count < Self.longestLine {
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
