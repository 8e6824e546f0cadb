import BeamMedia
import BeamProtocol
import Dispatch
import Glibc
import Synchronization

/// What another program writes on standard input with `--json`: one JSON object a line.
///
/// `{"message":…, "to":"all"|NAME|KEY, "id":…}` sends a message; `{"note":"…"}` writes a note; `{"pause":true|false}`
/// pauses a host; `{"kick":NAME|KEY,"forGood":true|false}` sends one of its viewers away. While several hosts are watched, `"host"` says which one's room it is for, by the name on the command
/// line. In a room `{"share":true|false}` begins and ends to share, `{"caption":"…","speaker":"…"}` writes a caption
/// (`partial` what is just being said), `{"putOut":NAME|KEY,"alsoLetIn":true|false}` puts a member out, and perhaps those
/// whom it has let in, `{"join":true}` enters the other room that was reported, `{"trust":true}` says that the present one
/// is the right one, and `{"relay":true|false,"from":NAME|KEY}` answers whether to show a screen through another member. A
/// bad line gets an event `error` and disturbs nothing.
public final class ProgramInput: Sendable {
    /// The longest line in bytes: a message of the greatest length, and what is around it.
    static let longestLine = LogLimits.entryBody + 1024
    /// Messages without a result, after which reading pauses: nothing waits for this program but the other one.
    private static let mostOpen = 1000

    /// What lines do. Nil: this side can't.
    public struct Handlers: Sendable {
        var write: @Sendable (LogInput) -> Void
        var hosts: [String: @Sendable (LogInput) -> Void]
        var pause: (@Sendable (Bool) -> Void)?
        var kick: (@Sendable (_ viewer: String, _ forGood: Bool) -> String?)?
        var room: (any RoomActions)?

        /// - Parameters:
        ///   - hosts: for each of several hosts, in place of `write`.
        ///   - kick: sends a viewer away. Nil: it is done; otherwise why it can't be, without a full stop.
        ///   - room: what a member of a room can do besides. It lives as long as the program.
        public init(
            write: @escaping @Sendable (LogInput) -> Void, hosts: [String: @Sendable (LogInput) -> Void] = [:],
            pause: (@Sendable (Bool) -> Void)? = nil,
            kick: (@Sendable (_ viewer: String, _ forGood: Bool) -> String?)? = nil, room: (any RoomActions)? = nil
        ) {
            (self.write, self.hosts, self.pause, self.kick, self.room) = (write, hosts, pause, kick, room)
        }
    }

    private struct State {
        var handlers: Handlers?
        var count: UInt64 = 0
        var open: Set<String> = []
        var isEnded = false
        /// The number of the line that is being read, from 1.
        var line = 0
    }

    private let events: EventWriter
    private let state = Mutex(State())
    /// Signalled when a message has got its result, and when lines are taken.
    private let settled = DispatchSemaphore(value: 0)

    public init(_ events: EventWriter) { self.events = events }

    public func connect(_ handlers: Handlers) {
        state.withLock { $0.handlers = handlers }
        settled.signal()
    }

    /// The next call is about this line of standard input, counted from 1.
    func begin(line: Int) { state.withLock { $0.line = line } }

    /// A line of standard input. Waits, on the reading thread, until there is somebody to take it, and while too many
    /// messages have no result.
    func take(_ line: [UInt8]) {
        wait { $0.handlers == nil }
        do throws(BadLine) {
            try handle(line)
        } catch {
            report(error)
        }
        wait { $0.open.count >= Self.mostOpen }
    }

    private func wait(while isBusy: (State) -> Bool) {
        while state.withLock({ !$0.isEnded && isBusy($0) }) {
            _ = settled.wait(timeout: .now() + .milliseconds(200))
        }
    }

    /// A line that is neither an object nor an answer to a question.
    func refuse() { report(BadLine(reason: "it isn't a JSON object")) }

    func lineTooLong() { report(BadLine(reason: "it is longer than \(Self.longestLine) bytes")) }

    private func report(_ error: BadLine) {
        events.write(.words(.badLine(state.withLock { $0.line }, id: error.id, reason: error.reason)))
    }

