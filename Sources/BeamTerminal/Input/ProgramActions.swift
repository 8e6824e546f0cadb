import BeamLog
import BeamMedia
import BeamWire
import Dispatch
import Synchronization

/// What other programs have this one do, by lines that are a JSON object each: on standard input with `--json`
/// (`ProgramInput`), and over the control socket (`ControlSocket`).
///
/// `{"message":…, "to":"all"|NAME|KEY, "id":…}` sends a message; `{"note":"…"}` writes a note; `{"pause":true|false}`
/// pauses a host; `{"kick":NAME|KEY,"forGood":true|false}` sends one of its viewers away. `{"quality":{…}}` says what a viewer
/// is to be sent at most (`QualityLine`). While several hosts are watched, `"host"` says which one it is for, by the name on
/// the command line. In a room `{"share":true|false}` begins and
/// ends to share, `{"caption":"…","speaker":"…"}` writes a caption (`partial` what is just being said),
/// `{"putOut":NAME|KEY,"alsoLetIn":true|false}` puts a member out, and perhaps those whom it has let in, `{"join":true}`
/// enters the other room that was reported, `{"trust":true}` says that the present one is the right one, and `{"relay":true|false,"from":NAME|KEY}` answers whether to show a screen through another member.
public final class ProgramActions: Sendable {
    /// The longest line in bytes: a message of the greatest length, and what is around it.
    static let longestLine = LogLimits.entryBody + 1024
    /// Most messages that wait for a result at a time.
    private static let mostOpen = 1000

    /// What lines do. Nil: this side can't.
    public struct Handlers: Sendable {
        var write: @Sendable (LogInput) -> Void
        var hosts: [String: @Sendable (LogInput) -> Void]
        var pause: (@Sendable (Bool) -> Void)?
        var kick: (@Sendable (_ viewer: String, _ forGood: Bool) -> String?)?
        var room: (any RoomActions)?
        var quality: (@Sendable (_ host: String?, QualityWish) -> Void)?

        /// - Parameters:
        ///   - hosts: for each of several hosts, in place of `write`.
        ///   - kick: sends a viewer away. Nil: it is done; otherwise why it can't be, without a full stop.
        ///   - room: what a member of a room can do besides. It lives as long as the program.
        ///   - quality: says what is to be sent here at most. `host` is one of `hosts`; nil if there are none.
        public init(
            write: @escaping @Sendable (LogInput) -> Void, hosts: [String: @Sendable (LogInput) -> Void] = [:],
            pause: (@Sendable (Bool) -> Void)? = nil,
            kick: (@Sendable (_ viewer: String, _ forGood: Bool) -> String?)? = nil, room: (any RoomActions)? = nil,
            quality: (@Sendable (_ host: String?, QualityWish) -> Void)? = nil
        ) {
            self.quality = quality
            (self.write, self.hosts, self.pause, self.kick, self.room) = (write, hosts, pause, kick, room)
        }
    }

    /// Why a line does nothing.
    struct Refusal: Error {
        /// Without a full stop.
        var reason: String
        /// The line's own ID, as far as it has one.
        var id: String?
    }

    private struct State {
        var handlers: Handlers?
        var count: UInt64 = 0
        /// Messages without a result.
        var open: Set<String> = []
    }

    private let state = Mutex(State())
    /// Signalled when a message has got its result, and when lines are taken.
    let changed = DispatchSemaphore(value: 0)

    public init() {}

    public func connect(_ handlers: Handlers) {
        state.withLock { $0.handlers = handlers }
        changed.signal()
    }

    /// Lines do something.
    var isConnected: Bool { state.withLock { $0.handlers != nil } }
    /// So many messages wait for their results that no more are taken.
    var isBusy: Bool { state.withLock { $0.open.count >= Self.mostOpen } }

    /// The room has told what became of a message.
    func noteResult(_ event: LogEvent) {
        switch event {
        case .delivered(let id, _), .undelivered(let id, _):
            guard state.withLock({ $0.open.remove(id) }) != nil else { return }
            changed.signal()
        default: break
        }
    }

    // MARK: What a line says

    /// A line's members.
    private struct Line {
        let members: [String: [UInt8]]

        func has(_ name: String) -> Bool { members[name] != nil }

        func text(_ name: String) throws(Refusal) -> String? {
            guard let value = members[name] else { return nil }
            guard let text = ProgramJSON.string(value) else { throw Refusal(reason: "`\(name)` takes a string") }
            return text
        }

        func flag(_ name: String) throws(Refusal) -> Bool? {
            switch members[name].map({ String(decoding: $0, as: UTF8.self) }) {
            case nil: return nil
            case "true"?: return true
            case "false"?: return false
            default: throw Refusal(reason: "`\(name)` takes true or false")
            }
        }

        func mustBeTrue(_ name: String) throws(Refusal) {
            guard (try? flag(name)) == true else { throw Refusal(reason: "`\(name)` takes true") }
        }

        /// Nil: there is none, or it isn't what an ID may be.
        var id: String? {
            guard let id = members["id"].flatMap(ProgramJSON.string), (1...LogLimits.messageID).contains(id.utf8.count)
            else { return nil }
            return id
        }
    }

