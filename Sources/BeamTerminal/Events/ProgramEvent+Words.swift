import BeamLog
import BeamMedia
import BeamWire

extension ProgramEvent {
    /// What is written in a room, a host's or one of equals, and what becomes of this program's lines.
    public enum Words: Sendable {
        /// `completeSince` nil: that comes later, as `history`.
        case began(completeSince: Duration?, takesNotes: Bool)
        case history(completeSince: Duration)
        case otherVersion(name: String)
        /// What is being said; nil: nothing any more.
        case partial(author: DeviceKey, name: String, LogPartial?)
        case caption(LogLine, text: String, speaker: String?)
        case note(LogLine, text: String)
        case alert(LogLine, LogAlert)
        case share(LogLine, isOn: Bool)
        /// Its body has to be JSON.
        case message(LogIncomingMessage)
        case delivered(id: String, count: Int)
        case undelivered(id: String, LogFailure)
        case slowed(Bool)
        case unwritten(LogContent, LogFailure)
        /// A message whose body isn't JSON.
        case badMessage(from: DeviceKey)
        /// A line of standard input, counted from 1. `id`: its own.
        case badLine(Int, id: String?, reason: String)

        var record: Record {
            switch self {
            case .began(let since, let takesNotes):
                Record(
                    "room", ["complete": since.map { $0 == .zero }, "since": since?.inSeconds, "notes": takesNotes])
            case .history(let since):
                Record("history", ["complete": since == .zero, "since": since.inSeconds])
            case .otherVersion(let name): Record("other-version", ["name": name])
            case .partial(let author, let name, let partial):
                Record(
                    "caption",
                    [
                        "partial": true, "from": author, "name": name, "speaker": partial?.speaker,
                        "claimed": partial?.speaker != nil && partial?.isClaim == true ? true : nil,
                        "text": partial?.text ?? "",
                    ])
            case .caption(let line, let text, let speaker):
                Record(
                    "caption",
                    line.fields([
                        "partial": false, "speaker": speaker, "claimed": line.isClaim ? true : nil, "text": text,
                    ]))
            case .note(let line, let text): Record("note", line.fields(["text": text]))
            case .alert(let line, let alert): Record("alert", line.fields(alert.fields))
            case .share(let line, let isOn): Record("share", line.fields(["on": isOn]))
            case .message(let message):
                Record(
                    "message",
                    [
                        "from": message.from, "name": message.name, "id": message.id,
                        "to": message.isForAll ? "all" : "you",
                    ], text: ("message", ProgramJSON.oneLine(message.json)))
            case .delivered(let id, let count): Record("delivered", ["id": id, "count": count])
            case .undelivered(let id, let reason): Record("undelivered", ["id": id, "reason": "\(reason)"])
            case .slowed(let isSlowed): Record("slowed", ["on": isSlowed])
            case .unwritten(let content, let reason):
                Record("error", ["what": content.word, "reason": "\(reason)"])
            case .badMessage(let device):
                Record("error", ["what": "message", "from": device, "reason": "its body isn't JSON"])
            case .badLine(let number, let id, let reason):
                Record("error", ["what": "line", "line": number, "id": id, "reason": reason])
            }
        }
    }
}

extension LogContent {
    /// What wasn't written.
    var word: String { if case .note = self { "note" } else { "line" } }
}

extension LogLine {
    fileprivate func fields(_ more: [String: any EventField]) -> [String: any EventField] {
        more.merging([
            "from": author, "name": name, "time": time.inSeconds, "age": age.inSeconds, "own": isOwn,
        ]) { $1 }
    }
}

extension LogAlert {
    fileprivate var fields: [String: any EventField] {
        switch self {
        case .paused: ["what": "paused"]
        case .resumed: ["what": "resumed"]
        case .locked: ["what": "locked"]
        case .unlocked: ["what": "unlocked"]
        case .batteryLow(let percent): ["what": "battery-low", "percent": percent]
        case .batteryFine: ["what": "battery-fine"]
        case .leaving: ["what": "leaving"]
        }
    }
}
