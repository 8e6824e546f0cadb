import BeamMedia

/// A log that begins late, or goes on after a gap, and isn't believed yet.
struct LateStart: Sendable {
    /// Since when that is known, and when something of its author was taken last.
    var since: MediaTime
    var progress: MediaTime
}

/// Entries that aren't taken for now. Who brings them isn't to blame: it is told to send them later.
extension Mesh {
    /// What becomes of a section of a batch.
    enum Verdict: Hashable, Sendable {
        /// Nobody here wants it: its author doesn't belong to the room, was put out before, or has forked its log.
        case unwanted
        /// Only its signature counts: nobody else can have written this device's own log.
        case own
        case known
        case taken
        case held(Duration)
        case forked(at: UInt32)
    }

    func verdict(_ finding: LogStore.Finding, _ link: Link, now: MediaTime) -> Verdict {
        let author = finding.author
        guard membership?.everybody[author.device] != nil, !forks.isFrozen(author) else { return .unwanted }
        guard author != own else { return finding.relation == .known ? .known : .own }
        switch finding.relation {
        case .known: return .known
        case .differs(let number): return .forked(at: number)
        case .late where !isWanted(author, upTo: finding.numbers.upperBound): return .unwanted
        case .late where !believesStart(of: author, from: link, now: now): return .held(MeshLimits.lateHold)
        case .follows where !isWanted(author, upTo: finding.numbers.upperBound): return .unwanted
        case .follows, .late: break
        }
        guard !isFree(finding, link, now: now), let due = budgets[author.device]?.due, due > now else { return .taken }
        return .held(due - now + MeshLimits.budgetHold)
    }

    /// Of a device that was put out only what was known to whoever has put it out is taken: its own clock may say anything.
    func isWanted(_ author: LogAuthor, upTo number: UInt32) -> Bool {
        guard let membership, !membership.belongs(author.device) else { return true }
        return membership.lastEntries(of: author.device)[author.run] ?? 0 >= number
    }

    // MARK: Budgets

    /// What a member says to have had when it greeted is history: a newcomer takes it as fast as it comes, once.
    private func isFree(_ finding: LogStore.Finding, _ link: Link, now: MediaTime) -> Bool {
        guard now < catchUp.entered + MeshLimits.catchUpTime, catchUp.free.entries >= finding.digests.count,
            catchUp.free.bytes >= finding.cost, let offer = link.entries.exchange.offers[finding.author]
        else { return false }
        return finding.numbers.upperBound <= offer.last
    }

    /// Charges the author, whoever has brought its entries.
    mutating func charge(_ finding: LogStore.Finding, _ link: Link, now: MediaTime) {
        let first = max(finding.numbers.lowerBound, log.last(of: finding.author) + 1)
        let entries = Int(finding.numbers.upperBound - first) + 1
        guard !isFree(finding, link, now: now) else {
            catchUp.free.entries -= entries
            catchUp.free.bytes -= finding.cost
            return
        }
        if budgets.count >= LogLimits.rememberedMembers { budgets = budgets.filter { !$0.value.isIdle(now: now) } }
        _ = budgets[finding.author.device, default: AuthorRate(burst: MeshLimits.authorBurst)].add(
            entries: entries, bytes: finding.cost, now: now)
    }

    // MARK: Logs that begin late

    /// Whether a log may begin late, or go on after a gap: if nobody else who is here says to have what is missing, or has
    /// said so and doesn't send it.
    private func believesStart(of author: LogAuthor, from link: Link, now: MediaTime) -> Bool {
        let last = log.last(of: author)
        guard let start = lateStarts[author] else { return false }
        let latest = start.since + MeshLimits.longestLateness
        // What is missing may be on its way: over another link, or from the same peer, who has been told where to go on.
        guard now >= catchUp.entered + MeshLimits.entranceGrace,
            now >= min(start.progress + MeshLimits.offerPatience, latest)
        else { return false }
        return links.filter(\.isUp).allSatisfy { other in
            guard other.id != link.id, let offer = other.entries.exchange.offers[author], offer.first <= last + 1,
                offer.last > last
            else { return true }
            return now >= min(other.entries.exchange.lastServed + MeshLimits.offerPatience, latest)
        }
    }

    /// Whether a log that begins late is noticed for the first time. What isn't noticed isn't believed. Few of one device are
    /// kept, and only what it has signed, so that nobody takes others' places.
    mutating func isNewLateStart(_ finding: LogStore.Finding, now: MediaTime) -> Bool {
        let author = finding.author
        guard finding.relation == .late, lateStarts[author] == nil, author != own, !forks.isFrozen(author),
            membership?.everybody[author.device] != nil, isWanted(author, upTo: finding.numbers.upperBound)
        else { return false }
        lateStarts = lateStarts.filter { now < $0.value.since + MeshLimits.longestLateness * 2 }
        return lateStarts.keys.count { $0.device == author.device } < MeshLimits.lateStartsPerDevice
    }

    // MARK: Telling, and being told

    /// Tells the peer to wait with what wasn't taken.
    mutating func hold(_ held: [(author: LogAuthor, pause: Duration)], _ index: Int, now: MediaTime) {
        var told: [MeshMessage.HeldAuthor] = []
        for (author, pause) in held {
            let pause = min(pause, MeshLimits.longestHold)
            let last = log.last(of: author)
            guard links[index].entries.exchange.tell(author, after: last, until: now + pause, now: now) else {
                continue
            }
            told.append(
                MeshMessage.HeldAuthor(
                    author: author, after: last, milliseconds: UInt32(clamping: pause.inMilliseconds64)))
        }
        if !told.isEmpty { send(.mesh(.held(told)), index, now: now) }
    }

    /// The peer hasn't taken entries.
    mutating func take(_ held: [MeshMessage.HeldAuthor], from index: Int, now: MediaTime) {
        for held in held where log.index(of: held.author) != nil {
            let sent = links[index].entries.sent[held.author] ?? 0
            guard held.after <= sent else { continue }
            links[index].entries.sent[held.author] = held.after
            links[index].entries.exchange.hold(
                held.author, again: Int(sent - held.after), for: .milliseconds(Int64(held.milliseconds)), now: now)
        }
    }

    /// Goes back to what may be sent again by now. Returns when that is to be done the next time.
    mutating func endHolds(_ index: Int, now: MediaTime) -> MediaTime {
        var exchange = links[index].entries.exchange
        guard let first = exchange.holds.values.min() else { return .distantFuture }
        guard max(first, exchange.nextRewind) <= now else { return max(first, exchange.nextRewind) }
        for (author, time) in exchange.holds where time <= now {
            exchange.holds[author] = nil
            let sent = links[index].entries.sent[author] ?? 0
            guard let position = log.position(of: author, after: sent) else { continue }
            links[index].entries.cursor = min(links[index].entries.cursor, position)
        }
        exchange.nextRewind = now + MeshLimits.shortestHold
        links[index].entries.exchange = exchange
        return exchange.holds.values.min().map { max($0, exchange.nextRewind) } ?? .distantFuture
    }
}
