import BeamMedia
import BeamWire

/// The links to other members, and the messages that come on them.
extension Mesh {
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
        /// Both have sent their greetings.
        var isUp = false
        /// Of the peer's own log.
        var run: UInt64 = 0
        /// The newest status of each member that the peer has, or was sent.
        var statuses: [DeviceKey: UInt64] = [:]
        var nextStatuses = MediaTime.distantPast
        /// What it says of the code.
        var codeRate = MessageRate()
        /// It isn't read until then, because it has used up its budget.
        var heldUntil: MediaTime?
    }

    /// Trying to reach a member.
    struct Dial: Sendable {
        var failures = 0
        var next: MediaTime
        var isUnderWay = false
        /// When the member appeared last, so that it was dialled soon.
        var appeared = MediaTime.distantPast
    }

    // MARK: Connections

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
        exchange.connected(id, device: device)
        if membership?.belongs(device) == true, let index = index(of: id) { greet(index, now: now) }
    }

    mutating func closed(_ id: MeshLinkID, now: MediaTime) {
        guard let index = index(of: id) else { return }
        let link = links.remove(at: index)
        noteLost(exchange.members.remove(at: index))
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

    mutating func greet(_ index: Int, now: MediaTime) {
        guard let membership, !links[index].hasGreeted else { return }
        links[index].hasGreeted = true
        let greeting = MeshMessage.Greeting(
            room: membership.room, age: age(now: now).inMilliseconds64, run: own.run,
            completeSince: toldCompleteSince,
            has: exchange.log.kept.filter { !exchange.forks.isFrozen($0.key) }, statements: membership.statements)
        send(.mesh(.greeting(greeting)), index, now: now)
        if exchange.members[index].link.isGreeted { cameUp(index, now: now) }
    }

    private mutating func cameUp(_ index: Int, now: MediaTime) {
        let device = links[index].device
        links[index].isUp = true
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
            guard !links[index].isUp else { return violated(index, "it greeted twice", now: now) }
            greeted(greeting, index, now: now)
        case .mesh(.firstGreeting):
            outputs.append(.event(.otherVersion(links[index].device)))
            close(links[index].id, .otherVersion, now: now)
        case .mesh(.paused(let pause)): paused(pause, index, now: now)
        case .mesh(let message):
            guard links[index].isUp else { return violated(index, "it didn't greet first", now: now) }
            switch message {
            case .greeting, .firstGreeting, .alive, .paused: break
            case .held(let held): take(held, from: index, now: now)
            case .forked(let proof): take(proof, from: index, now: now)
            case .toHost, .toViewer: outputs.append(.carried(id, message))
            case .code, .errand, .question:
                // Too many are left out, and the link stays: they may be other members', passed on, or caused by peers at
                // an honest member's door.
                guard links[index].codeRate.admits(now: now) else { return }
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
            case .partial(let partial) where !belongs(partial.publicKey): break
            case .acknowledged, .partial, .slowed:
                exchange.received(message, from: LogMemberID(id), now: now)
                passOn(now: now)
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
        exchange.members[index].link.begin(at: exchange.log.start, has: greeting.has.mapValues(\.last))
        awaitHistory(greeting, index, now: now)
        offerDiffering(greeting.has, index)
        exchange.log.presentAuthors.insert(LogAuthor(device: device, run: greeting.run))
        if links[index].hasGreeted { cameUp(index, now: now) } else { greet(index, now: now) }
    }
}
