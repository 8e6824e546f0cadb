import BeamMeasure
import BeamMedia
import BeamTerminal
import Foundation
import Glibc
import Synchronization

/// Progress of a measurement: a bar on a terminal, a line for each repetition elsewhere.
final class MeasureProgress: Sendable {
    private struct State {
        var current: (cell: String, repetition: Int, done: Int, total: Int)?
        /// Estimated end of the measurement.
        var end = ContinuousClock.now
    }

    private let console: Console
    private let repetitions: Int
    private let state = Mutex(State())

    init(_ console: Console, repetitions: Int) {
        self.console = console
        self.repetitions = repetitions
    }

    func show(_ progress: MeasureRun.Progress) {
        switch progress {
        case .preparing:
            console.live("Starting host and viewer…")
        case .words(let text):
            console.say(text)
        case .measuring(let cell, let repetition, let done, let total, let left):
            state.withLock { state in
                state.current = (cell, repetition, done, total)
                state.end = ContinuousClock.now + .seconds(left)
            }
            redraw()
            if !console.isTerminal {
                console.say(
                    "\(done + 1) of \(total): \(cell), repetition \(repetition) of \(repetitions), about "
                        + "\(Self.duration(left)) left")
            }
        }
    }

    /// The results of a repetition, if there is no bar.
    func tell(_ record: MeasureRecord) {
        guard !console.isTerminal else { return }
        let figures: [Figure] = [
            .latency, .latencyP95, .framesPerSecond, .bitRate, .psnr, .processor, .soundLatency, .soundSkew,
        ]
        let words = figures.compactMap { figure in
            figure.value(in: record).map {
                "\(figure.title) \(figure.text($0))\(figure.unit.isEmpty ? "" : " " + figure.unit)"
            }
        }
        console.say("    " + words.joined(separator: ", "))
    }

    func finish() {
        state.withLock { $0.current = nil }
        console.finish()
        // The table goes to standard output next: the bar must have been erased by then.
        console.flush()
    }

    /// To be called each second, to update the remaining time.
    func redraw() {
        let line = state.withLock { state -> String? in
            guard let (cell, repetition, done, total) = state.current else { return nil }
            let left = max(0, Self.seconds(state.end - ContinuousClock.now))
            return Self.line(
                done: done, total: total, left: left, words: "\(cell), \(repetition)/\(repetitions)",
                width: Self.terminalWidth)
        }
        if let line { console.live(line) }
    }

    /// `━━━━━━──────── 3/12  2 min left  1280x720@60 scroll 10M, 2/3`, no wider than the terminal.
    static func line(done: Int, total: Int, left: Double, words: String, width: Int) -> String {
        let length = max(4, min(30, width - 50))
        let filled = min(length, length * done / max(1, total))
        let bar = String(repeating: "━", count: filled) + String(repeating: "─", count: length - filled)
        let line = "\(bar) \(done)/\(total)  \(duration(left)) left  \(words)"
        return String(line.prefix(max(10, width - 1)))
    }

    /// `45 s`, `2 min 10 s`, `1 h 5 min`.
    static func duration(_ seconds: Double) -> String {
        let whole = Int(min(1e6, max(0, seconds)).rounded())
        if whole < 60 { return "\(whole) s" }
        if whole < 3600 { return "\(whole / 60) min \(whole % 60) s" }
        return "\(whole / 3600) h \(whole / 60 % 60) min"
    }

    private static func seconds(_ duration: Duration) -> Double {
        let (seconds, attoseconds) = duration.components
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    private static var terminalWidth: Int {
        var size = winsize()
        guard ioctl(StandardStreams.messages, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return Int(size.ws_col)
    }
}

extension EventWriter {
    /// A repetition, as it stands in results.jsonl.
    func write(_ record: MeasureRecord) {
        guard
            let fields = try? JSONDecoder().decode([String: JSONValue].self, from: Data(ResultsFile.line(record).utf8))
        else { return }
        write(.measure(.result(fields.filter { $0.value != .null })))
    }

    /// Each cell's ratios, or differences.
    func write(_ comparison: Comparison?) {
        for cell in comparison?.cells ?? [] {
            let changes = cell.changes.map { change -> (String, JSONValue) in
                let spread: [String: JSONValue] = [
                    "median": .number(change.spread.median), "min": .number(change.spread.min),
                    "max": .number(change.spread.max),
                    "is": .string(change.figure.isComparedByDifference ? "difference" : "ratio"),
                    "verdict": .string("\(change.verdict)"),
                ]
                return (change.figure.rawValue, .object(spread))
            }
            write(
                .measure(
                    .comparison(
                        cell: cell.cell, against: comparison?.path ?? "",
                        figures: Dictionary(changes, uniquingKeysWith: { first, _ in first }))))
        }
    }
}
