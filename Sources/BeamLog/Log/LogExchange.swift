import BeamMedia
import BeamWire

/// A room's log and the members that it is exchanged with, without I/O.
///
/// Two members that meet tell each other what they have, and send what is missing: that is the history for those who come
/// late, and what was missed while a connection was lost. The keeper (a host) makes the room; guests (its viewers) are
/// connected to it, and it passes on what they write. Equals (`Mesh`) pass on what anybody has written to all whom they
/// have a link to. Everything an author writes is signed, so nobody who passes it on can change it.
///
/// Call a method for each thing that happens, then `pollOutput` until it returns nil, and `settle` at `deadline`.
package struct LogExchange: Sendable {
    package enum Role: Sendable { case keeper, guest, equal }

    package struct Configuration: Sendable {
        package var role: Role
        package var own: DeviceKey
        /// Shown beside what this device writes.
        package var name: String
        package var signing: LogSigning
        /// The keeper takes notes of guests.
        package var takesNotes = true
        /// An equal opens messages that others can't read.
        package var sealing: MeshSealing?

        package init(
            role: Role, own: DeviceKey, name: String, signing: LogSigning, takesNotes: Bool = true,
            sealing: MeshSealing? = nil
        ) {
            self.role = role
            self.own = own
            self.name = name
            self.signing = signing
            self.takesNotes = takesNotes
            self.sealing = sealing
        }
    }

    struct Member: Sendable {
        let id: LogMemberID
        let device: DeviceKey
        var name: String
        /// Of the peer's own log; nil before its greeting.
        var run: UInt64?
        /// The place in the order of arrival at which it came: messages from before aren't for it.
        var joined: Int
        /// What it is known to have.
        var has: [LogAuthor: UInt32] = [:]
        var isConnected = false
        /// Of the present connection, or of none.
        var link = LogLink()
        /// Something may have to be sent to it; otherwise nothing has before `deadline`.
        var isDirty = false
        var deadline = MediaTime.distantFuture
        /// Results of its messages, for after a lost connection.
        var settled: [LogMessage.Receipt] = []
    }

    let configuration: Configuration
    var log: LogStore
    /// Whether `log` is that of a room: a guest has none before it met a keeper.
    private(set) var isInRoom: Bool
    private(set) var takesNotes: Bool
    var members: [Member] = []
    var outputs = OutputQueue<Output>()
    var random: any RandomNumberGenerator & Sendable
    /// Of this device's log in the present room.
    private(set) var own: LogAuthor
    /// When the room began, by this machine's clock.
    private var began: MediaTime?
    /// Among equals: who belongs to the room.
    var people: Set<DeviceKey> = []
    /// Among equals: those that have told different members different things.
    var forks = ForkKeeping()
    /// Among equals: whose messages have come, so that they are to hear of it.
    private(set) var messageAuthors: Set<LogAuthor> = []
    /// Written before there was a room, or to a room that is gone and didn't get it.
    var drafts: [(content: LogContent, recipient: DeviceKey?)] = []
    var draftBytes = 0
    /// Own messages without a result, by their number.
    var unsettled: [UInt32: String] = [:]
    var deliveries = MessageDeliveries<LogMemberID>()
    /// By the keeper's word, but for this device's own; among equals by each one's own and by their word who let it in.
    var names = MemberNames()
    /// How often the keeper has told another name of a device.
    private var renamings: [DeviceKey: Int] = [:]
    /// How much each device has written lately: a new connection doesn't change it.
    var rates: [DeviceKey: AuthorRate] = [:]
    /// When those members joined that have left, in case they come back.
    var formerMembers: [(device: DeviceKey, run: UInt64, joined: Int)] = []
    var partials = LogPartials()
    /// A guest lacks entries that its keeper had written when the connection began: up to this one.
    var awaited: (author: LogAuthor, number: UInt32)?
    /// What was in the room when this device entered. A connection that is restored later changes nothing.
    var history: [LogAuthor: UInt32] = [:]
    /// The newest own entry that was sent to the keeper, on whatever connection.
    var lastSent: UInt32 = 0
    /// When to call `settle` at the latest.
    package var deadline = MediaTime.distantFuture
    /// Something may have to be sent to everybody, or to some members.
    var isDirty = false
    var hasDirtyMember = false

    package init(_ configuration: Configuration, random: any RandomNumberGenerator & Sendable) {
        var random = random
        self.configuration = configuration
        own = LogAuthor(device: configuration.own, run: random.next())
        if configuration.role == .equal {
            log = LogStore(room: [], signing: configuration.signing)
        } else {
            let id = (0..<2).flatMap { _ in withUnsafeBytes(of: random.next() as UInt64) { Array($0) } }
            log = LogStore(room: id, keeper: configuration.own, signing: configuration.signing)
        }
        self.random = random
        log.presentAuthors = [own]
        isInRoom = configuration.role == .keeper
        takesNotes = configuration.takesNotes
        names[configuration.own] = configuration.name
    }

    /// The keeper shares, or doesn't. The transcript's times count from the first time.
    package mutating func shareChanged(_ isOn: Bool, now: MediaTime) {
        if isOn, began == nil { began = now }
        guard began != nil else { return }
        write(isOn ? .shareBegan : .shareEnded, to: nil, now: now)
    }

    package mutating func pollOutput() -> Output? { outputs.popFirst() }

    /// Since the room began.
    func age(now: MediaTime) -> Duration { began.map { max(.zero, now - $0) } ?? .zero }

    func index(of id: LogMemberID) -> Int? { members.firstIndex { $0.id == id } }

    // MARK: Members

    /// A peer was admitted. The keeper tells everybody its name.
    package mutating func joined(_ id: LogMemberID, device: DeviceKey, name: String, now: MediaTime) {
        guard index(of: id) == nil else { return }
        members.append(Member(id: id, device: device, name: name, joined: configuration.role == .keeper ? log.end : 0))
        let isNews = configuration.role == .keeper && mayTell(name, of: device)
        setName(name, of: device)
        guard isNews else { return }
        _ = append(.member(device, name: name), to: nil, now: now)
    }

    /// Of another device than this one.
    mutating func setName(_ name: String, of device: DeviceKey) {
        guard device != own.device, names[device] != nil || names.count < LogLimits.names else { return }
        names[device] = name
    }

    /// Whether a name is told to everybody: one that comes and goes under ever new names would fill the log with them.
    private mutating func mayTell(_ name: String, of device: DeviceKey) -> Bool {
        guard names[device] != name else { return false }
        guard names[device] != nil else { return names.count < LogLimits.names }
        renamings[device, default: 0] += 1
        return renamings[device, default: 0] <= LogLimits.renamings
    }

    /// A guest is connected to its keeper, the same one as before or another one.
    package mutating func metKeeper(_ id: LogMemberID, device: DeviceKey, name: String, now: MediaTime) {
        if let index = index(of: id), members[index].device != device {
            // What was written for one host isn't for another one.
            giveUpUnsent()
            members[index] = Member(id: id, device: device, name: name, joined: 0)
        }
        joined(id, device: device, name: name, now: now)
        if let index = index(of: id) { members[index].name = name }
        setName(name, of: device)
        connected(id, now: now)
    }

    /// A control connection to the member exists.
    package mutating func connected(_ id: LogMemberID, now: MediaTime) {
        guard let index = index(of: id) else { return }
        members[index].link = LogLink()
        members[index].isConnected = true
        if configuration.role == .keeper { greet(index, now: now) }
    }

    package mutating func disconnected(_ id: LogMemberID) {
        guard let index = index(of: id) else { return }
        members[index].link = LogLink()
        members[index].isConnected = false
    }

    package mutating func left(_ id: LogMemberID, now: MediaTime) {
        guard let index = index(of: id) else { return }
        let member = members.remove(at: index)
        if let run = member.run {
            forgetPresence(of: member.device, run: run, except: id)
            formerMembers.removeAll { $0.device == member.device && $0.run == run }
            formerMembers.append((member.device, run, member.joined))
            if formerMembers.count > LogLimits.rememberedMembers { formerMembers.removeFirst() }
        }
        settleMessages(deliveries.left(id))
    }

    /// A member isn't there any more, or not in that run. Another program with the same key may say the same run; it's
    /// there then.
    private mutating func forgetPresence(of device: DeviceKey, run: UInt64, except id: LogMemberID) {
        guard !members.contains(where: { $0.id != id && $0.device == device && $0.run == run }) else { return }
        log.presentAuthors.remove(LogAuthor(device: device, run: run))
    }

    private mutating func greet(_ index: Int, now: MediaTime) {
        let oldest = unsettled.keys.min() ?? 0
        let greeting = LogMessage.Greeting(
            room: log.room, age: age(now: now).inMilliseconds64, run: own.run, flags: takesNotes ? .takesNotes : [],
            completeSince: log.completeSince.inMilliseconds64, unsettled: oldest, has: log.has)
        outputs.append(.send(members[index].id, .greeting(greeting)))
    }

    // MARK: Messages of members

    package mutating func received(_ message: LogMessage, from id: LogMemberID, now: MediaTime) {
        guard let index = index(of: id), members[index].isConnected else { return }
        let isGreeted = members[index].link.isGreeted
        if case .greeting(let greeting) = message {
            guard !isGreeted else { return violated(id, "it greeted the room twice") }
            return greeted(greeting, index, now: now)
        }
        guard isGreeted else { return violated(id, "it didn't greet the room first") }
        switch message {
        case .greeting: break
        case .batch(let batch): take(batch, from: index, now: now)
        case .acknowledged(let count): acknowledged(count, by: index, now: now)
        case .partial(let partial): take(partial, from: index, now: now)
        case .receipts(let receipts): take(receipts)
        case .slowed(let isSlowed): take(isSlowed: isSlowed, from: index)
        }
        markDirty(index)
    }

    private mutating func take(isSlowed: Bool, from index: Int) {
        guard configuration.role != .keeper, members[index].link.isSlowedByPeer != isSlowed else { return }
        members[index].link.isSlowedByPeer = isSlowed
        outputs.append(.event(.slowed(members.contains(where: \.link.isSlowedByPeer))))
    }

    mutating func violated(_ id: LogMemberID, _ reason: String) { outputs.append(.violation(id, reason: reason)) }

    private mutating func greeted(_ greeting: LogMessage.Greeting, _ index: Int, now: MediaTime) {
        let isKeeper = configuration.role == .keeper
        if isKeeper {
            guard greeting.room == log.room else { return violated(members[index].id, "it greeted another room") }
        } else {
            enter(greeting, of: members[index].device, now: now)
            greet(index, now: now)
            let keeper = LogAuthor(device: members[index].device, run: greeting.run)
            awaited = (keeper, greeting.has[keeper] ?? 0)
            outputs.append(.event(.catchingUp))
            checkAwaited()
        }
        let (id, device) = (members[index].id, members[index].device)
        if let known = formerMembers.first(where: { $0.device == device && $0.run == greeting.run }) {
            members[index].joined = min(members[index].joined, known.joined)
        }
        if let run = members[index].run, run != greeting.run { forgetPresence(of: device, run: run, except: id) }
        members[index].run = greeting.run
        log.presentAuthors.insert(LogAuthor(device: device, run: greeting.run))
        members[index].has = greeting.has
        members[index].link.begin(at: log.start, has: greeting.has)
        if greeting.unsettled > 0 {
            let missed = members[index].settled.filter { $0.number >= greeting.unsettled }
            members[index].link.receipts = missed
        }
        for (author, number) in greeting.has { confirm(author, upTo: number, by: index) }
        markDirty(index)
    }

    /// A guest enters the keeper's room: the one that it was in, or another one.
    private mutating func enter(_ greeting: LogMessage.Greeting, of keeper: DeviceKey, now: MediaTime) {
        let age = Duration.milliseconds(Int64(clamping: min(greeting.age, Self.longestAge)))
        takesNotes = greeting.flags.contains(.takesNotes)
        if isInRoom, greeting.room == log.room { return }
        let (unsent, sent) = unconfirmedEntries()
        for number in sent {
            if let id = unsettled[number] { outputs.append(.event(.undelivered(id: id, reason: .unconfirmed))) }
        }
        unsettled.removeAll()
        log = LogStore(room: greeting.room, keeper: keeper, signing: configuration.signing)
        own.run = random.next()
        log.presentAuthors = [own]
        lastSent = 0
        began = now - age
        history = greeting.has
        isInRoom = true
        names.removeAll()
        names[own.device] = configuration.name
        for member in members { setName(member.name, of: member.device) }
        partials = LogPartials()
        let since = Duration.milliseconds(Int64(clamping: min(greeting.completeSince, Self.longestAge)))
        outputs.append(.event(.began(completeSince: since, takesNotes: takesNotes)))
        let kept = unsent + drafts
        drafts.removeAll()
        draftBytes = 0
        for (content, recipient) in kept { write(content, to: recipient, now: now) }
    }

    /// The host has changed: what the one before isn't known to have is given up, and said to be.
    private mutating func giveUpUnsent() {
        let (unsent, sent) = isInRoom ? unconfirmedEntries() : ([], [])
        for number in sent {
            if let id = unsettled[number] { outputs.append(.event(.undelivered(id: id, reason: .unconfirmed))) }
        }
        for (content, _) in unsent + drafts {
            switch content {
            case .message(let id, _): outputs.append(.event(.undelivered(id: id, reason: .otherHost)))
            default: outputs.append(.event(.unwritten(content, reason: .otherHost)))
            }
        }
        unsettled.removeAll()
        drafts.removeAll()
        draftBytes = 0
        // The other host could show the same ID.
        isInRoom = false
        log = LogStore(room: [], signing: configuration.signing)
    }

    // MARK: Among equals

    /// A room of equals is made, entered, or taken up again.
    mutating func begin(_ room: [UInt8], began: MediaTime) {
        log = LogStore(room: room, signing: configuration.signing)
        log.presentAuthors = [own]
        self.began = began
        isInRoom = true
        outputs.append(.event(.began(completeSince: nil, takesNotes: true)))
    }

    /// There is a link to the device.
    mutating func connected(_ id: MeshLinkID, device: DeviceKey) {
        members.append(Member(id: LogMemberID(id), device: device, name: "", joined: 0))
        members[members.count - 1].isConnected = true
    }

    /// Nothing is written or exchanged any more.
    mutating func end() {
        isInRoom = false
        members = []
    }

    mutating func noteMessage(by author: LogAuthor) {
        if configuration.role == .equal { messageAuthors.insert(author) }
    }

    /// Whose messages have come since the last call.
    mutating func takeMessageAuthors() -> Set<LogAuthor> {
        defer { messageAuthors = [] }
        return messageAuthors
    }

    // MARK: Another room

    /// What a peer may say of its room's age: 100 years, in milliseconds.
    static let longestAge: UInt64 = 100 * 365 * 24 * 3600 * 1000

    /// Own entries that no peer is known to have: those that are written again in another room, and the numbers of those
    /// messages that may have arrived.
    private func unconfirmedEntries() -> (unsent: [(LogContent, DeviceKey?)], sent: [UInt32]) {
        guard let index = log.index(of: own), let keeper = members.first else { return ([], []) }
        let author = log.authors[index]
        let confirmed = keeper.has[own] ?? 0
        let sent = max(confirmed, lastSent)
        var again: [(LogContent, DeviceKey?)] = []
        var doubtful: [UInt32] = unsettled.keys.filter { $0 <= sent }
        doubtful.sort()
        guard author.last > confirmed else { return ([], doubtful) }
        for number in confirmed + 1...author.last {
            guard case .whole(let entry) = author[number]?.content, let content = LogContent(entry) else { continue }
            if case .message = content, number <= sent { continue }
            again.append((content, entry.recipient))
        }
        return (again, doubtful)
    }
}

/// A member, numbered by the session.
package struct LogMemberID: Hashable, Sendable {
    package var value: UInt64

    package init(_ value: UInt64) { self.value = value }
    package init(_ link: MeshLinkID) { value = link.value }
}

extension LogExchange {
    package enum Output: Sendable {
        case send(LogMemberID, LogMessage)
        case event(LogEvent)
        /// The member has sent what breaks the rules: a part of a sentence.
        case violation(LogMemberID, reason: String)
    }
}