    /// The room has told what became of a message.
    func noteResult(_ event: LogEvent) {
        switch event {
        case .delivered(let id, _), .undelivered(let id, _):
            guard state.withLock({ $0.open.remove(id) }) != nil else { return }
            settled.signal()
        default: break
        }
    }

    func end() {
        state.withLock { $0.isEnded = true }
        settled.signal()
    }

    private struct BadLine: Error {
        var reason: String
        /// The line's own ID, as far as it has one.
        var id: String?
    }

    private func handle(_ line: [UInt8]) throws(BadLine) {
        let members: [String: [UInt8]]?
        do throws(ProgramJSON.Malformed) {
            members = try ProgramJSON.members(line)
        } catch {
            throw BadLine(reason: "\(error)")
        }
        guard let members else { throw BadLine(reason: "it isn't a JSON object") }
        do throws(BadLine) {
            try handle(members)
        } catch {
            throw BadLine(reason: error.reason, id: Self.id(members))
        }
    }

    /// Nil: there is none, or it isn't what an ID may be.
    private static func id(_ members: [String: [UInt8]]) -> String? {
        guard let id = members["id"].flatMap(ProgramJSON.string), (1...LogLimits.messageID).contains(id.utf8.count)
        else { return nil }
        return id
    }

    private func handle(_ members: [String: [UInt8]]) throws(BadLine) {
        guard let handlers = state.withLock({ $0.handlers }) else { throw BadLine(reason: "nothing is shared yet") }
        if let body = members["message"] {
            try send(body, members, try writer(members, handlers))
        } else if let note = members["note"] {
            guard let text = ProgramJSON.string(note) else { throw BadLine(reason: "`note` takes a string") }
            guard !ShownText.line(text).isEmpty else { throw BadLine(reason: "`note` is empty") }
            try writer(members, handlers)(.note(text))
        } else if let value = members["pause"] {
            guard let pause = handlers.pause else { throw BadLine(reason: "only a host can pause") }
            switch String(decoding: value, as: UTF8.self) {
            case "true": pause(true)
            case "false": pause(false)
            default: throw BadLine(reason: "`pause` takes true or false")
            }
        } else if let value = members["kick"] {
            guard let kick = handlers.kick else { throw BadLine(reason: "only a host can send viewers away") }
            guard let name = ProgramJSON.string(value) else { throw BadLine(reason: "`kick` takes a string") }
            let forGood: Bool
            switch members["forGood"].map({ String(decoding: $0, as: UTF8.self) }) {
            case nil, "false"?: forGood = false
            case "true"?: forGood = true
            default: throw BadLine(reason: "`forGood` takes true or false")
            }
            if let reason = kick(name, forGood) { throw BadLine(reason: reason) }
        } else if let room = handlers.room, try handle(members, room, handlers.write) {
            return
        } else {
            throw BadLine(
                reason: handlers.room == nil
                    ? "it has none of the members `message`, `note` and `pause`"
                    : "it has none of the members `message`, `note`, `caption`, `share`, `pause`, `putOut`, `join`, `trust` and `relay`"
            )
        }
    }

    private func speaker(_ members: [String: [UInt8]]) throws(BadLine) -> String? {
        guard let value = members["speaker"] else { return nil }
        guard let name = ProgramJSON.string(value) else { throw BadLine(reason: "`speaker` takes a string") }
        return name
    }

