import BeamLog
import BeamMedia
import BeamSession
import BeamTerminal
import BeamWire
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

    private typealias Change = ProgramEvent.Room.Change

    private static func words(_ change: Change, _ name: String) -> String {
        switch change {
        case .came: "“\(name)” is here."
        case .left: "“\(name)” has left."
        case .shares: "“\(name)” shares a screen."
        case .sharesNoMore: "“\(name)” shares no longer."
        case .paused: "“\(name)” has paused."
        case .resumed: "“\(name)” goes on."
        }
    }

    /// The room was left for another one.
    func forget() { state.withLock { ($0.people, $0.hasBegun) = ([], false) } }

    /// A member was put out, and is missing in the next list. `name`: of the member that did it; nil: this device.
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
        if !hasBegun || !old.elementsEqual(people, by: { $0.isShownAs($1) }) {
            context.events.write(.room(.people(people, own: own)))
        }
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
        let member = ProgramEvent.Room.Member(person)
        tell(
            .putOutBy(name, member), "“\(name)” has put “\(member.name)” out of the room.", inWindow: true)
    }

    private func tell(_ event: ProgramEvent.Room, _ words: String, inWindow: Bool) {
        context.events.write(.room(event))
        guard context.floods.allows(.people) else { return }
        context.say(words)
        if inWindow { tell(words) }
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
        let member = ProgramEvent.Room.Member(person)
        guard isSaid else { return context.events.write(.room(.changed(member, change))) }
        // Members that are here before this device are in the list.
        tell(.changed(member, change), Self.words(change, member.name), inWindow: isNews)
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

extension ProgramEvent.Room.Member {
    fileprivate init(_ person: MeshPerson) { self.init(person.device, PeerText.name(person.name)) }
}

extension MeshPerson {
    /// Programs are told the same of both.
    fileprivate func isShownAs(_ other: MeshPerson) -> Bool {
        var other = other
        other.addresses = addresses
        return other == self
    }
}
