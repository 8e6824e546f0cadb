import BeamProtocol
import Foundation
import Glibc

/// Words for people, on standard error: lines that stay, and on a terminal live lines below them.
///
/// Nothing waits for the terminal (see `QueuedOutput`), so it may be called from any thread, an event loop's too.
final class Console: Sendable {
    /// Of the words that wait while nobody reads, in bytes: some 800 lines.
    private static let limit = 64 << 10

    private let output = QueuedOutput(STDERR_FILENO, limit: limit) { count in
        Array("\(count) \(count == 1 ? "message was" : "messages were") left out here.\n".utf8)
    }
    /// Whether standard error is a terminal.
    let isTerminal = isatty(STDERR_FILENO) == 1

    /// Writes a line that stays.
    ///
    /// - Parameter beforeWriting: called on the writing thread just before the line goes out; never if it is left out.
    func say(_ line: String, beforeWriting: (@Sendable () -> Void)? = nil) {
        output.add(Array((Self.printable(line) + "\n").utf8), beforeWriting: beforeWriting)
    }

    /// Replaces the live lines. Nothing where standard error is not a terminal: a log has no use for them.
    func live(_ lines: [String]) {
        guard isTerminal else { return }
        var size = winsize()
        let isKnown = ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0
        let (columns, rows) = isKnown ? (Int(size.ws_col), Int(size.ws_row)) : (0, 0)
        // A line that the terminal breaks, or that has left at the top, can't be taken back.
        let fitting = rows > 1 ? lines.prefix(rows - 1) : lines[...]
        output.setLive(fitting.map { Array(Self.cut(Self.printable($0), to: columns).utf8) })
    }

    func live(_ line: String) { live([line]) }

    /// Ends the live lines.
    func finish() { if isTerminal { output.setLive([]) } }

    /// So much of the line as stands in `columns`; 0: all of it.
    private static func cut(_ line: String, to columns: Int) -> String {
        guard columns > 0, PeerText.columns(line) >= columns else { return line }
        var kept = String.UnicodeScalarView()
        for scalar in line.unicodeScalars {
            kept.append(scalar)
            // The last column stays free: some terminals go on to the next line with it.
            if PeerText.columns(String(kept)) >= columns {
                kept.removeLast()
                break
            }
        }
        return String(kept)
    }

    /// Waits a bounded time for what was said to be written, before something else writes to the terminal.
    func flush() { output.flush() }

    /// Waits a bounded time for what was said to be written. Nothing is said after that.
    func close() { output.close() }

    /// Names come from the network: what moves the cursor, turns the direction of writing or can't be seen must not reach the
    /// terminal. (What a peer says is made fit to be shown where it comes in, by `PeerText`; this is for whatever was missed.)
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
