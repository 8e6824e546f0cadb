import BeamCodec
import BeamMedia
import BeamWire
import Foundation
import Glibc

/// Small parts of messages for people.
public enum CommonText {
    /// `1 frame`, `2 frames`.
    public static func count(_ number: some BinaryInteger, _ one: String, _ many: String? = nil) -> String {
        "\(number) \(number == 1 ? one : many ?? one + "s")"
    }

    /// That the device `known` calls itself otherwise, and how to use that name here; `who` begins the sentence.
    static func newName(_ name: String, of known: String, who: String) -> String {
        "\(who) calls itself “\(name)” now. To \(PeerText.isCut(name) ? "give it another" : "use that") name here: "
            + PeerText.renameCommand(known, to: name) + "."
    }

    /// What was recorded.
    static func recorded(_ recording: BackgroundRecorder.Report) -> String {
        let last = recording.lastPath == recording.path ? "" : " to \(recording.lastPath)"
        let missing =
            recording.dropped == 0
            ? "" : " \(count(recording.dropped, "frame was", "frames were")) left out: the disk was too slow."
        guard recording.frames > 0 else { return "Nothing was recorded, so there is no \(recording.path).\(missing)" }
        // A still screen has few: their number alone would read as if little was recorded.
        let pictures =
            recording.frames == 1
            ? "1 picture, which stands all the time"
            : "\(recording.frames) pictures, each of which stands until the next one"
        return "Recorded \(time(recording.length)) in \(recording.path)\(last): \(pictures).\(missing)"
    }

    /// `13 s`, `35 min 12 s`, `2 h 5 min`.
    static func time(_ duration: Duration) -> String {
        let seconds = Int(clamping: duration.inSeconds.rounded())
        if seconds < 60 { return "\(seconds) s" }
        return seconds < 3600
            ? "\(seconds / 60) min \(seconds % 60) s" : "\(seconds / 3600) h \(seconds / 60 % 60) min"
    }

    /// What was written into a transcript.
    public static func written(_ transcript: TranscriptReport) -> String {
        transcript.entries == 0
            ? "Nothing was said or written, so there is no transcript \(transcript.path)."
            : "Wrote \(count(transcript.entries, "entry", "entries")) of the transcript into \(transcript.path)."
    }

    /// Rows of cells as lines, each column as wide as its widest cell.
    public static func columns(_ rows: [[String]]) -> [String] {
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in
            rows.map { $0.indices.contains(column) ? PeerText.columns($0[column]) : 0 }.max() ?? 0
        }
        return rows.map { row in
            row.indices.map { column in
                column == row.count - 1
                    ? row[column]
                    : row[column] + String(repeating: " ", count: widths[column] - PeerText.columns(row[column]))
            }.joined(separator: "   ")
        }
    }

    /// `30`, `59.94`.
    public static func number(_ value: Double) -> String {
        value == value.rounded() ? String(Int(value)) : String((value * 100).rounded() / 100)
    }

    static func megabits(_ bits: Double) -> String { "\((bits / 100_000).rounded() / 10) Mbit" }

    static func megabytes(_ bytes: UInt64) -> String { "\((Double(bytes) / 100_000).rounded() / 10) MB" }

    /// `30 frames/s   2.5 Mbit/s`.
    public static func rate(_ framesPerSecond: Double, _ bitsPerSecond: Double) -> String {
        let rate = framesPerSecond.rounded()
        return "\(number(rate)) \(rate == 1 ? "frame/s" : "frames/s")   \(megabits(bitsPerSecond))/s"
    }

    public static func rate(_ rate: StreamRate) -> String { self.rate(rate.framesPerSecond, rate.bitsPerSecond) }

    /// A time of day on this machine, as in `14:32`.
    static func clock(_ date: Date) -> String {
        var time = time_t(date.timeIntervalSince1970)
        var parts = tm()
        localtime_r(&time, &parts)
        return (parts.tm_hour < 10 ? "0" : "") + "\(parts.tm_hour):" + (parts.tm_min < 10 ? "0" : "")
            + "\(parts.tm_min)"
    }

    /// Quoted for a shell, so that a command with a peer's name in it can be copied from a message as it is.
    public static func shellWord(_ text: String) -> String { PeerText.shellWord(text) }
}
