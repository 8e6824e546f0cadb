import BeamMedia
import BeamWire

/// Entries that come, and what is sent to members.
extension LogExchange {
    mutating func take(_ batch: LogMessage.Batch, from index: Int, now: MediaTime) {
        let (sender, isKeeper) = (members[index], configuration.role == .keeper)
        let end = log.end
        let (authors, arrivals): ([LogAuthor], [LogStore.Arrival])
        do throws(LogStore.Rejection) {
            // Guests pass nothing on: everything in a room has come from its keeper.
            (authors, arrivals) = try log.take(
                batch, age: age(now: now),
                isAuthor: { !isKeeper || $0.device == sender.device && $0.run == sender.run },
                keeps: { [takesNotes] in !isKeeper || Self.mayWrite($0, takesNotes: takesNotes) })
        } catch {
            return violated(sender.id, "it sent \(error)")
        }
        let cost = batch.items.reduce(0) { $0 + $1.entry.cost }
        let due = isKeeper ? charge(sender.device, entries: batch.items.count, bytes: cost, now: now) : now
        guard took(cost, from: index, heldUntil: due) else { return }
        for author in authors {
            // The sender has what it sent.
            guard let place = log.index(of: author) else { continue }
            let last = log.authors[place].last
            members[index].has[author] = max(members[index].has[author] ?? 0, last)
            let sent = members[index].link.sent[author] ?? 0
            members[index].link.sent[author] = max(sent, last)
        }
        if log.end != end { markDirty() }
        forgetDropped()
        tell(arrivals, now: now)
        checkAwaited()
    }

    /// Counts what a batch costs. False: its sender doesn't wait for acknowledgements.
    mutating func took(_ cost: Int, from index: Int, heldUntil due: MediaTime) -> Bool {
        if members[index].link.took(cost, heldUntil: due) { return true }
        violated(members[index].id, "it sent more than \(LogLimits.window) bytes without waiting for an answer")
        return false
    }

    /// Tells when the keeper's history has come. If the oldest entries have gone there, its newest one is among the rest,
    /// or is followed by others: each author's go in their order.
    mutating func checkAwaited() {
        guard let (author, number) = awaited, let keeper = members.first else { return }
        let last = log.index(of: author).map { log.authors[$0].last } ?? 0
        guard last >= number else { return }
        awaited = nil
        outputs.append(.event(.caughtUp(host: keeper.name)))
    }

    /// Counts what a device has written. Returns when it would have been in time.
    mutating func charge(_ device: DeviceKey, entries: Int, bytes: Int, now: MediaTime) -> MediaTime {
        guard entries > 0 else { return now }
        if rates.count >= LogLimits.rememberedMembers { rates = rates.filter { !$0.value.isIdle(now: now) } }
        return rates[device, default: AuthorRate()].add(entries: entries, bytes: bytes, now: now)
    }

    /// Forgets who has what of the logs that were dropped.
    mutating func forgetDropped() {
        for author in log.takeDropped() {
            for index in members.indices {
                members[index].has[author] = nil
                members[index].link.forget(author)
            }
        }
    }

    /// What guests may write. The rest is kept as a digest, so that their later entries can be checked.
    private static func mayWrite(_ entry: LogEntry, takesNotes: Bool) -> Bool {
        switch LogEntry.Kind(rawValue: entry.kind) {
        case .note: takesNotes
        case .message: true
        default: false
        }
    }

    mutating func acknowledged(_ count: UInt32, by index: Int, now: MediaTime) {
        guard let newest = members[index].link.acknowledged(count, now: now) else {
            return violated(members[index].id, "it acknowledged what wasn't sent")
        }
        for (author, number) in newest { confirm(author, upTo: number, by: index) }
    }

