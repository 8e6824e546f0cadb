import BeamMedia
import BeamWire

/// Pauses between links, at both ends, and what links may cost.
extension Mesh {
    // MARK: Who gets no link at present

    /// Why a new link is closed at once; nil: it isn't.
    private mutating func refusal(of device: DeviceKey, isOutgoing: Bool, now: MediaTime) -> MeshPause? {
        guard let membership, membership.belongs(device) else {
            let mayEnter = membership == nil && device == entrance
            return !mayEnter && strangers.take(0, now: now) != nil ? MeshPause(.busy, MeshLimits.strangersPause) : nil
        }
        var history = histories[device] ?? LinkHistory()
        defer { histories[device] = history }
        if present.count < MeshLimits.members { history.hasPlace(now: now) }
        if isOutgoing {
            return history.refusedUntil > now ? MeshPause(history.reason, history.refusedUntil - now) : nil
        }
        if let pause = history.arrived(now: now) { return pause }
        // Each waits for 5 s only: who has many devices could have them wait in turn.
        let waiting = links.count { !$0.isUp && $0.device != device }
        return waiting < MeshLimits.waitingLinks ? nil : MeshPause(.busy, MeshLimits.strangersPause)
    }

    /// Closes a new link if its peer gets none at present. True: it is closed.
    mutating func turnsAway(_ id: MeshLinkID, _ device: DeviceKey, isOutgoing: Bool, now: MediaTime) -> Bool {
        guard let pause = refusal(of: device, isOutgoing: isOutgoing, now: now) else { return false }
        outputs.append(.send(id, .mesh(.paused(pause))))
        outputs.append(.close(id, .paused(pause.reason)))
        dials[device]?.next = now + pause.duration
        return true
    }

    /// The peer has broken the rules: its links are refused for a while, which it is told.
    mutating func refuseViolator(_ index: Int, now: MediaTime) {
        let device = links[index].device
        guard membership?.belongs(device) == true else { return }
        let pause = histories[device, default: LinkHistory()].violated(now: now)
        send(.mesh(.paused(pause)), index, now: now)
    }

    /// There is no place for the peer, which is told so.
    mutating func closeFull(_ index: Int, now: MediaTime) {
        let pause = histories[links[index].device, default: LinkHistory()].full(now: now)
        send(.mesh(.paused(pause)), index, now: now)
        close(links[index].id, .full, now: now)
    }

    /// Members that were here before have come together, and there is no place for the last of them. Each is told first
    /// who is here, by those members' own statuses, so that it need not believe anybody that it is one too many.
    mutating func dismissDisplaced(now: MediaTime) {
        guard !displaced.isEmpty else { return }
        if ownStatus.isDirty { publish(now: now) }
        for device in displaced {
            while let index = links.firstIndex(where: { $0.device == device && $0.isUp }) {
                links[index].nextStatuses = now
                if sendStatuses(index, now: now) == .distantFuture { closeFull(index, now: now) }
            }
        }
        displaced = []
    }

    /// The peer refuses this device's links.
    mutating func paused(_ pause: MeshPause, _ index: Int, now: MediaTime) {
        let link = links[index]
        guard membership?.belongs(link.device) == true else { return close(link.id, .paused(pause.reason), now: now) }
        histories[link.device, default: LinkHistory()].refuses(pause, now: now)
        // It may say so as often as it likes.
        if histories[link.device]?.mayTell(now: now) == true {
            outputs.append(.event(.refused(by: link.device, pause)))
        }
        close(link.id, .paused(pause.reason), now: now)
    }

    // MARK: Dials

    /// A link has ended: the member is dialled again, at once if the link had lasted.
    mutating func schedule(after link: Link, now: MediaTime) {
        guard link.isUp, now - link.opened >= MeshLimits.steadyLink else { return postpone(link.device, now: now) }
        dials[link.device]?.failures = 0
        schedule(link.device, now: now)
    }

