import BeamMedia
import BeamWire

/// A member of a room of equals, without I/O: whom it is linked to, who belongs to the room and is here, and the log that
/// all of them write.
///
/// Each pair of members has one link (a version 2 control connection). What one of two doesn't have is sent by the other,
/// whoever has written it: so everything reaches everybody who is linked to anybody. A room whose network splits goes on
/// as two, and heals by the same exchange.
///
/// Call a method for each thing that happens, then `settle`, then `pollOutput` until it returns nil; call `settle` again at
/// `deadline`.
struct Mesh: Sendable {
    package struct Configuration: Sendable {
        package var own: DeviceKey
        /// Shown beside what this device writes, if it founds the room; otherwise what it said when it was let in.
        package var name: String
        package var signing: LogSigning
        package var sealing: MeshSealing
        /// What this device makes if the room has no code for newcomers.
        package var code = HostCode.none
        /// Somebody is asked here about newcomers.
        package var asksPerson = false

        package init(
            own: DeviceKey, name: String, signing: LogSigning, sealing: MeshSealing, code: HostCode = HostCode.none,
            asksPerson: Bool = false
        ) {
            self.own = own
            self.name = name
            self.signing = signing
            self.sealing = sealing
            self.code = code
            self.asksPerson = asksPerson
        }
    }

    let configuration: Configuration
    /// Where this device's control port can be reached.
    private(set) var addresses: [NetworkAddress] = []
    /// Nil before a room was founded or entered.
    var membership: Membership?
    /// What members call themselves.
    private var saidNames: [DeviceKey: String] = [:]
    /// In which this device says what it says of the membership: that by which it has come here, as long as that isn't
    /// over. Others may have let it in, too, and could take along what is said there.
    private(set) var stay: Membership.ID?
    /// The log. Its members are the links' peers, in the same order.
    var exchange: LogExchange
    var random: any RandomNumberGenerator & Sendable
    var links: [Link] = []
    var dials: [DeviceKey: Dial] = [:] { didSet { dialsDue = .distantPast } }
    /// When `settleDials` has something to do; in the past if the dials have changed.
    var dialsDue = MediaTime.distantPast
    var dialRate = TokenBucket(
        capacity: MeshLimits.burstDials, bitsPerSecond: MeshLimits.dialsPerSecond * 8)
    /// Of those who belong to the room.
    var histories: [DeviceKey: LinkHistory] = [:]
    /// The time that all others may take.
    var strangers = LinkBudget.ofStrangers
    /// Members that are too many here, until they are told so.
    var displaced: Set<DeviceKey> = []
    /// The newest of each member, and when it came.
    var statuses: [DeviceKey: MemberStatus] = [:]
    var statusTimes: [DeviceKey: MediaTime] = [:]
    /// When the first present member counts as silent; nil: nobody else is here.
    var staleness: MediaTime?
    var ownStatus = OwnStatus()
    /// Who is here, this device included, in the order of stays; and the number of links to each.
    var present: [Membership.Person] = []
    var hops: [DeviceKey: Int] = [:]
    /// How much each device has written, whoever has brought it.
    var budgets: [DeviceKey: AuthorRate] = [:]
    var lateStarts: [LogAuthor: LateStart] = [:]
    var refills: [LogAuthor: LogRefill] = [:]
    var catchUp = CatchUp()
    /// This device's messages, and the programs of those who are here that have yet to get them.
    var deliveries = MessageDeliveries<LogAuthor>()
    var codes: CodeKeeping
    var questions = QuestionKeeping()
    var outputs = OutputQueue<Output>()
    /// When to call `settle` at the latest.
    var deadline = MediaTime.distantFuture
    private(set) var isEnded = false
    /// The peer through which this device enters, while it is in no room.
    private(set) var entrance: DeviceKey?
    /// Grows whenever something changes that a member keeps of its room.
    private(set) var keepsakes = 0
    /// What was reported of the people last, and whether that may have changed.
    private(set) var reported: [MeshPerson] = []
    private var mayHaveChanged = false
    /// Members that were lost a moment ago, and since when.
    var absences: [DeviceKey: MediaTime] = [:]

    init(_ configuration: Configuration, random: any RandomNumberGenerator & Sendable) {
        self.configuration = configuration
        exchange = LogExchange(
            LogExchange.Configuration(
                role: .equal, own: configuration.own, name: configuration.name, signing: configuration.signing,
                sealing: configuration.sealing),
            random: random)
        self.random = exchange.random
        codes = CodeKeeping(configuration.code)
    }