    mutating func confirm(_ author: LogAuthor, upTo number: UInt32, by index: Int) {
        // An equal's status says what has reached it, also by others.
        guard configuration.role != .equal else { return }
        // The log may have been dropped meanwhile.
        if log.index(of: author) != nil { members[index].has[author] = max(members[index].has[author] ?? 0, number) }
        settleMessages(deliveries.confirmed(author, upTo: number, by: members[index].id))
    }

    // MARK: Sending

    /// Sends what is due. Call it after other methods, and at `deadline`.
    package mutating func settle(now: MediaTime) {
        guard isDirty || hasDirtyMember || deadline <= now else { return }
        let isForAll = isDirty
        (isDirty, hasDirtyMember) = (false, false)
        var next = MediaTime.distantFuture
        for index in members.indices where members[index].link.isGreeted {
            // Most of the time one of many members has acknowledged something.
            if isForAll || members[index].isDirty || members[index].deadline <= now {
                members[index].isDirty = false
                members[index].deadline = serve(index, now: now)
            }
            next = min(next, members[index].deadline)
        }
        deadline = next
    }

    mutating func markDirty() { isDirty = true }

    mutating func markDirty(_ index: Int) {
        members[index].isDirty = true
        hasDirtyMember = true
    }

    /// Sends what fits into the windows without the pause between batches, because the connections end now.
    package mutating func sendLast(now: MediaTime) {
        endPauses()
        markDirty()
        settle(now: now)
    }

    mutating func endPauses() {
        for index in members.indices { members[index].link.endPause() }
    }

    /// Sends what is due to this member. Returns when there is something to do for it again.
    mutating func serve(_ index: Int, now: MediaTime) -> MediaTime {
        var next = MediaTime.distantFuture
        let id = members[index].id
        // A guest's keeper may take its time.
        let hasPatience = configuration.role != .guest
        if hasPatience, let time = members[index].link.patience, time <= now {
            violated(id, "it doesn't confirm what it is sent")
            if configuration.role == .keeper { disconnected(id) }
            return .distantFuture
        }
        while members[index].link.cursor < log.end, let time = members[index].link.batchTime(now: now) {
            guard time <= now else {
                next = min(next, time)
                break
            }
            sendBatch(index, now: now)
        }
        if hasPatience, let time = members[index].link.patience { next = min(next, time) }
        if let time = members[index].link.acknowledgementTime(now: now) {
            if time <= now {
                outputs.append(.send(id, .acknowledged(members[index].link.acknowledge(now: now))))
            } else {
                next = min(next, time)
            }
        }
        if let isSlowed = members[index].link.slowedChange(now: now) { outputs.append(.send(id, .slowed(isSlowed))) }
        if let end = members[index].link.slowedEnd { next = min(next, end) }
        if let time = members[index].link.receiptTime(now: now) {
            if time <= now {
                outputs.append(.send(id, .receipts(members[index].link.takeReceipts(now: now))))
            } else {
                next = min(next, time)
            }
        }
        return min(next, sendPartials(index, now: now))
    }

    private mutating func sendBatch(_ index: Int, now: MediaTime) {
        let (member, isKeeper, forks) = (members[index], configuration.role == .keeper, forks)
        let found = log.batch(
            from: member.link.cursor, has: member.link.sent, of: configuration.role == .guest ? own : nil,
            leavesOut: { member.link.equals.holds[$0] != nil || forks.isFrozen($0) }
        ) { entry, author, position in
            // Guests send only what they have written, and equals everything.
            guard isKeeper else { return true }
            guard entry.recipient == nil || entry.recipient == member.device else { return false }
            return entry.kind != LogEntry.Kind.message.rawValue
                || position >= member.joined && !(author.device == member.device && author.run == member.run)
        }
        members[index].link.cursor = found.next
        guard let outgoing = found.outgoing else { return }
        if let newest = outgoing.newest.first(where: { $0.author == own }) { lastSent = max(lastSent, newest.number) }
        members[index].link.sent(outgoing, now: now)
        outputs.append(.send(members[index].id, .batch(outgoing.batch)))
    }
}
