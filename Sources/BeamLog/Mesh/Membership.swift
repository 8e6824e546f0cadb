import BeamMedia
import BeamWire

/// Who belongs to a room of equals, by what its members have said.
///
/// Nobody keeps the list: each member has a set of signed statements. An admission begins a *stay* of a device, which its
/// ID names; what a device says as a member names the stay in which it says it. So all statements form a tree
/// (`MembershipTree`), with the founder's stay as its root. A device belongs to the room if one of its stays isn't over. A
/// stay is over if a member that was there before it has ended it, or if the stay of its inviter is over.
///
/// What is guaranteed, whatever members sign and in whatever order it arrives:
///
/// 1. *The result depends on the set alone.* Which statements have room is found by their places in the tree's order
///    (`MembershipTree.order`), and who belongs to the room by those that have. A further statement moves others only
///    towards the end of that order, and what lies beyond the end changes nothing before it. So what once had no room has
///    none in a larger set, either: it may be forgotten, and whoever has been sent all that another has room for, and
///    the other way round, has the same statements and the same people.
/// 2. *Nobody ends a stay that was there before his own.* Stays are ordered by the time of the admission, then by its ID;
///    a stay is always after that of who has let the device in, whatever time is told. So two members can't put each other
///    out, who tells a wrong time can't put out anybody whom he couldn't put out himself, and one pass in this order
///    finds out who belongs to the room.
/// 3. *What is said in a stay that is over has no effect*, whenever it was said: nothing of it has to be told from what was
///    said before. Who puts a member out says again, in its own name, what is to stay of what that member had said
///    (`Mesh.putOut`).
/// 4. *Everybody finds room.* What a member says comes before what the tree of people says whom it has let in; those
///    trees take turns, one statement each. So a member fills, with all that it lets in, only what the others don't need,
///    also after it was put out. A putting out comes before all admissions of its author.
/// 5. *Nobody is banned*: an ending names an admission that exists. One that doesn't ends nothing, and takes room only
///    among its author's own.
struct Membership: Sendable {
    typealias ID = MembershipStatement.ID

    struct Person: Sendable, Hashable {
        var device: DeviceKey
        var publicKey: [UInt8]
        /// As it was called when it was let in. Not unique.
        var name: String
        /// Of its stays that aren't over, that by the word of who was there first: nobody who came later gives it another
        /// name, or another place, by letting it in again.
        var stay: ID
        /// The place in the order of stays; 0 is first.
        var rank: Int
    }

    enum Rejection: Error, Hashable {
        /// No member of the room says that, or there is no room for it. It isn't an offence to pass it on.
        case notCounted
        case signature
    }

    let room: [UInt8]
    private let signing: LogSigning
    private var tree: MembershipTree
    private(set) var roomName = ""
    /// Who belongs to the room now, in the order of stays.
    private(set) var people: [Person] = []
    /// Everybody who has been let in at some time, and their names: their entries are history.
    private(set) var everybody: [DeviceKey: String] = [:]
    /// Those of them that don't belong to the room any more, and by whose word.
    private(set) var putOut: [DeviceKey: DeviceKey] = [:]
    /// Changes whenever somebody is put out; 0: nobody was. A member that was put out may know what was agreed on before.
    private(set) var endingsDigest: UInt64 = 0
    /// How often the whole set was gone through: what costs time.
    private(set) var evaluations = 0
    private var over: [ID: MembershipTree.End] = [:]

    /// - Parameter capacity: of statements beside the founding; the same at all members.
    init(room: [UInt8], signing: LogSigning, capacity: Int = MeshLimits.statements) {
        self.room = room
        self.signing = signing
        tree = MembershipTree(room: room, capacity: capacity)
    }

    /// The statements that have room, in an order in which each can be checked after those before it.
    var statements: [MembershipStatement] { tree.known.map(\.statement) }

    func person(_ device: DeviceKey) -> Person? { people.first { $0.device == device } }

    func belongs(_ device: DeviceKey) -> Bool { person(device) != nil }

    /// Whether what is said in this stay can end all stays of `device`.
    func mayPutOut(_ device: DeviceKey, in stay: ID) -> Bool {
        guard let place = tree.place(of: stay), over[stay] == nil else { return false }
        return openStays(of: device).allSatisfy { tree.place(of: $0) ?? 0 > place }
    }

    /// Up to which number each run of a device's log was known to who put the device out. If several have, the least
    /// number counts, of runs that all of them name. Empty if it belongs to the room, or nobody has said.
    func lastEntries(of device: DeviceKey) -> [UInt64: UInt32] {
        guard !belongs(device) else { return [:] }
        return tree.stays(of: device).compactMap { over[$0.id]?.last }.reduce(into: [:]) {
            $0.merge($1) { max($0, $1) }
        }
    }

    /// Whether the device has been let in by what was said in this stay.
    func hasLetIn(_ device: DeviceKey, in stay: ID?) -> Bool {
        openStays(of: device).contains { $0 != .founder && tree.stay($0)?.parent == stay }
    }

    // MARK: In which stay a device speaks

