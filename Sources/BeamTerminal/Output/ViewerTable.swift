import BeamClock
import BeamMedia
import BeamWire
import Foundation

/// The terminal's table of viewers, the slowest first.
struct ViewerTable {
    struct Row {
        /// The name in quotation marks, or the address.
        var name: String
        var framesPerSecond: Double
        var bitsPerSecond: Double
        /// From 0 to 1; nil if the viewer sends no reports.
        var loss: Double?
        var roundTrip: Duration?
        var isReduced: Bool
        /// The stream goes to it.
        var isWatching: Bool
        /// By a gateway, so that the host knows no figures.
        var isAtGateway: Bool
        /// Since it joined.
        var time: Duration
    }

    /// Most viewers shown, unless there is only one more; a last line counts the others.
    static let mostRows = 8
    /// Most columns of a name, so that the table fits into 80 columns.
    static let nameColumns = 22
    private static let header = ["viewer", "frames/s", "Mbit/s", "lost", "round trip", "stream", "since"]

    /// Empty if there is no viewer.
    static func lines(_ rows: [Row]) -> [String] {
        guard !rows.isEmpty else { return [] }
        let sorted = rows.sorted { ($0.rank, $0.framesPerSecond) < ($1.rank, $1.framesPerSecond) }
        // A single hidden viewer would take as many lines as a shown one.
        let shown = sorted.count <= mostRows + 1 ? sorted[...] : sorted.prefix(mostRows)
        let cells = [header] + shown.map { $0.cells }
        let widths = header.indices.map { column in cells.map { PeerText.columns($0[column]) }.max() ?? 0 }
        var lines = cells.map { row in
            let padded = row.indices.map { column in
                let room = String(repeating: " ", count: widths[column] - PeerText.columns(row[column]))
                // Text is aligned left, figures right.
                return column == 0 || column == 5 ? row[column] + room : room + row[column]
            }
            return "  " + padded.joined(separator: "   ")
        }
        let hidden = sorted.dropFirst(shown.count)
        if let slowest = hidden.first {
            let rate = CommonText.number(slowest.framesPerSecond.rounded())
            lines.append(
                hidden.allSatisfy { $0.rank == 0 }
                    ? "  and \(hidden.count) more, with \(rate) \(rate == "1" ? "frame/s" : "frames/s") or more"
                    : "  and \(hidden.count) more")
        }
        return lines
    }
}

extension ViewerRate {
    var row: ViewerTable.Row {
        ViewerTable.Row(
            name: viewer.name.map { "“\(PeerText.name($0, columns: ViewerTable.nameColumns))”" } ?? "\(viewer.address)",
            framesPerSecond: rate.framesPerSecond, bitsPerSecond: rate.bitsPerSecond, loss: viewer.loss,
            roundTrip: viewer.roundTrip, isReduced: viewer.isReduced, isWatching: viewer.isWatching,
            isAtGateway: viewer.gateway != nil, time: MediaTime.now - viewer.since)
    }
}

extension ViewerTable.Row {
    /// Those of whom most is to be seen come first.
    fileprivate var rank: Int { !isWatching ? 1 : isAtGateway ? 2 : 0 }

    fileprivate var cells: [String] {
        let stream = !isWatching ? "waiting" : isAtGateway ? "gateway" : isReduced ? "smaller" : "full"
        return [
            name, isAtGateway ? "–" : CommonText.number(framesPerSecond.rounded()),
            isAtGateway ? "–" : String(format: "%.1f", bitsPerSecond / 1e6),
            loss.map { String(format: "%.1f %%", $0 * 100) } ?? "–",
            roundTrip.map { "\(CommonText.number($0.inMilliseconds.rounded())) ms" } ?? "–", stream,
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
