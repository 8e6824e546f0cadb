import BeamMedia

/// Who belongs to a room of equals, by what its members have said.
///
/// Nobody keeps the list: each member has a set of signed statements, and whoever has the same set comes to the same
/// result, in whatever order they came. A device belongs to the room if a member has let it in, and no member that was
/// there before it has put it out. What a member said after it was put out doesn't count: it lets nobody in any more.
///
/// *There before* is an order of stays: the founder is first, then the time of the admission decides, then its ID. A stay
/// is always after that of who has let the device in, whatever time is told. So two members can't put each other out, and
/// who tells a wrong time can't put out anybody whom he couldn't put out himself.
struct Membership: Sendable {
    struct Person: Sendable, Hashable {
        var device: DeviceKey
        var publicKey: [UInt8]
        /// As it called itself when it was let in. Not unique.
        var name: String
        var era: UInt8
        /// The place in the order of stays; 0 is first.
        var rank: Int
    }

    enum Rejection: Error, Hashable {
        /// Its author is none of the room's, or was none any more when it said that. It isn't an offence to pass it on.
        case notCounted
        case signature
        case full
    }

    /// A statement, and what takes time to find out about it.
    private struct Known {
        var statement: MembershipStatement
        var id: MembershipStatement.ID
        /// Who has been let in.
        var admitted: DeviceKey?
        var bytes: Int
    }

    let room: [UInt8]
    private let signing: RoomSigning
    /// Those that count, in an order in which each can be checked after those before it.
    private var known: [Known] = []
    private var ids: Set<MembershipStatement.ID> = []
    private var bytes = 0
    private(set) var roomName = ""
    /// Who belongs to the room now, in the order of stays.
    private(set) var people: [Person] = []
    /// Everybody who has been let in at some time, and their names: their entries are history.
    private(set) var everybody: [DeviceKey: String] = [:]
    /// Their public keys.
    private var authors: Set<[UInt8]> = []
    /// Those of them that were put out, and by whom.
    private(set) var putOut: [DeviceKey: DeviceKey] = [:]

    init(room: [UInt8], signing: RoomSigning) {
        self.room = room
        self.signing = signing
    }

    /// The statements that count, in an order in which each can be checked after those before it.
    var statements: [MembershipStatement] { known.map(\.statement) }

    func person(_ device: DeviceKey) -> Person? { people.first { $0.device == device } }

    func belongs(_ device: DeviceKey) -> Bool { person(device) != nil }

    /// The era that a new stay of the device gets: the one after the last, or the present one.
    func nextEra(of device: DeviceKey) -> UInt8 {
        if let person = person(device) { return person.era }
        let eras = known.compactMap { known -> UInt8? in
            switch known.statement.content {
            case .admitted(_, _, let era): known.admitted == device ? era : nil
            case .putOut(let target, let era, _): target == device ? era : nil
            case .founded: nil
            }
        }
        return eras.max().map { $0 == .max ? $0 : $0 + 1 } ?? 0
    }

    /// What the device has said in its present stay, as far as it counts.
    func statements(of device: DeviceKey) -> [MembershipStatement.ID] {
        guard let person = person(device) else { return [] }
        return known.filter { $0.statement.publicKey == person.publicKey && $0.statement.era == person.era }.map(\.id)
    }

    /// Whether `author` was there before `device`.
    func mayPutOut(_ device: DeviceKey, by author: DeviceKey) -> Bool {
        guard let one = person(author), let other = person(device) else { return false }
        return one.rank < other.rank
    }

    // MARK: Adding

    /// Adds a statement. Returns whether it is new.
    mutating func add(_ statement: MembershipStatement) throws(Rejection) -> Bool {
        let id = statement.id(room: room)
        guard !ids.contains(id) else { return false }
        let size = statement.bytes.count
        guard known.count < MeshLimits.statements, bytes + size <= MeshLimits.statementBytes,
            known.count(where: { $0.statement.publicKey == statement.publicKey }) < MeshLimits.statementsPerAuthor
        else { throw .full }
        // What nobody of the room says costs nothing more.
        guard statement.isFounding || authors.contains(statement.publicKey) else { throw .notCounted }
        var admitted: DeviceKey?
        if case .admitted(let key, _, _) = statement.content {
            admitted = signing.device(key)
            guard admitted != nil else { throw .notCounted }
        }
        // Whether it would count is found out before the signature, which costs time, is checked.
        var next = self
        next.known.append(Known(statement: statement, id: id, admitted: admitted, bytes: size))
        next.evaluate()
        guard next.ids.contains(id) else { throw .notCounted }
        guard signing.verify(statement.signature, statement.signed(room: room), statement.publicKey) else {
            throw .signature
        }
        self = next
        return true
    }