    /// Does what a line says. Waits neither for the network nor for people.
    ///
    /// - Parameter noting: a message counts as open until its result comes.
    func perform(_ line: [UInt8], noting: Bool = true) throws(Refusal) {
        let members: [String: [UInt8]]?
        do throws(ProgramJSON.Malformed) {
            members = try ProgramJSON.members(line)
        } catch {
            throw Refusal(reason: "\(error)")
        }
        guard let members else { throw Refusal(reason: "it isn't a JSON object") }
        let line = Line(members: members)
        do throws(Refusal) {
            try handle(line, noting: noting)
        } catch {
            throw Refusal(reason: error.reason, id: line.id)
        }
    }

    private func handle(_ line: Line, noting: Bool) throws(Refusal) {
        guard let handlers = state.withLock({ $0.handlers }) else { throw Refusal(reason: "nothing is shared yet") }
        if let body = line.members["message"] {
            try send(body, line, noting: noting, try writer(line, handlers))
        } else if let note = try line.text("note") {
            guard !ShownText.line(note).isEmpty else { throw Refusal(reason: "`note` is empty") }
            try writer(line, handlers)(.note(note))
        } else if line.has("pause") {
            guard let pause = handlers.pause else { throw Refusal(reason: "only a host can pause") }
            if let isOn = try line.flag("pause") { pause(isOn) }
        } else if line.has("kick") {
            guard let kick = handlers.kick else { throw Refusal(reason: "only a host can send viewers away") }
            guard let name = try line.text("kick") else { return }
            try check(kick(name, try line.flag("forGood") ?? false))
        } else if let text = line.members["quality"] {
            guard let quality = handlers.quality else {
                throw Refusal(reason: "only `watch` can say what is sent to it")
            }
            quality(try host(line, handlers), try QualityLine.wish(text))
        } else if let room = handlers.room, try handle(line, room, handlers.write) {
            return
        } else {
            throw Refusal(
                reason: handlers.room == nil
                    ? "it has none of the members `message`, `note`, `pause` and `quality`"
                    : "it has none of the members `message`, `note`, `caption`, `share`, `pause`, `putOut`, `join`, `trust` and `relay`"
            )
        }
    }

    /// `reason`: why something can't be done; nil: it is.
    private func check(_ reason: String?) throws(Refusal) {
        if let reason { throw Refusal(reason: reason) }
    }

    /// False: it is nothing of a room.
    private func handle(
        _ line: Line, _ room: any RoomActions, _ write: @Sendable (LogInput) -> Void
    ) throws(Refusal) -> Bool {
        if let caption = try line.text("caption") {
            guard !ShownText.lines(caption).isEmpty else { throw Refusal(reason: "`caption` is empty") }
            write(.caption(text: caption, speaker: try line.text("speaker")))
        } else if let partial = try line.text("partial") {
            write(.partial(text: partial, speaker: try line.text("speaker")))
        } else if let isOn = try line.flag("share") {
            room.setSharing(isOn)
        } else if let name = try line.text("putOut") {
            try check(room.putOut(name, alsoLetIn: try line.flag("alsoLetIn") ?? false))
        } else if line.has("join") {
            try line.mustBeTrue("join")
            try check(room.joinOffered())
        } else if line.has("trust") {
            try line.mustBeTrue("trust")
            room.answerProof(true)
        } else if let accept = try line.flag("relay") {
            try check(room.answerRelay(accept, from: try line.text("from")))
        } else {
            return false
        }
        return true
    }

    /// Which room a line is for.
    private func writer(_ line: Line, _ handlers: Handlers) throws(Refusal) -> @Sendable (LogInput) -> Void {
        try host(line, handlers).flatMap { handlers.hosts[$0] } ?? handlers.write
    }

    /// Which of several hosts a line is for; nil if there is one.
    private func host(_ line: Line, _ handlers: Handlers) throws(Refusal) -> String? {
        guard !handlers.hosts.isEmpty else { return nil }
        guard let host = line.members["host"].flatMap({ ProgramJSON.string($0) }) else {
            throw Refusal(reason: "`host` has to say which host it is for: several are watched")
        }
        guard handlers.hosts[host] != nil else { throw Refusal(reason: "`host` is none of the hosts watched") }
        return host
    }

    private func send(
        _ body: [UInt8], _ line: Line, noting: Bool, _ write: @Sendable (LogInput) -> Void
    ) throws(Refusal) {
        let recipient = try line.text("to").map { $0 == "all" ? LogInput.Recipient.all : .named($0) } ?? .all
        if line.has("id"), line.id == nil {
            throw Refusal(reason: "`id` takes a string of 1 to \(LogLimits.messageID) bytes")
        }
        let id = line.id ?? number()
        let isFree = state.withLock { noting ? $0.open.insert(id).inserted : !$0.open.contains(id) }
        guard isFree else {
            throw Refusal(reason: "the message with this id has no result yet")
        }
        write(.message(id: id, json: body, to: recipient))
    }

    /// Of a message without an ID.
    private func number() -> String {
        state.withLock { state in
            state.count += 1
            return "\(state.count)"
        }
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