    /// Of this device's log.
    var own: LogAuthor { exchange.own }

    /// Since the room began.
    func age(now: MediaTime) -> Duration { exchange.age(now: now) }

    func name(of device: DeviceKey) -> String { exchange.name(of: device) }

    func index(of id: MeshLinkID) -> Int? { links.firstIndex { $0.id == id } }

    mutating func pollOutput() -> Output? { outputs.popFirst() }

    /// This device can be reached at other addresses.
    mutating func setAddresses(_ addresses: [NetworkAddress], now: MediaTime) {
        let addresses = Array(addresses.prefix(MeshLimits.statusAddresses))
        guard addresses != self.addresses else { return }
        self.addresses = addresses
        ownStatus.isDirty = true
    }

    /// What this device keeps of the room; nil before it has one.
    func kept(now: MediaTime) -> KeptRoom? {
        membership.map { membership in
            KeptRoom(
                id: membership.room, name: membership.roomName, statements: membership.statements.map(\.bytes),
                age: age(now: now), addresses: statuses.filter { $0.key != own.device }.mapValues(\.addresses))
        }
    }

    mutating func changedKeepsake() { keepsakes += 1 }

    // MARK: A room begins

    /// Makes a room. `name` is that of the room.
    mutating func found(_ name: String, now: MediaTime) {
        guard membership == nil else { return }
        let nonce = (0..<MembershipStatement.nonceLength).map { _ in UInt8.random(in: 0...255, using: &random) }
        let room = MembershipStatement.room(founder: own.device, nonce: nonce)
        var membership = Membership(room: room, signing: configuration.signing)
        say(
            .founded(nonce: nonce, room: PeerText.name(name), name: PeerText.name(configuration.name)),
            stay: .founder, in: &membership, now: now)
        begin(membership, since: now, isNew: true, now: now)
    }

    /// The room that `device` is in is to be entered; it has let this device in.
    mutating func enter(through device: DeviceKey) { entrance = device }

    /// A room that this device was in before, by what it has kept of it.
    mutating func resume(room: [UInt8], statements: [MembershipStatement], age: Duration, now: MediaTime) {
        guard self.membership == nil else { return }
        var membership = Membership(room: room, signing: configuration.signing)
        _ = try? membership.add(statements)
        guard membership.belongs(own.device) else { return }
        stay = membership.lastSpoken(by: own.device)
        codes.usesOwn = true
        begin(membership, since: now - age, now: now)
    }

    /// A room that this device is let into, by the greeting of its entrance. False: it isn't.
    mutating func enterRoom(_ greeting: MeshMessage.Greeting, _ index: Int, now: MediaTime) -> Bool {
        var membership = Membership(room: greeting.room, signing: configuration.signing)
        _ = try? membership.add(greeting.statements)
        guard membership.belongs(own.device), membership.belongs(links[index].device) else {
            violated(index, "its room doesn't know this device", now: now)
            return false
        }
        let age = Duration.milliseconds(Int64(clamping: min(greeting.age, LogExchange.longestAge)))
        exchange.history = greeting.has.mapValues(\.last)
        stay = membership.stay(of: own.device, begunBy: links[index].device)
        entrance = nil
        begin(membership, since: now - age, now: now)
        return true
    }

    private mutating func begin(
        _ membership: Membership, since began: MediaTime, isNew: Bool = false, now: MediaTime
    ) {
        self.membership = membership
        saidNames[own.device] = PeerText.name(configuration.name)
        exchange.begin(membership.room, began: began)
        passOn(now: now)
        outputs.append(.event(.entered(room: membership.roomName)))
        if configuration.asksPerson { ownStatus.flags.insert(.asksPerson) }
        catchUpBegan(isNew: isNew, now: now)
        membershipChanged(now: now)
        codeBegan(isNew: isNew, now: now)
    }

    // MARK: Who belongs to the room

    /// This device has paired with somebody by code or comparison, and lets it in: vouches for it to everybody.
    mutating func admit(publicKey: [UInt8], name: String, now: MediaTime) throws(MeshRefusal) {
        guard let device = configuration.signing.device(publicKey), let membership, !isEnded else { throw .noRoom }
        guard present.count < MeshLimits.members || present.contains(where: { $0.device == device }) else {
            throw .full
        }
        // Who belongs to the room only by another's word would go with that one.
        guard !membership.hasLetIn(device, in: stay) else { return }
        let isSaid = speak([.admitted(publicKey: publicKey, name: PeerText.name(name))], now: now)
        guard isSaid || membership.belongs(device) else { throw .tooManyChanges }
        for index in links.indices where links[index].device == device { greet(index, now: now) }
    }