    /// A dial has failed, or the link that came of it was soon lost.
    mutating func postpone(_ device: DeviceKey, now: MediaTime) {
        guard var dial = dials[device] else { return }
        let pause = MeshLimits.redialPauses[min(dial.failures, MeshLimits.redialPauses.count - 1)]
        dial.next = now + (Self.dials(own.device, device) ? pause : max(pause, MeshLimits.dialGrace))
        dial.failures = min(dial.failures + 1, MeshLimits.redialPauses.count)
        dials[device] = dial
    }

    /// Dials those to whom a link is due: those that were met before first, then who has waited longest. Returns when
    /// there is something to do again.
    mutating func settleDials(now: MediaTime) -> MediaTime {
        // Many belong to a room that was there for long, and this is called for each message.
        guard dialsDue <= now else { return dialsDue }
        let next = dialDue(now: now)
        dialsDue = next
        return next
    }

    private mutating func dialDue(now: MediaTime) -> MediaTime {
        var next = MediaTime.distantFuture
        var due: [(device: DeviceKey, wasUp: Bool, time: MediaTime)] = []
        var underWay = 0
        for (device, dial) in dials where !links.contains(where: { $0.device == device }) {
            if dial.isUnderWay, dial.next + MeshLimits.dialTimeout <= now { dialFailed(device, now: now) }
            guard let dial = dials[device] else { continue }
            let history = histories[device]
            let time = max(dial.next, history?.earliestDial ?? .distantPast)
            if dial.isUnderWay {
                underWay += 1
                next = min(next, dial.next + MeshLimits.dialTimeout)
            } else if time <= now {
                due.append((device, history?.wasUp ?? false, time))
            } else {
                next = min(next, time)
            }
        }
        due.sort { one, other in
            if one.wasUp != other.wasUp { return one.wasUp }
            if one.time != other.time { return one.time < other.time }
            return one.device.bytes.lexicographicallyPrecedes(other.device.bytes)
        }
        // The others are dialled when one of those has come to an end.
        for (device, _, _) in due.prefix(max(0, MeshLimits.dialsAtATime - underWay)) {
            if let time = dialRate.take(1, now: now) { return min(next, time) }
            dials[device]?.isUnderWay = true
            dials[device]?.next = now
            next = min(next, now + MeshLimits.dialTimeout)
            outputs.append(.dial(device))
        }
        return next
    }

    // MARK: What links cost

    /// A message of so many bytes of that device has come on the link, and handling it took so much of the thread's time.
    /// True: the link isn't to be read until `resume`.
    mutating func spent(
        _ time: Duration, bytes: Int, on id: MeshLinkID, of device: DeviceKey, now: MediaTime
    ) -> Bool {
        guard !isEnded else { return false }
        guard membership?.belongs(device) == true || membership == nil && device == entrance else {
            if LinkBudget.charge(time, bytes: bytes, to: &strangers, now: now) { closeStrangers(now: now) }
            return false
        }
        let up = links.count(where: \.isUp)
        let end = histories[device, default: LinkHistory()].budget.spent(time, bytes: bytes, links: up, now: now)
        guard let end, let index = index(of: id) else { return false }
        links[index].heldUntil = end
        deadline = min(deadline, end)
        return true
    }

    private mutating func closeStrangers(now: MediaTime) {
        let pause = MeshPause(.busy, MeshLimits.strangersPause)
        for link in links where membership?.belongs(link.device) != true && link.device != entrance {
            outputs.append(.send(link.id, .mesh(.paused(pause))))
            close(link.id, .paused(.busy), now: now)
        }
    }

    /// Reads links again whose time has come. Returns when the next one's comes.
    mutating func settleHolds(now: MediaTime) -> MediaTime {
        var next = MediaTime.distantFuture
        for index in links.indices {
            guard let end = links[index].heldUntil else { continue }
            guard end <= now else {
                next = min(next, end)
                continue
            }
            links[index].heldUntil = nil
            // What it has sent meanwhile comes now.
            links[index].lastHeard = now
            outputs.append(.resume(links[index].id))
        }
        return next
    }
}
