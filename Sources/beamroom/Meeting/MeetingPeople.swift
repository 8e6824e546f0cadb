import BeamMedia
import BeamProtocol
import Synchronization

/// Reports who is in a room of equals, and who comes, leaves, begins and ends to share.
final class MeetingPeople: Sendable {
    private struct State {
        var people: [MeshPerson] = []
        var names: [DeviceKey: String] = [:]
        /// Those who are here already aren't said to come.
        var hasBegun = false
        /// Those who were put out since the last list; nil: by this device, which says so itself.
        var putOut: [DeviceKey: String?] = [:]
        /// What members can cause as often as they like.
        var words = WordLimit()
    }

    private let context: CommandContext
    private let own: DeviceKey
    /// Says it in the window, too.
    private let tell: @Sendable (String) -> Void
    private let state = Mutex(State())

    init(_ context: CommandContext, own: DeviceKey, tell: @escaping @Sendable (String) -> Void) {
        self.context = context
        self.own = own
        self.tell = tell
    }

    var people: [MeshPerson] { state.withLock { $0.people } }

    /// Those who are here, this device among them.
    var here: [MeshPerson] { people.filter(\.isHere) }

    /// The name of a member, for people.
    func name(of device: DeviceKey) -> String {
        state.withLock { $0.names[device] }.map { PeerText.name($0) } ?? device.description
    }

    private enum Change {
        case came, left, shares, sharesNoMore, paused, resumed

        var event: String {
            switch self {
            case .came: "member-joined"
            case .left: "member-left"
            case .shares: "share-began"
            case .sharesNoMore: "share-ended"
            case .paused, .resumed: "share-paused"
            }
        }

        func words(_ name: String) -> String {
            switch self {
            case .came: "“\(name)” is here."
            case .left: "“\(name)” has left."
            case .shares: "“\(name)” shares a screen."
            case .sharesNoMore: "“\(name)” shares no longer."
            case .paused: "“\(name)” has paused."
            case .resumed: "“\(name)” goes on."
            }
        }
    }

    /// The room was left for another one.
    func forget() { state.withLock { ($0.people, $0.hasBegun) = ([], false) } }

    /// A member was put out, and is missing in the next list. `name`: by whom; nil: by this device.
    func notePutOut(_ device: DeviceKey, by name: String?) { state.withLock { $0.putOut[device] = .some(name) } }

    /// Passes on what has changed.
    func update(_ people: [MeshPerson]) {
        let (old, hasBegun, putOut) = state.withLock { state in
            defer {
                state.people = people
                state.hasBegun = true
                state.putOut = [:]
                for person in people { state.names[person.device] = person.name }
            }
            return (state.people, state.hasBegun, state.putOut)
        }
        let list = people.map(fields)
        if list != old.map(fields) || !hasBegun { context.events.write("people", ["people": .array(list)]) }
        for person in people where person.device != own {
            let before = old.first { $0.device == person.device }
            for change in Self.changes(before, person) { report(change, person, isNews: hasBegun) }
        }
        for person in old where !people.contains(where: { $0.device == person.device }) {
            let author = putOut[person.device]
            if let name = author ?? nil { report(person, putOutBy: name) }
            if person.isHere { report(.left, person, isNews: true, isSaid: author == nil) }
        }
    }

    /// Another member has put somebody out.
    private func report(_ person: MeshPerson, putOutBy name: String) {
        context.events.write(
            "put-out",
            [
                "from": .string(person.device.hex), "name": .string(PeerText.name(person.name)), "by": .string(name),
            ])
        guard state.withLock({ $0.words.allows(at: .now) }) else { return }
        let words = "“\(name)” has put “\(PeerText.name(person.name))” out of the room."
        context.say(words)
        tell(words)
    }

    private static func changes(_ old: MeshPerson?, _ new: MeshPerson) -> [Change] {
        var changes: [Change] = []
        let (wasHere, wasSharing) = (old?.isHere ?? false, (old?.isHere ?? false) && (old?.isSharing ?? false))
        let isSharing = new.isHere && new.isSharing
        if new.isHere, !wasHere { changes.append(.came) }
        if isSharing, !wasSharing { changes.append(.shares) }
        if !isSharing, wasSharing { changes.append(.sharesNoMore) }
        if isSharing, wasSharing, old?.isPaused != new.isPaused { changes.append(new.isPaused ? .paused : .resumed) }
        if !new.isHere, wasHere { changes.append(.left) }
        return changes
    }

    /// - Parameter isSaid: the person reads it, too.
    private func report(_ change: Change, _ person: MeshPerson, isNews: Bool, isSaid: Bool = true) {
        var fields: [String: EventWriter.Value?] = [
            "from": .string(person.device.hex), "name": .string(PeerText.name(person.name)),
        ]
        if case .paused = change { fields["on"] = .bool(true) }
        if case .resumed = change { fields["on"] = .bool(false) }
        context.events.write(change.event, fields)
        guard isSaid, state.withLock({ $0.words.allows(at: .now) }) else { return }
        let words = change.words(PeerText.name(person.name))
        context.say(words)
        // Members that are here before this device are in the list.
        if isNews { tell(words) }
    }

    private func fields(_ person: MeshPerson) -> EventWriter.Value {
        .object(
            [
                "key": .string(person.device.hex), "name": .string(PeerText.name(person.name)),
                "here": .bool(person.isHere), "sharing": .bool(person.isSharing), "paused": .bool(person.isPaused),
                "own": .bool(person.device == own), "hops": person.hops.map { .integer($0) },
            ].compactMapValues { $0 })
    }

    /// Says who is here, a line each.
    func list() {
        for person in people { context.say("  “\(PeerText.name(person.name))”   \(state(of: person))") }
        context.say("  The key of this device: \(own)")
    }

    private func state(of person: MeshPerson) -> String {
        let doing = person.isSharing ? (person.isPaused ? "has paused" : "shares") : "is here"
        if person.device == own { return person.isSharing ? "you; \(doing)" : "you" }
        guard person.isHere else { return "is away" }
        guard let hops = person.hops, hops > 1 else { return doing }
        return "\(doing), reached through \(CommonText.count(hops - 1, "other member"))"
    }

    /// The members that can be meant by a name, in any case, or by a key's beginning (at least four digits).
    func members(matching text: String) -> [MeshPerson] {
        let others = people.filter { $0.device != own }
        let named = others.filter { DeviceNames.isVariant($0.name, of: text, $0.device) }
        if !named.isEmpty { return named }
        let digits = text.lowercased().filter { !$0.isWhitespace }
        guard digits.count >= 4 else { return [] }
        return others.filter { $0.device.hex.hasPrefix(digits) }
    }
}
