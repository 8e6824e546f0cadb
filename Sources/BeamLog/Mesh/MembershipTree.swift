import BeamMedia
import BeamWire
import Crypto

/// The statements of a room as a tree of stays, and which of them have room.
struct MembershipTree: Sendable {
    typealias ID = MembershipStatement.ID

    /// A statement, and what takes time to find out about it.
    struct Known: Sendable {
        var statement: MembershipStatement
        var id: ID
        /// Who has been let in, or has founded the room.
        var admitted: DeviceKey?
    }

    /// A device's stay in the room.
    struct Stay: Sendable {
        var id: ID
        /// In which it was let in.
        var parent: ID
        var device: DeviceKey
        var publicKey: [UInt8]
        var name: String
        var rank: Rank
    }

    struct Rank: Comparable, Sendable {
        /// When it was let in; later than who has let it in.
        var milliseconds: UInt64
        var id: ID

        static func < (one: Rank, other: Rank) -> Bool {
            one.milliseconds == other.milliseconds ? one.id < other.id : one.milliseconds < other.milliseconds
        }
    }

    /// How a stay has ended.
    struct End: Sendable {
        /// Who has ended it, or that of who let it in: whoever was there first.
        var author: DeviceKey
        /// The stays in which it was ended by name; empty: it is over only because its parent is.
        var authors: [ID] = []
        /// Of the log's runs, if it was ended by name.
        var last: [UInt64: UInt32]?
    }

    let room: [UInt8]
    /// So many statements have room, beside the founding.
    let capacity: Int
    /// The founding, and what has room besides, in the order of the tree.
    private(set) var known: [Known] = []
    /// In their order.
    private(set) var stays: [Stay] = []
    private(set) var roomName = ""
    private var ids: Set<ID> = []
    private var places: [ID: Int] = [:]

    init(room: [UInt8], capacity: Int) {
        self.room = room
        self.capacity = capacity
    }

    func contains(_ id: ID) -> Bool { ids.contains(id) }
    func contains(_ statement: MembershipStatement) -> Bool { ids.contains(statement.id(room: room)) }
    func stay(_ id: ID) -> Stay? { places[id].map { stays[$0] } }
    func stays(of device: DeviceKey) -> [Stay] { stays.filter { $0.device == device } }
    func place(of stay: ID) -> Int? { places[stay] }

    /// Includes statements that may have room; `order` decides. Returns false if there are none but known ones.
    mutating func include(_ statements: [MembershipStatement], _ signing: LogSigning) -> Bool {
        let new = statements.map { ($0, $0.id(room: room)) }.filter { !ids.contains($0.1) }
        let named = ids.union(new.map(\.1)).union([.founder])
        let count = known.count
        for (statement, id) in new where named.contains(statement.stay) && ids.insert(id).inserted {
            switch statement.content {
            case .founded(let nonce, _, _):
                guard statement.stay == .founder, let device = signing.device(statement.publicKey),
                    MembershipStatement.room(founder: device, nonce: nonce) == room
                else { continue }
                known.append(Known(statement: statement, id: id, admitted: device))
            case .admitted(let key, _):
                guard key != statement.publicKey, let device = signing.device(key) else { continue }
                known.append(Known(statement: statement, id: id, admitted: device))
            case .putOut: known.append(Known(statement: statement, id: id, admitted: nil))
            }
        }
        return known.count > count
    }

    // MARK: What has room

    /// Drops what has no room, or isn't said by anybody of the room, and orders the rest.
    ///
    /// The order of a stay's part of the tree: first what its device says, endings before admissions, each by ID. Then one
    /// statement of each stay that it has begun, from the beginning of that one's own order; then the next one of each; and
    /// so on. The room's order is that of the founder's stay. Its first `capacity` have room.
    ///
    /// By induction over the tree: a further statement puts no other one nearer to the beginning, and taking one away
    /// leaves everything before it in its place. IDs are hashes: who wants to push out his own statements again and again,
    /// so that everybody checks and passes on ever new ones, has to find ever lower ones.
    mutating func order() {
        let founding = known.filter(\.statement.isFounding).min { $0.id < $1.id }
        guard let founding, let device = founding.admitted,
            case .founded(_, let roomName, let name) = founding.statement.content
        else { return self = MembershipTree(room: room, capacity: capacity) }
        let said = Dictionary(grouping: known.filter { !$0.statement.isFounding }) { $0.statement.stay }
            .mapValues { $0.sorted(by: Self.isSaidBefore) }
        let founder = Stay(
            id: .founder, parent: .founder, device: device, publicKey: founding.statement.publicKey, name: name,
            rank: Rank(milliseconds: 0, id: .founder))
        var found = [founder]
        known = [founding] + part(of: founder, said, &found).prefix(capacity)
        ids = Set(known.map(\.id))
        stays = found.filter { $0.id == .founder || ids.contains($0.id) }.sorted { $0.rank < $1.rank }
        places = Dictionary(stays.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { one, _ in one })
        self.roomName = roomName
    }