    mutating func membershipChanged(now: MediaTime) {
        guard let membership else { return }
        saidNames = saidNames.filter { membership.everybody[$0.key] != nil }
        exchange.names.replace(with: membership.everybody.merging(saidNames) { $1 })
        exchange.people = Set(membership.people.map(\.device))
        stay = membership.stay(of: own.device, before: stay)
        if !membership.belongs(own.device) { return lostPlace(membership) }
        for device in statuses.keys where !membership.belongs(device) { statuses[device] = nil }
        for link in links where link.isUp && !membership.belongs(link.device) {
            close(link.id, .notAMember, now: now)
        }
        for device in dials.keys where !membership.belongs(device) { dials[device] = nil }
        for device in histories.keys where !membership.belongs(device) { histories[device] = nil }
        for person in membership.people where person.device != own.device && dials[person.device] == nil {
            let isCaller = Self.dials(own.device, person.device)
            dials[person.device] = Dial(next: isCaller ? now : now + MeshLimits.dialGrace)
        }
        ownStatus.isDirty = true
        catchUp.isDirty = true
        keepsakes += 1
        updatePresence(now: now)
        codeMembershipChanged(now: now)
    }

    /// A member says what it is called.
    mutating func call(_ device: DeviceKey, _ name: String) {
        guard saidNames[device] != name else { return }
        saidNames[device] = name
        exchange.names[device] = name
    }

    // MARK: The end

    /// The program ends: says so, and closes all links.
    mutating func leave(now: MediaTime) {
        guard !isEnded, !ownStatus.flags.contains(.isLeaving) else { return }
        ownStatus.flags.insert(.isLeaving)
        ownStatus.flags.remove(.isSharing)
        exchange.endPauses()
        settle(now: now)
        publish(now: now)
        for index in links.indices where links[index].isUp {
            links[index].nextStatuses = now
            _ = sendStatuses(index, now: now)
        }
        end()
    }

    mutating func end() {
        isEnded = true
        for link in links { outputs.append(.close(link.id, .left)) }
        links = []
        exchange.end()
        dials = [:]
        deadline = .distantFuture
    }

    // MARK: Time

    /// Sends what is due, and notices who has fallen silent.
    mutating func settle(now: MediaTime) {
        guard !isEnded else { return }
        var next = settleHolds(now: now)
        for link in links where link.heldUntil == nil && link.lastHeard + MeshLimits.silence <= now {
            close(link.id, .silent, now: now)
        }
        for link in links where !link.isUp && link.opened + MeshLimits.greetingTimeout <= now {
            close(link.id, .silent, now: now)
        }
        next = min(next, settleDials(now: now))
        if let time = staleness, time <= now { updatePresence(now: now) }
        next = min(next, settleCode(now: now), settleHistory(now: now), settleRefills(now: now))
        settleQuestions(now: now)
        if membership != nil, ownStatus.due(now: now) <= now { publish(now: now) }
        dismissDisplaced(now: now)
        guard !isEnded else { return }
        if membership != nil { next = min(next, ownStatus.due(now: now), staleness ?? .distantFuture) }
        for id in links.map(\.id) {
            guard let index = index(of: id) else { continue }
            if links[index].heldUntil == nil { next = min(next, links[index].lastHeard + MeshLimits.silence) }
            guard links[index].isUp else {
                next = min(next, links[index].opened + MeshLimits.greetingTimeout)
                continue
            }
            next = min(next, serve(index, now: now))
            // It may have been closed.
            guard let index = self.index(of: id) else { continue }
            if links[index].lastSent + MeshLimits.signOfLife <= now { send(.mesh(.alive), index, now: now) }
            next = min(next, links[index].lastSent + MeshLimits.signOfLife)
        }
        if mayHaveChanged || absences.values.contains(where: { $0 + MeshLimits.absenceGrace <= now }) {
            mayHaveChanged = false
            let people = shownPeople(now: now)
            for person in reported { report(putOut: person.device) }
            if people != reported { outputs.append(.event(.people(people))) }
            reported = people
        }
        next = absences.values.reduce(next) { min($0, $1 + MeshLimits.absenceGrace) }
        deadline = isEnded ? .distantFuture : next
    }

    private mutating func report(putOut device: DeviceKey) {
        guard let membership, !membership.belongs(device), let author = membership.putOut[device] else { return }
        outputs.append(.event(.memberPutOut(device, by: author, name: name(of: author))))
    }

    mutating func peopleChanged() { mayHaveChanged = true }
}
