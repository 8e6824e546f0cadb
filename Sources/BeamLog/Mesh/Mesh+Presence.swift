import BeamMedia
import BeamWire

/// What this device's status is to say.
struct OwnStatus: Sendable {
    var flags: MemberStatus.Flags = []
    /// The status that is out isn't true any more.
    var isDirty = false
    var counter: UInt64 = 0
    /// When messages of these authors came last; others have to know what has arrived.
    var messageAuthors: [LogAuthor: MediaTime] = [:]
    private var last = MediaTime.distantPast

    /// When it is to be told.
    func due(now: MediaTime) -> MediaTime {
        guard last > .distantPast else { return now }
        return max(now, last + (isDirty ? MeshLimits.statusPause : MeshLimits.statusRefresh))
    }

    mutating func told(now: MediaTime) {
        isDirty = false
        last = now
    }
}

/// Who is here: statuses that are passed on, and the graph that they tell of.
extension Mesh {
    /// How long an author of messages is named in the status after its last one.
    private static let messageMemory = Duration.seconds(30)

    /// This device shares its screen, or has paused.
    mutating func setSharing(_ isSharing: Bool, isPaused: Bool = false, now: MediaTime) {
        guard membership != nil, !isEnded else { return }
        let was = ownStatus.flags.contains(.isSharing)
        var flags = ownStatus.flags
        flags.remove([.isSharing, .isPaused])
        if isSharing { flags.insert(.isSharing) }
        if isSharing, isPaused { flags.insert(.isPaused) }
        guard flags != ownStatus.flags else { return }
        ownStatus.flags = flags
        ownStatus.isDirty = true
        peopleChanged()
        guard was != isSharing else { return }
        exchange.write(isSharing ? .shareBegan : .shareEnded, to: nil, now: now)
        passOn(now: now)
    }

    /// Makes a new status of this device, for everybody.
    mutating func publish(now: MediaTime) {
        guard let membership else { return }
        ownStatus.told(now: now)
        ownStatus.counter = max(ownStatus.counter + 1, age(now: now).inMilliseconds64)
        ownStatus.messageAuthors = ownStatus.messageAuthors.filter { now - $0.value < Self.messageMemory }
        let newest = ownStatus.messageAuthors.sorted { $0.value > $1.value }.prefix(MeshLimits.statusAuthors)
        var received: [LogAuthor: UInt32] = [:]
        for (author, _) in newest {
            if let place = exchange.log.index(of: author) { received[author] = exchange.log.authors[place].last }
        }
        let up = links.filter(\.isUp).map(\.device)
        statuses[own.device] = MemberStatus(
            run: own.run, counter: ownStatus.counter, flags: ownStatus.flags,
            sealingKey: configuration.sealing.publicKey,
            addresses: addresses,
            links: Array(up.prefix(MeshLimits.statusLinks)), received: received,
            name: PeerText.name(configuration.name), room: membership.room, signing: configuration.signing)
        updatePresence(now: now)
    }

    mutating func take(_ new: [MemberStatus], from index: Int, now: MediaTime) {
        guard let membership else { return }
        let id = links[index].id
        var hasChanged = false
        for status in new {
            guard let device = membership.people.first(where: { $0.publicKey == status.publicKey })?.device,
                device != own.device
            else { continue }
            let counter = max(links[index].statuses[device] ?? 0, status.counter)
            links[index].statuses[device] = counter
            guard status.counter > statuses[device]?.counter ?? 0 else { continue }
            let signed = status.signed(room: membership.room)
            guard configuration.signing.verify(status.signature, signed, status.publicKey) else {
                violated(index, "it passed on a status whose signature is wrong", now: now)
                break
            }
            let addresses = statuses[device]?.addresses
            statuses[device] = status
            statusTimes[device] = now
            if !status.name.isEmpty { call(device, status.name) }
            hasChanged = true
            if addresses != status.addresses {
                changedKeepsake()
                appeared(device, now: now)
            }
            confirm(status, of: device, now: now)
            guard self.index(of: id) == index else { break }
        }
        if hasChanged { updatePresence(now: now) }
    }