    private static func isSaidBefore(_ one: Known, _ other: Known) -> Bool {
        (one.admitted == nil ? 0 : 1, one.id) < (other.admitted == nil ? 0 : 1, other.id)
    }

    private func part(of stay: Stay, _ said: [ID: [Known]], _ found: inout [Stay]) -> [Known] {
        var order: [Known] = []
        var children: [Stay] = []
        for known in said[stay.id] ?? []
        where known.statement.publicKey == stay.publicKey && order.count < capacity {
            if case .admitted(let key, let name) = known.statement.content, let device = known.admitted {
                let (after, isLast) = stay.rank.milliseconds.addingReportingOverflow(1)
                guard !isLast else { continue }
                let rank = Rank(milliseconds: max(known.statement.milliseconds, after), id: known.id)
                children.append(
                    Stay(id: known.id, parent: stay.id, device: device, publicKey: key, name: name, rank: rank))
            }
            order.append(known)
        }
        found += children
        var parts = children.map { part(of: $0, said, &found) }.filter { !$0.isEmpty }
        var turn = 0
        while !parts.isEmpty, order.count < capacity {
            for part in parts { order.append(part[turn]) }
            turn += 1
            parts.removeAll { $0.count <= turn }
        }
        return order
    }

    // MARK: What is over

    /// The stays that are over. Everything that can end one was said in a stay before it, so one pass is enough.
    func ends() -> [ID: End] {
        let endings = known.reduce(into: [ID: [MembershipStatement.Ending]]()) { endings, known in
            if case .putOut(let said) = known.statement.content { endings[known.statement.stay, default: []] += said }
        }
        var over: [ID: End] = [:]
        for (place, stay) in stays.enumerated() {
            if let end = over[stay.parent], stay.id != .founder {
                if over[stay.id] == nil { over[stay.id] = End(author: end.author) }
            }
            guard over[stay.id] == nil else { continue }
            for ending in endings[stay.id] ?? [] {
                guard let target = places[ending.stay], target > place else { continue }
                var end = over[ending.stay] ?? End(author: stay.device)
                end.authors.append(stay.id)
                end.last =
                    end.last.map { known in
                        known.filter { ending.last[$0.key] != nil }.merging(ending.last) { min($0, $1) }
                            .filter { known[$0.key] != nil }
                    } ?? ending.last
                over[ending.stay] = end
            }
        }
        return over
    }

    /// Of these stays, in their order, the one of each device whose parent was there first.
    func counted(among stays: [Stay]) -> [DeviceKey: ID] {
        var best: [DeviceKey: (parent: Int, id: ID)] = [:]
        for stay in stays {
            let parent = stay.id == .founder ? -1 : places[stay.parent] ?? .max
            guard best[stay.device].map({ parent < $0.parent }) ?? true else { continue }
            best[stay.device] = (parent, stay.id)
        }
        return best.mapValues(\.id)
    }

    /// The devices in their turns: each stay's part of the tree begins with its own device, then come those whom it has let
    /// in, one of each part in turn, the parts in the order of stays. A device with several stays takes the first of its turns.
    func inTurn(_ devices: Set<DeviceKey>, _ over: [ID: End]) -> [DeviceKey] {
        let open = stays.filter { over[$0.id] == nil }
        let children = Dictionary(grouping: open.filter { $0.id != .founder }, by: \.parent)
        var parts: [ID: [DeviceKey]] = [:]
        // Whom somebody has let in comes after it.
        for stay in open.reversed() {
            var part = devices.contains(stay.device) ? [stay.device] : []
            let below = (children[stay.id] ?? []).compactMap { parts.removeValue(forKey: $0.id) }
            for turn in 0..<(below.map(\.count).max() ?? 0) {
                part += below.compactMap { turn < $0.count ? $0[turn] : nil }
            }
            if !part.isEmpty { parts[stay.id] = part }
        }
        var found: Set<DeviceKey> = []
        return (parts[.founder] ?? []).filter { found.insert($0).inserted }
    }

    /// The stays, and all that were begun in them, and so on.
    func below(_ stays: [ID]) -> Set<ID> {
        var found = Set(stays)
        for stay in self.stays where stay.id != .founder && found.contains(stay.parent) { found.insert(stay.id) }
        return found
    }

    /// Of the statements by which stays are over.
    func endingsDigest(_ over: [ID: End]) -> UInt64 {
        var hash = SHA256()
        var isEmpty = true
        for known in known.sorted(by: { $0.id < $1.id }) {
            guard case .putOut(let endings) = known.statement.content,
                endings.contains(where: { over[$0.stay]?.authors.contains(known.statement.stay) == true })
            else { continue }
            hash.update(data: known.id.bytes)
            isEmpty = false
        }
        return isEmpty ? 0 : hash.finalize().prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