    /// False: it is nothing of a room.
    private func handle(
        _ members: [String: [UInt8]], _ room: any RoomActions, _ write: @Sendable (LogInput) -> Void
    ) throws(BadLine) -> Bool {
        if let caption = members["caption"] {
            guard let text = ProgramJSON.string(caption) else { throw BadLine(reason: "`caption` takes a string") }
            guard !ShownText.lines(text).isEmpty else { throw BadLine(reason: "`caption` is empty") }
            write(.caption(text: text, speaker: try speaker(members)))
        } else if let partial = members["partial"] {
            guard let text = ProgramJSON.string(partial) else { throw BadLine(reason: "`partial` takes a string") }
            write(.partial(text: text, speaker: try speaker(members)))
        } else if let value = members["share"] {
            switch String(decoding: value, as: UTF8.self) {
            case "true": room.setSharing(true)
            case "false": room.setSharing(false)
            default: throw BadLine(reason: "`share` takes true or false")
            }
        } else if let value = members["putOut"] {
            guard let name = ProgramJSON.string(value) else { throw BadLine(reason: "`putOut` takes a string") }
            let alsoLetIn: Bool
            switch members["alsoLetIn"].map({ String(decoding: $0, as: UTF8.self) }) {
            case "true": alsoLetIn = true
            case "false", nil: alsoLetIn = false
            default: throw BadLine(reason: "`alsoLetIn` takes true or false")
            }
            if let reason = room.putOut(name, alsoLetIn: alsoLetIn) { throw BadLine(reason: reason) }
        } else if let value = members["join"] {
            guard String(decoding: value, as: UTF8.self) == "true" else { throw BadLine(reason: "`join` takes true") }
            if let reason = room.joinOffered() { throw BadLine(reason: reason) }
        } else if let value = members["trust"] {
            guard String(decoding: value, as: UTF8.self) == "true" else { throw BadLine(reason: "`trust` takes true") }
            room.answerProof(true)
        } else if let value = members["relay"] {
            let text = String(decoding: value, as: UTF8.self)
            guard text == "true" || text == "false" else { throw BadLine(reason: "`relay` takes true or false") }
            let from = members["from"].flatMap { ProgramJSON.string($0) }
            guard members["from"] == nil || from != nil else { throw BadLine(reason: "`from` takes a string") }
            if let reason = room.answerRelay(text == "true", from: from) { throw BadLine(reason: reason) }
        } else {
            return false
        }
        return true
    }

    /// Which room a line is for.
    private func writer(
        _ members: [String: [UInt8]], _ handlers: Handlers
    ) throws(BadLine) -> @Sendable (LogInput) -> Void {
        guard !handlers.hosts.isEmpty else { return handlers.write }
        guard let host = members["host"].flatMap({ ProgramJSON.string($0) }) else {
            throw BadLine(reason: "`host` has to say which host it is for: several are watched")
        }
        guard let write = handlers.hosts[host] else { throw BadLine(reason: "`host` is none of the hosts watched") }
        return write
    }

    private func send(
        _ body: [UInt8], _ members: [String: [UInt8]], _ write: @Sendable (LogInput) -> Void
    ) throws(BadLine) {
        let recipient: LogInput.Recipient
        switch members["to"] {
        case nil: recipient = .all
        case let text?:
            guard let name = ProgramJSON.string(text) else { throw BadLine(reason: "`to` takes a string") }
            recipient = name == "all" ? .all : .named(name)
        }
        let id: String
        switch members["id"] {
        case nil:
            let number = state.withLock { state in
                state.count += 1
                return state.count
            }
            id = "\(number)"
        case _?:
            guard let given = Self.id(members) else {
                throw BadLine(reason: "`id` takes a string of 1 to \(LogLimits.messageID) bytes")
            }
            id = given
        }
        guard state.withLock({ $0.open.insert(id).inserted }) else {
            throw BadLine(reason: "the message with this id has no result yet")
        }
        write(.message(id: id, json: body, to: recipient))
    }
}

/// What another program can have a member of a room do. A text that is returned says why it can't be, without a full stop.
public protocol RoomActions: AnyObject, Sendable {
    /// To share says that this is the right room, too.
    func setSharing(_ isOn: Bool)
    /// `member`: a name, or the beginning of a key.
    func putOut(_ member: String, alsoLetIn: Bool) -> String?
    /// Enters the other room that was reported.
    @discardableResult func joinOffered() -> String?
    /// Whether this is the room that is meant: what the options share begins.
    func answerProof(_ isRight: Bool)
    /// Whether to show a screen through another member. `from`: whose; nil: the only one that was asked about.
    func answerRelay(_ accept: Bool, from: String?) -> String?
}