    /// The stay `before`, or if that is over the one that counts.
    func stay(of device: DeviceKey, before: ID?) -> ID? {
        if let before, over[before] == nil, tree.stay(before)?.device == device { return before }
        return person(device)?.stay
    }

    /// That which `host` has begun; nil: it hasn't begun one.
    func stay(of device: DeviceKey, begunBy host: DeviceKey) -> ID? {
        openStays(of: device).first { stay in
            tree.stay(stay).flatMap { tree.stay($0.parent) }?.device == host
        }
    }

    /// That in which it has said something last, and which isn't over; nil: there is none.
    func lastSpoken(by device: DeviceKey) -> ID? {
        let open = openStays(of: device)
        return statements.filter { open.contains($0.stay) }.max { $0.milliseconds < $1.milliseconds }?.stay
    }

    // MARK: Places

    /// The devices in the order in which there is a place for them: first whom the founder has let in, with a turn for each
    /// of them and those behind it. Who lets in many fills only what the others leave, whatever times it tells.
    func inTurn(_ devices: [DeviceKey]) -> [DeviceKey] { tree.inTurn(Set(devices), over) }

    // MARK: Adding

    /// Adds a statement. Returns whether it is new.
    mutating func add(_ statement: MembershipStatement) throws(Rejection) -> Bool {
        if tree.contains(statement) { return false }
        guard try !add([statement]).isEmpty else { throw .notCounted }
        return true
    }

    /// Adds statements, in any order. Returns those that are new and have room. Those that have none, or that nobody of the
    /// room has said, are left out.
    ///
    /// - Throws: `signature` if one that would have room isn't its author's; nothing is added then.
    mutating func add(_ statements: [MembershipStatement]) throws(Rejection) -> [MembershipStatement] {
        var next = tree
        // Known ones are recognised before anything is worked out or checked.
        guard next.include(statements, signing) else { return [] }
        evaluations += 1
        next.order()
        let added = next.known.filter { !tree.contains($0.id) }
        for new in added {
            let statement = new.statement
            guard signing.verify(statement.signature, statement.signed(room: room), statement.publicKey) else {
                throw .signature
            }
        }
        guard !added.isEmpty else { return [] }
        tree = next
        evaluate()
        return added.map(\.statement)
    }

    // MARK: Who belongs to the room

    private mutating func evaluate() {
        over = tree.ends()
        roomName = tree.roomName
        people = []
        everybody = [:]
        putOut = [:]
        let counted = tree.counted(among: tree.stays.filter { over[$0.id] == nil })
        let named = tree.counted(among: tree.stays)
        for stay in tree.stays {
            if named[stay.device] == stay.id { everybody[stay.device] = stay.name }
            guard counted[stay.device] == stay.id else { continue }
            people.append(
                Person(
                    device: stay.device, publicKey: stay.publicKey, name: stay.name, stay: stay.id,
                    rank: people.count))
        }
        for person in people { everybody[person.device] = person.name }
        for stay in tree.stays where !belongs(stay.device) { putOut[stay.device] = over[stay.id]?.author }
        endingsDigest = tree.endingsDigest(over)
    }

    // MARK: What who puts somebody out says again

    /// The stays of the device that `author` can end: those that aren't over.
    func openStays(of device: DeviceKey) -> [ID] {
        tree.stays(of: device).map(\.id).filter { over[$0] == nil }
    }

    /// Who belongs to the room only because `device` has let it in, or somebody whom it has let in, in the order of stays.
    func letIn(by device: DeviceKey) -> [Person] {
        let lost = tree.below(openStays(of: device))
        return people.filter { person in
            person.device != device && openStays(of: person.device).allSatisfy(lost.contains)
        }
    }

    /// The time of the stay, by which it is ordered.
    func milliseconds(of stay: ID) -> UInt64? { tree.stay(stay)?.rank.milliseconds }

    /// Endings by `device`, and by those whom it has let in, of stays that nobody else has ended: they lose their effect
    /// when `device` is put out.
    func endings(onlyBy device: DeviceKey) -> [MembershipStatement.Ending] {
        let lost = tree.below(openStays(of: device))
        return tree.stays.compactMap { stay in
            guard !lost.contains(stay.id), let end = over[stay.id], !end.authors.isEmpty,
                end.authors.allSatisfy(lost.contains)
            else { return nil }
            return MembershipStatement.Ending(stay: stay.id, last: end.last ?? [:])
        }
    }

    /// Whom the device has let in in stays that are over, and who belongs to the room no more for no other reason than
    /// that: nobody has put it out by name.
    func lost(by device: DeviceKey) -> [MembershipTree.Stay] {
        let mine = Set(tree.stays(of: device).map(\.id).filter { over[$0] != nil })
        var found: Set<DeviceKey> = []
        return tree.stays.filter { stay in
            mine.contains(stay.parent) && !belongs(stay.device)
                && tree.stays(of: stay.device).allSatisfy { over[$0.id]?.authors.isEmpty ?? true }
                && found.insert(stay.device).inserted
        }
    }
}
