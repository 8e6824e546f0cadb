import BeamNetwork
import BeamTerminal

/// The doors of rooms of one name, at which the code is tried: which one comes next.
///
/// Each is tried once. Only the right one can prove that it knows the code, so the others learn nothing but that they were
/// asked, and may guess it once or twice (Security). A wrong code must not use up the tries of the right room, whose
/// members count together: of doors with the same mark, a few that find it wrong are enough.
struct CodeRound {
    enum Answer: Sendable, Equatable {
        /// It says that this isn't its code.
        case wrong
        /// It hasn't proved that it knows the code: it takes none, lets nobody in, or breaks the rules.
        case unproved
        case notReached
        /// It hadn't answered in time, and nothing was proved on either side.
        case busy
    }

    /// Of one room, with a shown code: as many wrong tries as leave it some.
    static let mostWrong = 3
    /// An end to knocking, however many rooms are announced.
    static let mostDoors = 64

    private var waiting: [(room: Int, door: Endpoint)] = []
    private var wrong: [Int: Int] = [:]
    private var seen: Set<Endpoint> = []
    private var deferred: Set<Endpoint> = []
    private var current: (room: Int, door: Endpoint)?
    private(set) var tried = 0
    /// Rooms, by their number, that were added.
    private var rooms: [String: Int] = [:]

    /// Adds the doors of a room; those that are known already are left out.
    ///
    /// - Parameter mark: what the room's announcements have in common.
    mutating func add(_ doors: [Endpoint], of mark: String) {
        let room = rooms[mark] ?? rooms.count
        rooms[mark] = room
        for door in doors where seen.count < Self.mostDoors && seen.insert(door).inserted {
            waiting.append((room, door))
        }
        // One of each room, then another of each: a room with many doors doesn't keep the others waiting.
        var turns: [Int: Int] = [:]
        let ordered = waiting.map { entry -> (turn: Int, entry: (room: Int, door: Endpoint)) in
            defer { turns[entry.room, default: 0] += 1 }
            return (turns[entry.room, default: 0], entry)
        }
        waiting = ordered.enumerated().sorted { ($0.element.turn, $0.offset) < ($1.element.turn, $1.offset) }
            .map(\.element.entry)
    }

    /// The next door; nil: all were tried. `isAgain`: it was busy before.
    mutating func next() -> (door: Endpoint, isAgain: Bool)? {
        while !waiting.isEmpty {
            let next = waiting.removeFirst()
            guard wrong[next.room, default: 0] < Self.mostWrong else { continue }
            current = next
            let isAgain = deferred.contains(next.door)
            if !isAgain { tried += 1 }
            return (next.door, isAgain)
        }
        return nil
    }

    /// What has come of the last one.
    mutating func note(_ answer: Answer) {
        guard let current else { return }
        switch answer {
        case .wrong: wrong[current.room, default: 0] += 1
        case .busy where deferred.insert(current.door).inserted: waiting.append(current)
        case .unproved, .notReached, .busy: break
        }
    }

    /// Some door has said that this isn't its code.
    var wasWrong: Bool { !wrong.isEmpty }
}
