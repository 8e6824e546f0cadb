import BeamMedia
import BeamProtocol
import Foundation

/// All viewers in a few lines of a terminal, the slowest first.
struct ViewerTable {
    struct Row {
        /// Quoted, or an address.
        var name: String
        var framesPerSecond: Double
        var bitsPerSecond: Double
        /// A share; nil where the viewer doesn't tell.
        var loss: Double?
        var roundTrip: Duration?
        var isReduced: Bool
        /// The stream goes to it.
        var isWatching: Bool
        /// How long it has been here.
        var time: Duration
    }

    /// Lines for viewers; one more says how many aren't shown.
    static let mostRows = 8
    /// Of a name: as long as most are, so that the table fits into 80 columns.
    static let nameColumns = 22
    private static let header = ["viewer", "frames/s", "Mbit/s", "lost", "round trip", "stream", "since"]

    /// None where nobody has been let in.
    static func lines(_ rows: [Row]) -> [String] {
        guard !rows.isEmpty else { return [] }
        let sorted = rows.sorted { one, other in
            one.isWatching == other.isWatching ? one.framesPerSecond < other.framesPerSecond : one.isWatching
        }
        // A line that says that one more isn't shown could show it.
        let shown = sorted.count <= mostRows + 1 ? sorted[...] : sorted.prefix(mostRows)
        let cells = [header] + shown.map { $0.cells }
        let widths = header.indices.map { column in cells.map { PeerText.columns($0[column]) }.max() ?? 0 }
        var lines = cells.map { row in
            let padded = row.indices.map { column in
                let room = String(repeating: " ", count: widths[column] - PeerText.columns(row[column]))
                // Names and words stand at the left, figures at the right.
                return column == 0 || column == 5 ? row[column] + room : room + row[column]
            }
            return "  " + padded.joined(separator: "   ")
        }
        let hidden = sorted.dropFirst(shown.count)
        if let slowest = hidden.first {
            let rate = ShareReporter.number(slowest.framesPerSecond.rounded())
            lines.append(
                slowest.isWatching
                    ? "  and \(hidden.count) more, with \(rate) frames/s or more" : "  and \(hidden.count) more")
        }
        return lines
    }
}

extension ViewerTable.Row {
    fileprivate var cells: [String] {
        let stream = !isWatching ? "waiting" : isReduced ? "smaller" : "full"
        return [
            name, ShareReporter.number(framesPerSecond.rounded()),
            String(format: "%.1f", bitsPerSecond / 1e6),
            loss.map { String(format: "%.1f %%", $0 * 100) } ?? "–",
            roundTrip.map { "\(ShareReporter.number($0.inMilliseconds.rounded())) ms" } ?? "–", stream,
            Self.words(time),
        ]
    }

    private static func words(_ time: Duration) -> String {
        let seconds = Int(clamping: time.inSeconds)
        return switch seconds {
        case ..<60: "\(max(0, seconds)) s"
        case ..<3600: "\(seconds / 60) min"
        default: "\(seconds / 3600) h \(seconds / 60 % 60) min"
        }
    }
}
