import BeamWire
import Foundation
import Glibc
import Logging
import Synchronization

/// Messages for people, on standard error: permanent lines, and on a terminal live lines below them.
///
/// No method waits for the terminal (see `QueuedOutput`), so all but `flush` and `close` may be called from any thread,
/// an event loop's included.
public final class Console: Sendable {
    /// Limit of the queued output in bytes, some 800 lines.
    private static let limit = 64 << 10

    static let usualLevel = Logger.Level.info

    private let descriptor: Int32
    private let output: QueuedOutput
    /// Whether standard error is a terminal.
    public let isTerminal: Bool
    private let isJournal: Bool
    /// Lines below it aren't written.
    private let lowest = Mutex(Console.usualLevel)

    /// What stands below the permanent lines.
    private struct Bottom {
        var live: [String] = []
        /// Below them.
        var status: StatusLine?
        /// Takes the place of the live lines; an empty one hides them.
        var prompt: Prompt?
        var isHidden = false
    }

    /// A line that is being typed.
    struct Prompt: Sendable {
        var mark = ""
        var typed = ""
        /// Above it, dimmed: what keys do. Nil: nothing.
        var hint: String?
    }

    private let bottom = Mutex(Bottom())

    /// - Parameter descriptor: in place of standard error, for tests.
    public init(_ descriptor: Int32 = StandardStreams.messages) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
        isJournal = Journal.reads(descriptor)
        output = QueuedOutput(descriptor, limit: Self.limit, rows: { Self.rows($0, descriptor) }) { count in
            Array("\(count) \(count == 1 ? "message was" : "messages were") left out here.\n".utf8)
        }
        guard isTerminal else { return }
        let watch = ResizeWatch { [weak self] in
            guard let self else { return }
            change { _ in }
            output.redraw()
        }
        resizes.withLock { $0 = watch }
    }

    // MARK: The terminal's size

    private let resizes = Mutex<ResizeWatch?>(nil)

    /// Zeros: it isn't known.
    private static func size(_ descriptor: Int32) -> (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return (0, 0) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// How many rows of the terminal a live line takes now: most terminals wrap what is too long when they become
    /// narrower.
    private static func rows(_ line: [UInt8], _ descriptor: Int32) -> Int {
        let columns = size(descriptor).columns
        guard columns > 0 else { return 1 }
        return max(1, (self.columns(String(decoding: line, as: UTF8.self)) + columns - 1) / columns)
    }

    /// Of a line without what sets the colour: ESC [ … m.
    private static func columns(_ line: String) -> Int {
        var text = String.UnicodeScalarView()
        var isEscape = false
        for scalar in line.unicodeScalars {
            if scalar == "\u{1B}" { isEscape = true }
            if !isEscape { text.append(scalar) }
            if scalar == "m" { isEscape = false }
        }
        return PeerText.columns(String(text))
    }

    // MARK: Lines

    /// Which lines are written: those of this level and above.
    public var level: Logger.Level { lowest.withLock { $0 } }

    public func setLevel(_ level: Logger.Level) { lowest.withLock { $0 = level } }

    /// Writes a permanent line.
    ///
    /// - Parameters:
    ///   - level: nil: an answer to the person, which is always written.
    ///   - beforeWriting: called on the writing thread just before the line goes out; never if it is left out.
    public func say(_ line: String, level: Logger.Level? = nil, beforeWriting: (@Sendable () -> Void)? = nil) {
        if let level, level < self.level { return }
        let columns = isTerminal ? TerminalText.columns(of: descriptor) : 0
        var text = TerminalText.wrapped(Self.printable(line), columns: columns)
        if isJournal {
            let prefix = (level ?? .notice).journalPrefix
            text = text.split(separator: "\n", omittingEmptySubsequences: false).map { prefix + $0 }
                .joined(separator: "\n")
        }
        output.add(Array((text + "\n").utf8), beforeWriting: beforeWriting)
    }

    /// Writes lines that the program has drawn, with their colours. Nothing if they don't fit into the terminal.
    func picture(_ lines: [String]) {
        let columns = Self.size(descriptor).columns
        let width = lines.map { Self.columns($0) }.max() ?? 0
        guard columns == 0 || width <= columns else { return say("The terminal is too narrow for the QR code.") }
        output.add(Array((lines.joined(separator: "\n") + "\n").utf8))
    }

    /// Writes a line of a list on standard output. Its fields are `printable`, and separated by tabs.
    public static func list(_ line: String) { print(TerminalText.shown(line)) }

    /// Replaces the live lines. They aren't shown while there is a prompt, in the background, or if standard error isn't
    /// a terminal.
    public func live(_ lines: [String]) { change { $0.live = lines } }

    public func live(_ line: String) { live([line]) }

    /// Replaces the line below the live lines, which is seen in the same way; nil: there is none.
    public func setStatus(_ line: StatusLine?) { change { $0.status = line } }

    /// Rings the terminal's bell, if standard error is a terminal.
    public func ring() {
        if isTerminal { output.add([0x07]) }
    }

    /// Shows a prompt in place of the live lines, so that what is typed has a line of its own; nil shows them again. An
    /// empty prompt shows neither. Of a line that is too long for the terminal its end is shown, where the cursor is.
    func setPrompt(_ prompt: Prompt?) { change { $0.prompt = prompt } }

    /// Hides prompt and live lines, or shows them again.
    func setHidden(_ isHidden: Bool) { change { $0.isHidden = isHidden } }

    /// Ends the live lines.
    public func finish() { change { ($0.live, $0.status) = ([], nil) } }

    private func change(_ body: (inout Bottom) -> Void) {
        guard isTerminal else { return }
        let (columns, rows) = Self.size(descriptor)
        // The terminal's other job has its own lines there.
        let isInBackground = TerminalJob.isInBackground(descriptor)
        bottom.withLock { bottom in
            body(&bottom)
            let lines = isInBackground ? [] : Self.lines(bottom, columns: columns, rows: rows)
            output.setLive(lines.map { Array($0.utf8) })
        }
    }

    /// A line that the terminal has wrapped, or that has scrolled off, can't be erased: so all of them fit.
    private static func lines(_ bottom: Bottom, columns: Int, rows: Int) -> [String] {
        guard !bottom.isHidden else { return [] }
        guard let prompt = bottom.prompt else {
            let status = bottom.status.map { [$0.text(columns: columns)] } ?? []
            let live = rows > 1 ? bottom.live.prefix(rows - 1 - status.count) : bottom.live[...]
            return (live + status).map { cut(printable($0), to: columns) }
        }
        let hint =
            rows == 0 || rows > 2 ? prompt.hint.map { "\u{1B}[2m\(cut(printable($0), to: columns))\u{1B}[22m" } : nil
        let (mark, typed) = (printable(prompt.mark), printable(prompt.typed))
        guard !mark.isEmpty || !typed.isEmpty else { return [] }
        // Very narrow terminals have no room for the mark.
        let room = columns - PeerText.columns(mark)
        let line = columns > 0 && room < 8 ? end(typed, in: columns) : mark + end(typed, in: columns > 0 ? room : 0)
        return [hint, line].compactMap { $0 }
    }

    /// The end of the line that fits into `columns`, after an ellipsis for the rest; 0: all of it. The last column stays
    /// free for the cursor.
    static func end(_ line: String, in columns: Int) -> String {
        guard columns > 0, PeerText.columns(line) >= columns else { return line }
        var kept: [Unicode.Scalar] = []
        var used = 1
        for scalar in line.unicodeScalars.reversed() {
            used += PeerText.columns(String(scalar))
            guard used < columns else { break }
            kept.append(scalar)
        }
        // A combining mark would appear on the ellipsis.
        while let first = kept.last, PeerText.columns(String(first)) == 0 { kept.removeLast() }
        var scalars = String.UnicodeScalarView()
        scalars.append(TerminalText.isUnicode ? "…" : "<")
        scalars.append(contentsOf: kept.reversed())
        return String(scalars)
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
    ///
    /// - Returns: whether all are.
    @discardableResult public func flush() -> Bool { output.flush() }

    /// Waits a bounded time until all messages are written. Later ones are dropped.
    public func close() {
        resizes.withLock { $0.take() }?.cancel()
        change { $0 = Bottom() }
        output.close()
    }

    /// Names come from the network. Characters that move the cursor, change the direction of writing or are invisible
    /// must not reach the terminal. (`PeerText` already cleans what a peer sends; this catches what was missed.) What the
    /// terminal's character set doesn't have is replaced.
    public static func printable(_ text: String) -> String {
        let text = TerminalText.shown(text)
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
