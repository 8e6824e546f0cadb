import BeamMedia
import BeamProtocol
import Synchronization

/// Reports what is written in the room: notes and alerts to the person, everything to programs.
final class LogReporter: Sendable {
    private struct State {
        /// What others can cause as often as they like.
        var notes = WordLimit()
        var alerts = WordLimit()
        var condition = ShareCondition()
        var slowings = WordLimit()
        var versions = WordLimit()
    }

    /// Of what was in the room before this program entered it, notes that are older than this aren't printed.
    private static let recent = Duration.seconds(5)

    private let say: @Sendable (String) -> Void
    private let events: EventWriter
    private let programs: ProgramInput?
    private let state = Mutex(State())

    /// `say` writes a line for the person.
    init(_ say: @escaping @Sendable (String) -> Void, _ events: EventWriter, _ programs: ProgramInput?) {
        self.say = say
        self.events = events
        self.programs = programs
    }

    convenience init(_ context: CommandContext) {
        self.init({ context.say($0) }, context.events, context.programs)
    }

    func handle(_ event: LogEvent) {
        defer { programs?.noteResult(event) }
        let changes = state.withLock { $0.condition.handle(event) }
        switch event {
        case .began(let since, let takesNotes):
            events.write(
                "room",
                [
                    "complete": since.map { .bool($0 == .zero) }, "since": since.map { .rounded($0.inSeconds) },
                    "notes": .bool(takesNotes),
                ])
        case .otherVersion(let name):
            events.write("other-version", ["name": .string(name)])
            guard state.withLock({ $0.versions.allows(at: .now) }) else { break }
            say(
                "“\(PeerText.name(name))” has a version of BeamRoom whose captions, notes and messages this one doesn't "
                    + "exchange: install the same version on both.")
        case .history(let since):
            events.write("history", ["complete": .bool(since == .zero), "since": .rounded(since.inSeconds)])
        case .lines(let lines):
            for line in lines { report(line) }
            if let line = lines.last(where: \.isKeepers), !line.isOwn { tell(changes, host: line.name) }
        case .catchingUp: break
        case .caughtUp(let host): tell(changes, host: host)
        case .partial(let author, let name, let partial):
            events.write(
                "caption",
                [
                    "partial": .bool(true), "from": .string(author.hex), "name": .string(name),
                    "speaker": partial?.speaker.map { .string($0) },
                    "claimed": partial?.speaker != nil && partial?.isClaim == true ? .bool(true) : nil,
                    "text": .string(partial?.text ?? ""),
                ])
        case .message(let message): report(message)
        case .delivered(let id, let count):
            events.write("delivered", ["id": .string(id), "count": .integer(count)])
        case .undelivered(let id, let reason):
            events.write("undelivered", ["id": .string(id), "reason": .string("\(reason)")])
        case .unwritten(let content, let reason):
            let what = if case .note = content { "note" } else { "line" }
            say("That \(what) wasn't sent: \(reason).")
            events.write("error", ["what": .string(what), "reason": .string("\(reason)")])
        case .slowed(let isSlowed):
            events.write("slowed", ["on": .bool(isSlowed)])
            if isSlowed, state.withLock({ $0.slowings.allows(at: .now) }) {
                say("Too much is written at once: the host takes it more slowly.")
            }
        }
    }

    private func report(_ line: LogLine) {
        switch line.content {
        case .caption(let text, let speaker):
            events.write(
                "caption",
                fields(
                    line,
                    [
                        "partial": .bool(false), "speaker": speaker.map { .string($0) },
                        "claimed": line.isClaim ? .bool(true) : nil, "text": .string(text),
                    ]))
        case .note(let text):
            events.write("note", fields(line, ["text": .string(text)]))
            // A note that was under way for long, because a machine stood still, is new here all the same.
            let shown = PeerText.note(text)
            guard !line.isOwn, !shown.isEmpty, !line.isHistory || line.age < Self.recent,
                state.withLock({ $0.notes.allows(at: .now) })
            else { break }
            say("“\(PeerText.name(line.name))” writes: \(shown)")
        case .alert(let alert):
            events.write("alert", fields(line, Self.fields(alert)))
        case .shareBegan, .shareEnded:
            events.write("share", fields(line, ["on": .bool(line.content == .shareBegan)]))
        case .message, .member: break
        }
    }

    /// That the host has paused is the viewer's status.
    private func tell(_ changes: [LogAlert], host: String) {
        for alert in changes where alert != .paused && alert != .resumed {
            guard state.withLock({ $0.alerts.allows(at: .now) }) else { break }
            say(alert.words(host: PeerText.name(host)))
        }
    }

    private func fields(_ line: LogLine, _ more: [String: JSONValue?]) -> [String: JSONValue?] {
        let common: [String: JSONValue?] = [
            "from": .string(line.author.hex), "name": .string(line.name), "time": .rounded(line.time.inSeconds),
            "age": .rounded(line.age.inSeconds), "own": .bool(line.isOwn),
        ]
        return common.merging(more) { $1 }
    }

    private static func fields(_ alert: LogAlert) -> [String: JSONValue?] {
        switch alert {
        case .paused: ["what": .string("paused")]
        case .resumed: ["what": .string("resumed")]
        case .locked: ["what": .string("locked")]
        case .unlocked: ["what": .string("unlocked")]
        case .batteryLow(let percent): ["what": .string("battery-low"), "percent": .integer(percent)]
        case .batteryFine: ["what": .string("battery-fine")]
        case .leaving: ["what": .string("leaving")]
        }
    }

    private func report(_ message: LogIncomingMessage) {
        // A member's program may be another one: what isn't JSON would break this program's lines.
        guard ProgramJSON.isValid(message.json) else {
            return events.write(
                "error",
                [
                    "what": .string("message"), "from": .string(message.from.hex),
                    "reason": .string("its body isn't JSON"),
                ])
        }
        events.write(
            "message",
            [
                "from": .string(message.from.hex), "name": .string(message.name), "id": .string(message.id),
                "to": .string(message.isForAll ? "all" : "you"),
            ], texts: ["message": ProgramJSON.oneLine(message.json)])
    }
}
