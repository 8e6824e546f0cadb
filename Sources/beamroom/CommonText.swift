import BeamCodec
import BeamMedia
import BeamProtocol
import Foundation
import Glibc

/// Small parts of messages for people.
enum CommonText {
    /// `1 frame`, `2 frames`.
    static func count(_ number: some BinaryInteger, _ one: String, _ many: String? = nil) -> String {
        "\(number) \(number == 1 ? one : many ?? one + "s")"
    }

    /// That the device `known` calls itself otherwise, and how to use that name here; `who` begins the sentence.
    static func newName(_ name: String, of known: String, who: String) -> String {
        "\(who) calls itself “\(name)” now. To \(PeerText.isCut(name) ? "give it another" : "use that") name here: "
            + PeerText.renameCommand(known, to: name) + "."
    }

    /// That the host's picture is larger than this viewer takes, and how to take all of it; nil: it no longer is.
    static func pictureLimited(_ full: PixelSize?) -> String {
        full.map {
            "The host shares \($0.width) × \($0.height) pixels, more than this viewer takes, and sends a smaller picture. "
                + "`--max-picture \($0)` shows all of it, if you trust the host."
        } ?? "The host sends its whole picture again."
    }

    /// That a viewer, which begins the sentence, doesn't take the whole picture; nil: it does again.
    static func pictureLimited(_ limit: PictureLimit?, who: String) -> String {
        limit.map {
            "\(who) gets a smaller picture, \($0.sent.width) × \($0.sent.height) of "
                + "\($0.full.width) × \($0.full.height): it takes no more than \($0.bounds)."
        } ?? "\(who) gets the whole picture again."
    }

    /// The same as an event's fields.
    static func fields(_ limit: PictureLimit?, session: String) -> [String: JSONValue?] {
        [
            "session": .string(session), "limited": .bool(limit != nil),
            "width": limit.map { .integer($0.sent.width) }, "height": limit.map { .integer($0.sent.height) },
            "fullWidth": limit.map { .integer($0.full.width) }, "fullHeight": limit.map { .integer($0.full.height) },
            "maxWidth": limit.map { .integer($0.bounds.sides.width) },
            "maxHeight": limit.map { .integer($0.bounds.sides.height) },
            "maxPixels": limit.map { .integer($0.bounds.area) },
        ]
    }

    /// What this machine sends less of because it can't send everything to so many viewers.
    static func overloaded(_ sheds: Shedding, viewers: Int) -> String {
        let they = viewers == 1 ? "it gets" : "they get"
        let less: String
        switch sheds {
        case .nothing: return "This machine keeps up again: viewers get everything."
        case .rate: less = "\(they) a lower bit rate"
        case .frames: less = "\(they) a lower bit rate and fewer frames"
        case .places:
            less = "\(they) a lower bit rate and fewer frames, and nobody else is let in until there is room"
        }
        return "This machine can't send everything to \(count(viewers, "viewer")): \(less)."
    }

    /// The same as an event's fields.
    static func fields(_ sheds: Shedding, viewers: Int) -> [String: JSONValue?] {
        ["sheds": .string(sheds.rawValue), "viewers": .integer(viewers)]
    }

    /// That the host that was chosen as `name` is the device `known`, and how to use that name here.
    static func chosenName(_ name: String, of known: String) -> String {
        "“\(name)” is the machine that you know as “\(known)”. To \(PeerText.isCut(name) ? "give it another" : "use that") "
            + "name here: \(PeerText.renameCommand(known, to: name))."
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
    static func written(_ transcript: TranscriptReport) -> String {
        transcript.entries == 0
            ? "Nothing was said or written, so there is no transcript \(transcript.path)."
            : "Wrote \(count(transcript.entries, "entry", "entries")) of the transcript into \(transcript.path)."
    }

    /// Rows of cells as lines, each column as wide as its widest cell.
    static func columns(_ rows: [[String]]) -> [String] {
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

    /// A time of day on this machine, as in `14:32`.
    static func clock(_ date: Date) -> String {
        var time = time_t(date.timeIntervalSince1970)
        var parts = tm()
        localtime_r(&time, &parts)
        return (parts.tm_hour < 10 ? "0" : "") + "\(parts.tm_hour):" + (parts.tm_min < 10 ? "0" : "")
            + "\(parts.tm_min)"
    }

    /// Quoted for a shell, so that a command with a peer's name in it can be copied from a message as it is.
    static func shellWord(_ text: String) -> String { PeerText.shellWord(text) }
}
