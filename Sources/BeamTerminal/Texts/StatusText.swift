import BeamMedia
import BeamWire
import Foundation

/// What `beamroom status` and the commands for a running program say. They read what may be another version's program: each
/// part may be missing.
public enum StatusText {
    /// Of an event `status`: a line for what runs, and what there is to tell of it.
    public static func lines(_ status: JSONValue) -> [String] {
        let seconds = CommonText.time(.seconds(max(0, min(status["seconds"]?.number ?? 0, 1e9))))
        var lines = ["\(subject(status)), \(process(status)), has run for \(seconds)."]
        if status["sharing"]?.bool == true {
            let isPaused = status["paused"]?.bool == true
            lines.append("  \(picture(status)): \(isPaused ? "paused" : rate(status)).")
            lines += audience(status)
        } else {
            lines.append("  Nothing is shared from here.")
        }
        if let others = status["here"]?.array?.compactMap(\.string) {
            lines.append("  Here: \(list(others)).")
        }
        lines += (status["asking"]?.array ?? []).compactMap(\.string).map {
            "  \(ShownText.line($0)) asks to be let in, and waits for an answer."
        }
        return lines
    }

    /// What runs, for the beginning of a sentence.
    private static func subject(_ status: JSONValue) -> String {
        let name = status["name"]?.string.map { "“\(PeerText.name($0))”" } ?? "A program without a name"
        guard let room = status["room"]?.string else { return name }
        return "\(name) in the room “\(PeerText.name(room))”"
    }

    private static func process(_ status: JSONValue) -> String {
        let command = status["command"]?.string.map { "`beamroom \(ShownText.line($0))`" } ?? "a program"
        return "\(command) in process \(status["process"]?.number.map { CommonText.number($0) } ?? "?")"
    }

    private static func picture(_ status: JSONValue) -> String {
        let source = status["source"]?.string.map { ShownText.line($0) } ?? "a picture"
        guard let width = status["width"]?.number, let height = status["height"]?.number else { return source }
        return "\(source), \(CommonText.number(width)) × \(CommonText.number(height))"
    }

    private static func rate(_ status: JSONValue) -> String {
        guard let frames = status["fps"]?.number, let kilobits = status["kbps"]?.number else { return "begins" }
        return CommonText.rate(max(0, min(frames, 1e6)), max(0, min(kilobits * 1000, 1e12)))
            .replacing("   ", with: ", ")
    }

    private static func audience(_ status: JSONValue) -> [String] {
        let rows = (status["viewers"]?.array ?? []).map { ViewerTable.Row($0) }
        let elsewhere = status["viewersAtGateways"]?.number.flatMap { $0 >= 1 ? $0 : nil }
        let table = ViewerTable.lines(rows)
        guard let elsewhere else { return table.isEmpty ? ["  Nobody watches."] : table }
        return table + ["  \(CommonText.number(elsewhere)) by a link to a gateway"]
    }

    private static func list(_ names: [String]) -> String {
        names.isEmpty ? "nobody" : names.map { "“\(PeerText.name($0))”" }.joined(separator: ", ")
    }

    // MARK: Which program is meant

    public static let nothingRuns = "Nothing is shared by this user. `beamroom share` begins."

    /// There are several, and none was named.
    public static func several(_ all: [JSONValue]) -> String {
        "Several programs run. Say which one is meant, by --name and its name or process number: "
            + all.map { "\(subject($0)) (\(process($0)))" }.joined(separator: ", ") + "."
    }

    /// It didn't do what it was asked for.
    public static func refused(_ reason: String) -> String { ViewerSentence.capitalised(reason) + "." }

    public static func none(called name: String, of all: [JSONValue]) -> String {
        "Nothing that runs is called “\(PeerText.name(name))”. There is "
            + all.map { "\(subject($0)) (\(process($0)))" }.joined(separator: ", ") + "."
    }
}

extension ViewerTable.Row {
    /// Of an element of the event `status`.
    fileprivate init(_ viewer: JSONValue) {
        func number(_ name: String) -> Double? { viewer[name]?.number.map { max(0, min($0, 1e12)) } }
        self.init(
            name: viewer["name"]?.string.map { "“\(PeerText.name($0, columns: ViewerTable.nameColumns))”" }
                ?? viewer["address"]?.string.map { ShownText.line($0) } ?? "?",
            framesPerSecond: number("fps") ?? 0, bitsPerSecond: (number("kbps") ?? 0) * 1000, loss: number("loss"),
            roundTrip: number("rttMs").map { .milliseconds($0) }, isReduced: number("layer") == 1,
            isWatching: viewer["watching"]?.bool ?? true, isAtGateway: viewer["gateway"]?.string != nil,
            time: .seconds(min(number("seconds") ?? 0, 1e9)))
    }
}
