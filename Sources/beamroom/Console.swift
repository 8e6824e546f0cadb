import BeamProtocol
import Foundation
import Glibc
import Synchronization

/// Messages for people, on standard error: permanent lines, and on a terminal live lines below them.
///
/// No method waits for the terminal (see `QueuedOutput`), so all but `flush` and `close` may be called from any thread,
/// an event loop's included.
final class Console: Sendable {
    /// Limit of the queued output in bytes, some 800 lines.
    private static let limit = 64 << 10

    private let output = QueuedOutput(STDERR_FILENO, limit: limit) { count in
        Array("\(count) \(count == 1 ? "message was" : "messages were") left out here.\n".utf8)
    }
    /// Whether standard error is a terminal.
    let isTerminal = isatty(STDERR_FILENO) == 1

    /// What stands below the permanent lines.
    private struct Bottom {
        var live: [String] = []
        /// Takes the place of the live lines; an empty one hides them.
        var prompt: String?
        var isHidden = false

        var lines: [String] { isHidden ? [] : prompt.map { $0.isEmpty ? [] : [$0] } ?? live }
    }

    private let bottom = Mutex(Bottom())

    /// Writes a permanent line.
    ///
    /// - Parameter beforeWriting: called on the writing thread just before the line goes out; never if it is left out.
    func say(_ line: String, beforeWriting: (@Sendable () -> Void)? = nil) {
        output.add(Array((Self.printable(line) + "\n").utf8), beforeWriting: beforeWriting)
    }

    /// Replaces the live lines. They aren't shown while there is a prompt, in the background, or if standard error isn't
    /// a terminal.
    func live(_ lines: [String]) { change { $0.live = lines } }

    func live(_ line: String) { live([line]) }

    /// Shows `text` in place of the live lines, so that what is typed has a line of its own; nil shows them again. An
    /// empty text shows neither.
    func setPrompt(_ text: String?) { change { $0.prompt = text } }

    /// Hides prompt and live lines, or shows them again.
    func setHidden(_ isHidden: Bool) { change { $0.isHidden = isHidden } }

    /// Ends the live lines.
    func finish() { live([]) }

    private func change(_ body: (inout Bottom) -> Void) {
        guard isTerminal else { return }
        var size = winsize()
        let isKnown = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0
        let (columns, rows) = isKnown ? (Int(size.ws_col), Int(size.ws_row)) : (0, 0)
        // The terminal's other job has its own lines there.
        let isInBackground = TerminalJob.isInBackground(STDERR_FILENO)
        bottom.withLock { bottom in
            body(&bottom)
            let lines = isInBackground ? [] : bottom.lines
            // A line that the terminal has wrapped, or that has scrolled off, can't be erased.
            let fitting = rows > 1 ? lines.prefix(rows - 1) : lines[...]
            output.setLive(fitting.map { Array(Self.cut(Self.printable($0), to: columns).utf8) })
        }
    }

    /// The start of the line that fits into `columns`; 0: all of it.
    private static func cut(_ line: String, to columns: Int) -> String {
        guard columns > 0, PeerText.columns(line) >= columns else { return line }
        var kept = String.UnicodeScalarView()
        for scalar in line.unicodeScalars {
            kept.append(scalar)
            // The last column stays free: some terminals wrap after writing into it.
            if PeerText.columns(String(kept)) >= columns {
                kept.removeLast()
                break
            }
        }
        return String(kept)
    }

    /// Waits a bounded time until all messages are written, before something else writes to the terminal.
    func flush() { output.flush() }

    /// Waits a bounded time until all messages are written. Later ones are dropped.
    func close() {
        change { $0 = Bottom() }
        output.close()
    }

    /// Names come from the network. Characters that move the cursor, change the direction of writing or are invisible
    /// must not reach the terminal. (`PeerText` already cleans what a peer sends; this catches what was missed.)
    static func printable(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control where scalar != "\n", .format, .lineSeparator, .paragraphSeparator: scalars.append("\u{FFFD}")
            default: scalars.append(scalar)
            }
        }
        return String(scalars)
    }
}
