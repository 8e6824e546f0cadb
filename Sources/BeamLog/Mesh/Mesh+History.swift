import BeamMedia
import BeamWire

/// Getting what was written before: when that is over, and what is missing.
struct CatchUp: Sendable {
    /// When this device entered the room.
    var entered = MediaTime.distantPast
    /// What is still taken as history, however fast it comes.
    var free = LogStore.Share(entries: LogLimits.entries, bytes: LogLimits.bytes)
    /// What somebody had who has gone before it had come: up to these numbers.
    var lost: [LogAuthor: UInt32] = [:]
    /// Something is missing of what was written before this time.
    var missingUntil = Duration.zero
    /// Somebody who knows what is missing has said so.
    var isTold = false
    /// Of what was written after this time everything is here; nil: it isn't known yet.
    private(set) var completeSince: Duration?
    /// Something has changed.
    var isDirty = false

    /// Returns whether that is new.
    mutating func know(completeSince: Duration) -> Bool {
        defer { self.completeSince = completeSince }
        return self.completeSince != completeSince
    }
}

extension Mesh {
    mutating func catchUpBegan(isNew: Bool, now: MediaTime) {
        catchUp = CatchUp()
        catchUp.entered = now
        if isNew { noteCompleteness(.zero) }
    }

    /// As a greeting says it.
    var toldCompleteSince: UInt64 {
        catchUp.completeSince.map { max($0, exchange.log.completeSince).inMilliseconds64 }
            ?? MeshMessage.Greeting.unknown
    }

    /// A peer has greeted: what it has and this device lacks is awaited.
    mutating func awaitHistory(_ greeting: MeshMessage.Greeting, _ index: Int, now: MediaTime) {
        exchange.members[index].link.equals.offered(greeting.has, now: now)
        // An author knows best what it has written so far: the rest is new.
        let author = LogAuthor(device: links[index].device, run: greeting.run)
        if let number = exchange.history[author] {
            exchange.history[author] = min(number, greeting.has[author]?.last ?? 0)
        }
        if catchUp.completeSince == nil, greeting.completeSince != MeshMessage.Greeting.unknown {
            catchUp.isTold = true
            let told = Duration.milliseconds(Int64(clamping: greeting.completeSince))
            catchUp.missingUntil = max(catchUp.missingUntil, min(told, age(now: now)))
        }
        catchUp.isDirty = true
    }

    /// A link has ended before everything had come.
    mutating func noteLost(_ member: LogExchange.Member) {
        guard catchUp.completeSince == nil, catchUp.lost.count < LogLimits.authors else { return }
        catchUp.lost.merge(member.link.equals.awaited) { max($0, $1) }
    }

    /// Entries of a peer were taken, or are known.
    mutating func noteServed(_ finding: LogStore.Finding, _ index: Int, now: MediaTime) {
        guard let offer = exchange.members[index].link.equals.offers[finding.author],
            finding.numbers.lowerBound <= offer.last
        else { return }
        exchange.members[index].link.equals.lastServed = now
        catchUp.isDirty = true
    }

    /// Notices when everything has come. Returns when to look again.
    mutating func settleHistory(now: MediaTime) -> MediaTime {
        guard membership != nil, !isEnded else { return .distantFuture }
        var next = MediaTime.distantFuture
        for index in links.indices where links[index].isUp {
            var equals: EqualsExchange { exchange.members[index].link.equals }
            guard !equals.awaited.isEmpty else { continue }
            if catchUp.isDirty {
                exchange.members[index].link.equals.awaited = equals.awaited.filter {
                    isAwaited($0.key, upTo: $0.value)
                }
                if equals.awaited.isEmpty { continue }
            }
            let patience = max(equals.lastServed, equals.toldUntil) + MeshLimits.offerPatience
            guard patience <= now else {
                next = min(next, patience)
                continue
            }
            exchange.members[index].link.equals.awaited = [:]
            // What it has said to have, nobody may have. What comes all the same is taken.
            if catchUp.completeSince == nil { catchUp.missingUntil = age(now: now) }
        }
        catchUp.isDirty = false
        let up = exchange.members.filter(\.link.isGreeted)
        guard up.allSatisfy(\.link.equals.awaited.isEmpty) else { return next }
        if catchUp.completeSince == nil {
            guard !up.isEmpty else { return next }
            let grace = catchUp.entered + MeshLimits.entranceGrace
            guard now >= grace else { return min(next, grace) }
            // Those who have just come themselves don't know; somebody else may.
            let patience = catchUp.entered + MeshLimits.untoldPatience
            guard catchUp.isTold || now >= patience else { return min(next, patience) }
            // Somebody who had more has gone meanwhile.
            if catchUp.lost.contains(where: { isAwaited($0.key, upTo: $0.value) }) {
                catchUp.missingUntil = age(now: now)
            }
            catchUp.lost = [:]
            if !catchUp.isTold { catchUp.missingUntil = max(catchUp.missingUntil, age(now: catchUp.entered)) }
            // What comes from now on is new, whatever was said to be there.
            for (author, number) in exchange.history {
                exchange.history[author] = min(number, exchange.log.last(of: author))
            }
        }
        noteCompleteness(max(catchUp.missingUntil, exchange.log.completeSince))
        return next
    }

    private func isAwaited(_ author: LogAuthor, upTo number: UInt32) -> Bool {
        author != own && exchange.log.last(of: author) < number && !exchange.forks.isFrozen(author)
            && isWanted(author, upTo: number) && membership?.everybody[author.device] != nil
    }

    private mutating func noteCompleteness(_ since: Duration) {
        guard catchUp.know(completeSince: since) else { return }
        outputs.append(.event(.log(.history(completeSince: since))))
    }
}
