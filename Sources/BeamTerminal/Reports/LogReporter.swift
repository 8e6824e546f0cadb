import BeamLog
import BeamMedia
import BeamWire
import Synchronization

/// Reports what is written in the room: notes and alerts to the person, everything to programs.
public final class LogReporter: Sendable {
    private let context: CommandContext
    private let condition = Mutex(ShareCondition())

    public init(_ context: CommandContext) { self.context = context }

    public func handle(_ event: LogEvent) {
        defer { context.actions.noteResult(event) }
        let changes = condition.withLock { $0.handle(event) }
        switch event {
        case .began(let since, let takesNotes): write(.began(completeSince: since, takesNotes: takesNotes))
        case .otherVersion(let name):
            context.tell(.words(.otherVersion(name: name)), LogText.otherVersion(name), as: .version)
        case .history(let since): write(.history(completeSince: since))
        case .lines(let lines):
            for line in lines { report(line) }
            if let line = lines.last(where: \.isKeepers), !line.isOwn { tell(changes, host: line.name) }
        case .catchingUp: break
        case .caughtUp(let host): tell(changes, host: host)
        case .partial(let author, let name, let partial): write(.partial(author: author, name: name, partial))
        case .message(let message):
            // A member's program may be another one: what isn't JSON would break this program's lines.
            write(ProgramJSON.isValid(message.json) ? .message(message) : .badMessage(from: message.from))
        case .delivered(let id, let count): write(.delivered(id: id, count: count))
        case .undelivered(let id, let reason): write(.undelivered(id: id, reason))
        case .unwritten(let content, let reason):
            context.tell(.words(.unwritten(content, reason)), LogText.unwritten(content, reason), as: .note)
        case .slowed(let isSlowed):
            context.tell(.words(.slowed(isSlowed)), isSlowed ? LogText.slowed : nil, as: .slowing)
        }
    }

    private func write(_ event: ProgramEvent.Words) { context.events.write(.words(event)) }

    private func report(_ line: LogLine) {
        switch line.content {
        case .caption(let text, let speaker): write(.caption(line, text: text, speaker: speaker))
        case .note(let text):
            context.tell(.words(.note(line, text: text)), LogText.note(line, text), as: .note)
        case .alert(let alert): write(.alert(line, alert))
        case .shareBegan, .shareEnded: write(.share(line, isOn: line.content == .shareBegan))
        case .message, .member: break
        }
    }

    /// That the host has paused is the viewer's status.
    private func tell(_ changes: [LogAlert], host: String) {
        for alert in changes where alert != .paused && alert != .resumed {
            context.say(alert.words(host: PeerText.name(host)), as: .alert)
        }
    }
}
