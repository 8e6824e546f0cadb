import BeamLog
import BeamNetwork
import BeamTerminal
import BeamViewer
import BeamWire

/// One of several rooms of the same name, with what is proved of it.
struct MeetingCandidate: Sendable {
    /// Somebody who is known here.
    struct Acquaintance: Sendable, Hashable {
        var device: DeviceKey
        var name: String
    }

    var found: MeshPresence.Found
    /// Who is at its doors: TLS has proved it.
    var keys: [Endpoint: DeviceKey] = [:]
    /// Those of them who are known from rooms.
    var known: [Acquaintance] = []
    /// This device was in it, without a proof.
    var remembered: KeptRoom?

    /// How many of one name are told apart: more can't be looked through.
    static let most = 9
    /// Doors of each that are asked who is there.
    static let mostDoors = 8

    enum Decision: Sendable {
        case enter(MeetingCandidate)
        /// The person picks one.
        case ask([MeetingCandidate])
        /// Nobody can be asked.
        case ambiguous([MeetingCandidate])
    }

    /// Which one is entered.
    ///
    /// - Parameter hasPerson: somebody can be asked.
    static func decide(_ all: [MeetingCandidate], hasPerson: Bool) -> Decision {
        let sorted = sorted(all)
        if let only = sorted.first, sorted.count == 1 { return .enter(only) }
        if hasPerson { return .ask(sorted) }
        // Members of a room that is remembered prove that they are the same ones.
        for sure in [sorted.filter { $0.remembered != nil }, sorted.filter { !$0.known.isEmpty }] where !sure.isEmpty {
            return sure.count == 1 ? .enter(sure[0]) : .ambiguous(sorted)
        }
        return .ambiguous(sorted)
    }

    /// Those in which somebody is known come first.
    private static func sorted(_ all: [MeetingCandidate]) -> [MeetingCandidate] {
        all.enumerated().sorted { one, other in
            (one.element.rank, one.offset) < (other.element.rank, other.offset)
        }.map(\.element)
    }

    private var rank: Int { !known.isEmpty ? 0 : remembered != nil ? 1 : 2 }

    /// Its doors; those at which somebody is known come first.
    var doors: [Endpoint] {
        let known = Set(self.known.map(\.device))
        let first = found.doors.filter { keys[$0].map(known.contains) ?? false }
        return first + found.doors.filter { !first.contains($0) }
    }

    var members: Int { found.standing?.members ?? 1 }

    /// The first of its doors that has answered, or else the first one.
    var address: Endpoint? { doors.first { keys[$0] != nil } ?? doors.first }

    /// How many are announced, and who: for the person.
    var words: String {
        let count = CommonText.count(members, "person", "people")
        let rest = otherKeys
        let others = rest.isEmpty ? [] : [rest.count == 1 ? "the key \(rest[0])" : "the keys \(Self.list(rest))"]
        let people = known.map { "“\(PeerText.name($0.name))”, whom you know (\($0.device))" }
        let who = people + others
        let before = remembered == nil ? "" : "; you were in it before"
        return "\(count): \(who.isEmpty ? "none of them answers" : who.joined(separator: ", "))\(before)"
    }

    /// The same in few words, for a window's list.
    var shortWords: String {
        let count = CommonText.count(members, "person", "people")
        if let friend = known.first { return "\(count), “\(PeerText.name(friend.name))” whom you know" }
        guard let key = otherKeys.first else { return "\(count), none of them answers" }
        return "\(count), key \(key)"
    }

    private var otherKeys: [DeviceKey] {
        doors.compactMap { keys[$0] }.reduce(into: []) { keys, key in
            if !keys.contains(key), !known.contains(where: { $0.device == key }) { keys.append(key) }
        }
    }

    private static func list(_ keys: [DeviceKey]) -> String {
        let shown = keys.prefix(3).map(\.description).joined(separator: " · ")
        return keys.count > 3 ? "\(shown) and \(keys.count - 3) more" : shown
    }
}
