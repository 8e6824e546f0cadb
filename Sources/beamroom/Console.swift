import Foundation
import Glibc
import Synchronization

/// Words for people, on standard error: lines that stay, and on a terminal one live line below them.
final class Console: Sendable {
    private struct State {
        var liveLine = ""
    }

    private let state = Mutex(State())
    /// Whether standard error is a terminal.
    let isTerminal = isatty(STDERR_FILENO) == 1

    /// Writes a line that stays.
    func say(_ line: String) {
        state.withLock { state in
            write((state.liveLine.isEmpty ? "" : "\r\u{1B}[K") + Self.printable(line) + "\n" + state.liveLine)
        }
    }

    /// Replaces the live line. Nothing where standard error is not a terminal: a log has no use for it.
    func live(_ line: String) {
        guard isTerminal else { return }
        state.withLock { state in
            guard line != state.liveLine else { return }
            state.liveLine = Self.printable(line)
            write("\r\u{1B}[K" + state.liveLine)
        }
    }

    /// Ends the live line.
    func finish() { live("") }

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

    private func write(_ text: String) {
        FileHandle.standardError.write(Data(text.utf8))
    }
}