    /// Sends the statuses that the peer doesn't have. Returns when the next may be sent.
    mutating func sendStatuses(_ index: Int, now: MediaTime) -> MediaTime {
        let known = links[index].statuses
        let new = statuses.filter { $0.value.counter > known[$0.key] ?? 0 && $0.key != links[index].device }
        guard !new.isEmpty else { return .distantFuture }
        guard links[index].nextStatuses <= now else { return links[index].nextStatuses }
        links[index].nextStatuses = now + MeshLimits.statusPause
        let part = new.prefix(MeshLimits.statusesPerMessage)
        for (device, status) in part { links[index].statuses[device] = status.counter }
        send(.mesh(.statuses(part.map(\.value))), index, now: now)
        return part.count < new.count ? links[index].nextStatuses : .distantFuture
    }

    // MARK: Who is here

    mutating func updatePresence(now: MediaTime) {
        guard let membership, !isEnded else { return }
        var graph: [DeviceKey: Set<DeviceKey>] = [:]
        for (device, status) in statuses where !status.flags.contains(.isLeaving) {
            guard let time = statusTimes[device], time + MeshLimits.statusLifetime > now else { continue }
            graph[device] = Set(status.links)
        }
        graph[own.device] = Set(links.filter(\.isUp).map(\.device))
        let belong = Set(membership.people.map(\.device))
        hops = MeshGraph(graph).hops(from: own.device).filter { belong.contains($0.key) }
        let before = present
        present = membership.people.filter { hops[$0.device] != nil }
        staleness = present.compactMap { statusTimes[$0.device] }.min().map { $0 + MeshLimits.statusLifetime }
        peopleChanged()
        displaced = []
        if present.count > MeshLimits.members {
            displaced = Set(membership.inTurn(present.map(\.device)).dropFirst(MeshLimits.members))
        }
        if displaced.contains(own.device) {
            outputs.append(.event(.full))
            return leave(now: now)
        }
        for person in before where hops[person.device] == nil {
            exchange.settleMessages(deliveries.left(where: { $0.device == person.device }))
        }
        passOn(now: now)
        var authors: Set<LogAuthor> = [own]
        for person in present {
            if let run = statuses[person.device]?.run { authors.insert(LogAuthor(device: person.device, run: run)) }
        }
        exchange.log.presentAuthors = authors
    }

    /// Everybody who belongs to the room, in the order of stays.
    var people: [MeshPerson] {
        (membership?.people ?? []).map { person in
            let isOwn = person.device == own.device
            let isHere = hops[person.device] != nil
            let flags = isOwn ? ownStatus.flags : isHere ? statuses[person.device]?.flags ?? [] : []
            return MeshPerson(
                device: person.device, name: name(of: person.device), isHere: isHere,
                isSharing: flags.contains(.isSharing),
                isPaused: flags.contains(.isPaused), hops: hops[person.device],
                addresses: statuses[person.device]?.addresses ?? [])
        }
    }

    /// The people, and those who were lost a moment ago as they were.
    mutating func shownPeople(now: MediaTime) -> [MeshPerson] {
        let before = absences
        absences = [:]
        return people.map { person in
            guard !person.isHere, let last = reported.first(where: { $0.device == person.device }), last.isHere,
                statuses[person.device]?.flags.contains(.isLeaving) == false
            else { return person }
            let since = before[person.device] ?? now
            guard now < since + MeshLimits.absenceGrace else { return person }
            absences[person.device] = since
            return last
        }
    }

    /// The members through which the screen of `device` can be got, if there is no link to it: nearest first.
    func relays(to device: DeviceKey) -> [DeviceKey] {
        var graph = statuses.mapValues { Set($0.links) }
        graph[own.device] = Set(links.filter(\.isUp).map(\.device))
        return MeshGraph(graph).ways(from: own.device, to: device)
    }
}