    // MARK: Who belongs to the room

    /// A device's stay in the room.
    private struct Stay: Hashable {
        var device: DeviceKey
        var era: UInt8
    }

    private struct Rank: Comparable {
        /// When it was let in; later than who has let it in.
        var milliseconds: UInt64
        var id: [UInt8]

        static func < (one: Rank, other: Rank) -> Bool {
            one.milliseconds == other.milliseconds
                ? one.id.lexicographicallyPrecedes(other.id) : one.milliseconds < other.milliseconds
        }
    }

    private struct Candidate {
        var stay: Stay
        var rank: Rank
        var publicKey: [UInt8]
        var name: String
    }

    private struct Verdict {
        var author: DeviceKey
        var era: UInt8
        var kept: Set<MembershipStatement.ID>
    }

    /// Goes through the stays in their order. Everything that can end one was said by somebody before it, so one pass is
    /// enough.
    private mutating func evaluate() {
        let founding = founding
        roomName = founding?.room ?? ""
        var waiting = founding.map { [$0.candidate] } ?? []
        var done: Set<Stay> = []
        var verdicts: [DeviceKey: [Verdict]] = [:]
        var order: [(Candidate, isOver: Bool)] = []
        var counted: [Known] = []
        let said = Dictionary(grouping: known) { $0.statement.publicKey }
        while let next = waiting.indices.min(by: { waiting[$0].rank < waiting[$1].rank }) {
            let candidate = waiting.remove(at: next)
            let stay = candidate.stay
            guard done.insert(stay).inserted else { continue }
            let ends = verdicts[stay.device, default: []].filter { $0.era >= stay.era }
            order.append((candidate, isOver: !ends.isEmpty))
            for known in said[candidate.publicKey, default: []] where known.statement.era == stay.era {
                guard ends.allSatisfy({ $0.kept.contains(known.id) }) else { continue }
                switch known.statement.content {
                case .founded(let nonce, _, _):
                    guard MembershipStatement.room(founder: stay.device, nonce: nonce) == room else { continue }
                case .admitted(let key, let name, let era):
                    guard let device = known.admitted, device != stay.device else { continue }
                    let (after, isLast) = candidate.rank.milliseconds.addingReportingOverflow(1)
                    guard !isLast else { continue }
                    let rank = Rank(milliseconds: max(known.statement.milliseconds, after), id: known.id.bytes)
                    waiting.append(
                        Candidate(stay: Stay(device: device, era: era), rank: rank, publicKey: key, name: name))
                case .putOut(let device, let era, let kept):
                    // Not of those who were there before.
                    guard !order.contains(where: { $0.0.stay.device == device && !$0.isOver }) else { continue }
                    verdicts[device, default: []].append(Verdict(author: stay.device, era: era, kept: Set(kept)))
                }
                counted.append(known)
            }
        }
        finish(order, counted, verdicts)
    }

    private mutating func finish(
        _ order: [(Candidate, isOver: Bool)], _ counted: [Known], _ verdicts: [DeviceKey: [Verdict]]
    ) {
        people = []
        everybody = [:]
        authors = Set(order.map(\.0.publicKey))
        putOut = [:]
        for (candidate, isOver) in order {
            let device = candidate.stay.device
            everybody[device] = candidate.name
            if isOver {
                if person(device) == nil { putOut[device] = verdicts[device]?.last?.author }
            } else if person(device) == nil {
                putOut[device] = nil
                people.append(
                    Person(
                        device: device, publicKey: candidate.publicKey, name: candidate.name,
                        era: candidate.stay.era, rank: people.count))
            }
        }
        known = counted
        ids = Set(counted.map(\.id))
        bytes = counted.reduce(0) { $0 + $1.bytes }
    }

    /// The founder's stay; nil while the founding statement isn't there. (If the founder has said it with several names,
    /// the one with the lowest ID counts everywhere.)
    private var founding: (candidate: Candidate, room: String)? {
        let valid = known.filter {
            guard case .founded(let nonce, _, _) = $0.statement.content,
                let device = signing.device($0.statement.publicKey)
            else { return false }
            return MembershipStatement.room(founder: device, nonce: nonce) == room
        }
        guard let first = valid.min(by: { $0.id.bytes.lexicographicallyPrecedes($1.id.bytes) }),
            let device = signing.device(first.statement.publicKey),
            case .founded(_, let roomName, let name) = first.statement.content
        else { return nil }
        return (
            Candidate(
                stay: Stay(device: device, era: 0), rank: Rank(milliseconds: 0, id: []),
                publicKey: first.statement.publicKey, name: name),
            roomName
        )
    }
}
