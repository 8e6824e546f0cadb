import BeamMedia
import BeamWire

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

    func verdict(_ finding: LogStore.Finding, _ peer: LogExchange.Member, now: MediaTime) -> Verdict {
        let author = finding.author
        guard membership?.everybody[author.device] != nil, !exchange.forks.isFrozen(author) else { return .unwanted }
        guard author != own else { return finding.relation == .known ? .known : .own }
        switch finding.relation {
        case .known: return .known
        case .differs(let number): return .forked(at: number)
        case .late where !isWanted(author, upTo: finding.numbers.upperBound): return .unwanted
        case .late where !believesStart(of: author, from: peer, now: now): return .held(MeshLimits.lateHold)
        case .follows where !isWanted(author, upTo: finding.numbers.upperBound): return .unwanted
        case .follows, .late: break
        }
        guard !isFree(finding, peer, now: now), let due = budgets[author.device]?.due, due > now else { return .taken }
        return .held(due - now + MeshLimits.budgetHold)
    }

    /// Of a device that was put out only what was known to whoever has put it out is taken: its own clock may say anything.
    func isWanted(_ author: LogAuthor, upTo number: UInt32) -> Bool {
        guard let membership, !membership.belongs(author.device) else { return true }
        return membership.lastEntries(of: author.device)[author.run] ?? 0 >= number
    }

    // MARK: Budgets

    /// What a member says to have had when it greeted is history: a newcomer takes it as fast as it comes, once.
    private func isFree(_ finding: LogStore.Finding, _ peer: LogExchange.Member, now: MediaTime) -> Bool {
        guard now < catchUp.entered + MeshLimits.catchUpTime, catchUp.free.entries >= finding.digests.count,
            catchUp.free.bytes >= finding.cost, let offer = peer.link.equals.offers[finding.author]
        else { return false }
        return finding.numbers.upperBound <= offer.last
    }

    /// Charges the author, whoever has brought its entries.
    mutating func charge(_ finding: LogStore.Finding, _ peer: LogExchange.Member, now: MediaTime) {
        let first = max(finding.numbers.lowerBound, exchange.log.last(of: finding.author) + 1)
        let entries = Int(finding.numbers.upperBound - first) + 1
        guard !isFree(finding, peer, now: now) else {
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
    private func believesStart(of author: LogAuthor, from peer: LogExchange.Member, now: MediaTime) -> Bool {
        let last = exchange.log.last(of: author)
        guard let start = lateStarts[author] else { return false }
        let latest = start.since + MeshLimits.longestLateness
        // What is missing may be on its way: over another link, or from the same peer, who has been told where to go on.
        guard now >= catchUp.entered + MeshLimits.entranceGrace,
            now >= min(start.progress + MeshLimits.offerPatience, latest)
        else { return false }
        return exchange.members.filter(\.link.isGreeted).allSatisfy { other in
            guard other.id != peer.id, let offer = other.link.equals.offers[author], offer.first <= last + 1,
                offer.last > last
            else { return true }
            return now >= min(other.link.equals.lastServed + MeshLimits.offerPatience, latest)
        }
    }

    /// Whether a log that begins late is noticed for the first time. What isn't noticed isn't believed. Few of one device are
    /// kept, and only what it has signed, so that nobody takes others' places.
    mutating func isNewLateStart(_ finding: LogStore.Finding, now: MediaTime) -> Bool {
        let author = finding.author
        guard finding.relation == .late, lateStarts[author] == nil, author != own, !exchange.forks.isFrozen(author),
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
            let last = exchange.log.last(of: author)
            guard exchange.members[index].link.equals.tell(author, after: last, until: now + pause, now: now) else {
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
        for held in held where exchange.log.index(of: held.author) != nil {
            let sent = exchange.members[index].link.sent[held.author] ?? 0
            guard held.after <= sent else { continue }
            exchange.members[index].link.sent[held.author] = held.after
            exchange.members[index].link.equals.hold(
                held.author, again: Int(sent - held.after), for: .milliseconds(Int64(held.milliseconds)), now: now)
        }
    }

    /// Goes back to what may be sent again by now. Returns when that is to be done the next time.
    mutating func endHolds(_ index: Int, now: MediaTime) -> MediaTime {
        var equals = exchange.members[index].link.equals
        guard let first = equals.holds.values.min() else { return .distantFuture }
        guard max(first, equals.nextRewind) <= now else { return max(first, equals.nextRewind) }
        for (author, time) in equals.holds where time <= now {
            equals.holds[author] = nil
            let sent = exchange.members[index].link.sent[author] ?? 0
            guard let position = exchange.log.position(of: author, after: sent) else { continue }
            exchange.members[index].link.cursor = min(exchange.members[index].link.cursor, position)
        }
        equals.nextRewind = now + MeshLimits.shortestHold
        exchange.members[index].link.equals = equals
        return equals.holds.values.min().map { max($0, equals.nextRewind) } ?? .distantFuture
    }
}
