import BeamMedia

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
    struct Configuration: Sendable {
        var own: DeviceKey
        /// Shown beside what this device writes, if it founds the room; otherwise what it said when it was let in.
        var name: String
        var signing: LogSigning
        var sealing: MeshSealing
        /// What this device makes if the room has no code for newcomers.
        var code = HostCode.none
        /// Somebody is asked here about newcomers.
        var asksPerson = false
    }

    /// A connection to a member, or to somebody who may be one.
    struct Link: Sendable {
        let id: MeshLinkID
        let device: DeviceKey
        /// This device has dialled.
        let isOutgoing: Bool
        let opened: MediaTime
        var lastHeard: MediaTime
        var lastSent: MediaTime
        /// This device has sent its greeting.
        var hasGreeted = false
        /// Entries in both directions; it is greeted when the peer's greeting has come.
        var entries = LogLink()
        /// Of the peer's own log.
        var run: UInt64 = 0
        /// The newest status of each member that the peer has, or was sent.
        var statuses: [DeviceKey: UInt64] = [:]
        var nextStatuses = MediaTime.distantPast
        /// What it says of the code.
        var codeRate = MessageRate()
        /// It isn't read until then, because it has used up its budget.
        var heldUntil: MediaTime?
        var isUp: Bool { hasGreeted && entries.isGreeted }
    }

    /// Trying to reach a member.
    struct Dial: Sendable {
        var failures = 0
        var next: MediaTime
        var isUnderWay = false
        /// When the member appeared last, so that it was dialled soon.
        var appeared = MediaTime.distantPast
    }

    let configuration: Configuration
    /// Where this device's control port can be reached.
    private(set) var addresses: [NetworkAddress] = []
    /// Nil before a room was founded or entered.
    var membership: Membership?
    /// Of everybody who has been a member.
    private(set) var names = MemberNames()
    /// What they call themselves.
    private var saidNames: [DeviceKey: String] = [:]
    /// In which this device says what it says of the membership: that by which it has come here, as long as that isn't
    /// over. Others may have let it in, too, and could take along what is said there.
    private(set) var stay: Membership.ID?
    var log: LogStore
    /// Of this device's log.
    let own: LogAuthor
    var random: any RandomNumberGenerator & Sendable
    /// When the room began, by this machine's clock.
    private(set) var began = MediaTime.zero
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
    /// When somebody who is here will have been silent for too long; nil: nobody else is here.
    var staleness: MediaTime?
    var ownStatus = OwnStatus()
    /// Who is here, this device included, in the order of stays; and the number of links to each.
    var present: [Membership.Person] = []
    var hops: [DeviceKey: Int] = [:]
    /// How much each device has sent that costs this one, and how much it has written, whoever has brought it.
    var rates: [DeviceKey: AuthorRate] = [:]
    var budgets: [DeviceKey: AuthorRate] = [:]
    var forks = ForkKeeping()
    var lateStarts: [LogAuthor: LateStart] = [:]
    var refills: [LogAuthor: LogRefill] = [:]
    var catchUp = CatchUp()
    var partials = LogPartials()
    /// What was written before this device came: its messages aren't for it.
    var history: [LogAuthor: UInt32] = [:]
    var messages = MeshDeliveries()
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
        var random = random
        self.configuration = configuration
        own = LogAuthor(device: configuration.own, run: random.next())
        self.random = random
        codes = CodeKeeping(configuration.code)
        log = LogStore(room: [], signing: configuration.signing)
    }

    /// Since the room began.
    func age(now: MediaTime) -> Duration { max(.zero, now - began) }

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
        began = now
        var membership = Membership(room: room, signing: configuration.signing)
        say(
            .founded(nonce: nonce, room: PeerText.name(name), name: PeerText.name(configuration.name)),
            stay: .founder, in: &membership, now: now)
        begin(membership, isNew: true, now: now)
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
        began = now - age
        codes.usesOwn = true
        begin(membership, now: now)
    }

    private mutating func begin(_ membership: Membership, isNew: Bool = false, now: MediaTime) {
        self.membership = membership
        saidNames[own.device] = PeerText.name(configuration.name)
        log = LogStore(room: membership.room, signing: configuration.signing)
        log.presentAuthors = [own]
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
        names.replace(with: membership.everybody.merging(saidNames) { $1 })
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
        names[device] = name
    }

    // MARK: The end

    /// The program ends: says so, and closes all links.
    mutating func leave(now: MediaTime) {
        guard !isEnded, !ownStatus.flags.contains(.isLeaving) else { return }
        ownStatus.flags.insert(.isLeaving)
        ownStatus.flags.remove(.isSharing)
        for index in links.indices { links[index].entries.endPause() }
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
        dials = [:]
        deadline = .distantFuture
    }

    // MARK: Links

    /// The member with the lower key dials.
    static func dials(_ one: DeviceKey, _ other: DeviceKey) -> Bool {
        one.bytes.lexicographicallyPrecedes(other.bytes)
    }

    /// A connection is secured; its peer has proved that it holds this key.
    mutating func opened(_ id: MeshLinkID, device: DeviceKey, isOutgoing: Bool, now: MediaTime) {
        guard !isEnded, device != own.device else { return outputs.append(.close(id, .notAMember)) }
        dials[device]?.isUnderWay = false
        if turnsAway(id, device, isOutgoing: isOutgoing, now: now) { return }
        let link = Link(
            id: id, device: device, isOutgoing: isOutgoing, opened: now, lastHeard: now, lastSent: now)
        if let other = links.first(where: { $0.device == device }) {
            let isRight = isOutgoing == Self.dials(own.device, device)
            let isOtherRight = other.isOutgoing == Self.dials(own.device, device)
            // Two of the same kind: the one before is dead, or the peer would have kept it.
            guard isRight || !isOtherRight else { return outputs.append(.close(id, .second)) }
            close(other.id, .second, now: now)
        }
        links.append(link)
        if membership?.belongs(device) == true, let index = index(of: id) { greet(index, now: now) }
    }

    mutating func closed(_ id: MeshLinkID, now: MediaTime) {
        guard let index = index(of: id) else { return }
        let link = links.remove(at: index)
        noteLost(link)
        schedule(after: link, now: now)
        ownStatus.isDirty = true
        updatePresence(now: now)
    }

    /// The member couldn't be reached.
    mutating func dialFailed(_ device: DeviceKey, now: MediaTime) {
        guard dials[device]?.isUnderWay == true else { return }
        dials[device]?.isUnderWay = false
        postpone(device, now: now)
    }

    /// The member is announced on the network, or has a new address: it is dialled soon.
    mutating func appeared(_ device: DeviceKey, now: MediaTime) {
        guard let dial = dials[device], !dial.isUnderWay else { return }
        // It could name ever new addresses, also other machines', and have everybody connect to them.
        guard dial.appeared == .distantPast || dial.appeared + MeshLimits.appearancePause <= now else { return }
        dials[device]?.appeared = now
        dials[device]?.failures = 0
        schedule(device, now: now)
    }

    mutating func schedule(_ device: DeviceKey, now: MediaTime) {
        let isCaller = Self.dials(own.device, device)
        dials[device]?.next = isCaller ? now : now + MeshLimits.dialGrace
    }

    mutating func close(_ id: MeshLinkID, _ reason: MeshRefusal, now: MediaTime) {
        outputs.append(.close(id, reason))
        closed(id, now: now)
    }

    mutating func violated(_ index: Int, _ what: String, now: MediaTime) {
        let link = links[index]
        outputs.append(.event(.violated(link.device, what: what)))
        // Not again at once: what it does costs time.
        refuseViolator(index, now: now)
        close(link.id, .violation(what), now: now)
    }

    mutating func send(_ message: SecureMessage, _ index: Int, now: MediaTime) {
        links[index].lastSent = now
        outputs.append(.send(links[index].id, message))
    }

    private mutating func greet(_ index: Int, now: MediaTime) {
        guard let membership, !links[index].hasGreeted else { return }
        links[index].hasGreeted = true
        let greeting = MeshMessage.Greeting(
            room: membership.room, age: age(now: now).inMilliseconds64, run: own.run,
            completeSince: toldCompleteSince,
            has: log.kept.filter { !forks.isFrozen($0.key) }, statements: membership.statements)
        send(.mesh(.greeting(greeting)), index, now: now)
        if links[index].isUp { cameUp(index, now: now) }
    }

    private mutating func cameUp(_ index: Int, now: MediaTime) {
        let device = links[index].device
        // A link that is soon lost again is one more failure.
        if let failures = dials[device]?.failures, failures > 2 { dials[device]?.failures = 2 }
        histories[device, default: LinkHistory()].wasUp = true
        histories[device]?.hasPlace(now: now)
        ownStatus.isDirty = true
        let id = links[index].id
        updatePresence(now: now)
        guard let index = self.index(of: id) else { return }
        startRefills(from: index, now: now)
        sendCode(index, now: now)
    }

    // MARK: Messages

    mutating func received(_ message: SecureMessage, from id: MeshLinkID, now: MediaTime) {
        guard let index = index(of: id) else { return }
        links[index].lastHeard = now
        switch message {
        case .mesh(.greeting(let greeting)):
            guard !links[index].entries.isGreeted else { return violated(index, "it greeted twice", now: now) }
            greeted(greeting, index, now: now)
        case .mesh(.firstGreeting):
            outputs.append(.event(.otherVersion(links[index].device)))
            close(links[index].id, .otherVersion, now: now)
        case .mesh(.paused(let pause)): paused(pause, index, now: now)
        case .mesh(let message):
            guard links[index].entries.isGreeted else { return violated(index, "it didn't greet first", now: now) }
            switch message {
            case .greeting, .firstGreeting, .alive, .paused: break
            case .held(let held): take(held, from: index, now: now)
            case .forked(let proof): take(proof, from: index, now: now)
            case .toHost, .toViewer: outputs.append(.carried(id, message))
            case .code, .errand, .question:
                // Too many are left out, and the link stays: they may be other members', passed on, or caused by peers at
                // an honest member's door.
                guard links[index].isUp, links[index].codeRate.admits(now: now) else { return }
                if case .code(let code) = message { take(code, from: index, now: now) }
                if case .errand(let errand) = message { take(errand, from: index, now: now) }
                if case .question(let errand) = message { take(errand, from: index, now: now) }
            case .statements(let statements): _ = take(statements, from: index, now: now)
            case .statuses(let statuses): take(statuses, from: index, now: now)
            }
        case .room(let message):
            guard links[index].isUp else { return violated(index, "it didn't greet first", now: now) }
            switch message {
            case .batch(let batch): take(batch, from: index, now: now)
            case .acknowledged(let count):
                if links[index].entries.acknowledged(count, now: now) == nil {
                    violated(index, "it acknowledged what wasn't sent", now: now)
                }
            case .partial(let partial): take(partial, from: index, now: now)
            case .slowed(let isSlowed):
                guard links[index].entries.isSlowedByPeer != isSlowed else { break }
                links[index].entries.isSlowedByPeer = isSlowed
                outputs.append(.event(.slowed(links.contains { $0.entries.isSlowedByPeer })))
            case .greeting, .receipts: violated(index, "it takes this for a host's room", now: now)
            }
        default: break
        }
    }

    private mutating func greeted(_ greeting: MeshMessage.Greeting, _ index: Int, now: MediaTime) {
        let device = links[index].device
        if membership == nil {
            guard device == entrance else { return close(links[index].id, .notAMember, now: now) }
            guard enterRoom(greeting, index, now: now) else { return }
        } else {
            guard greeting.room == membership?.room else { return close(links[index].id, .otherRoom, now: now) }
            guard take(greeting.statements, from: index, now: now) else { return }
        }
        guard !isEnded, let index = links.firstIndex(where: { $0.device == device }) else { return }
        guard membership?.belongs(device) == true else { return close(links[index].id, .notAMember, now: now) }
        guard present.count < MeshLimits.members || present.contains(where: { $0.device == device }) else {
            return closeFull(index, now: now)
        }
        links[index].run = greeting.run
        links[index].entries.isGreeted = true
        links[index].entries.cursor = log.start
        links[index].entries.sent = greeting.has.mapValues(\.last)
        awaitHistory(greeting, index, now: now)
        offerDiffering(greeting.has, index)
        log.presentAuthors.insert(LogAuthor(device: device, run: greeting.run))
        if links[index].hasGreeted { cameUp(index, now: now) } else { greet(index, now: now) }
    }

    /// 100 years.
    private static let longestAge: UInt64 = 100 * 365 * 24 * 3600 * 1000

    private mutating func enterRoom(_ greeting: MeshMessage.Greeting, _ index: Int, now: MediaTime) -> Bool {
        var membership = Membership(room: greeting.room, signing: configuration.signing)
        _ = try? membership.add(greeting.statements)
        guard membership.belongs(own.device), membership.belongs(links[index].device) else {
            violated(index, "its room doesn't know this device", now: now)
            return false
        }
        began = now - .milliseconds(Int64(clamping: min(greeting.age, Self.longestAge)))
        history = greeting.has.mapValues(\.last)
        stay = membership.stay(of: own.device, begunBy: links[index].device)
        entrance = nil
        begin(membership, now: now)
        return true
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
