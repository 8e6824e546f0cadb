import BeamMedia
import BeamWire

/// Entries that are missing before the first kept one of a log, collected until they reach it: somebody has them after all.
struct LogRefill: Sendable {
    /// From whom they come.
    let link: MeshLinkID
    /// The numbers that are asked for.
    let numbers: Range<UInt32>
    var progress: MediaTime
    private(set) var entries: [StoredEntry] = []
    /// What the author has signed among them, and after them.
    private(set) var signatures: [UInt32: [UInt8]] = [:]
    /// The chain's digest before the first, and after the last so far.
    private(set) var startDigest: [UInt8] = []
    private(set) var digest: [UInt8] = []
    private(set) var cost = 0

    init(link: MeshLinkID, numbers: Range<UInt32>, now: MediaTime) {
        (self.link, self.numbers, progress) = (link, numbers, now)
    }

    private var next: UInt32 { numbers.lowerBound + UInt32(entries.count) }
    var isComplete: Bool { next == numbers.upperBound }

    /// Whether a section has the next ones.
    func isNext(_ numbers: ClosedRange<UInt32>) -> Bool { !isComplete && numbers.contains(next) }

    /// Takes them from a section whose signature was checked. False: they aren't the same author's words as those before.
    mutating func take(
        _ section: LogMessage.Batch.Section, _ finding: LogStore.Finding, _ items: [StoredEntry], now: MediaTime
    ) -> Bool {
        let before = finding.digest(after: next - 1)
        if entries.isEmpty { (startDigest, digest) = (before, before) }
        guard digest == before else { return false }
        let skipped = Int(next - finding.numbers.lowerBound)
        let taken = items.dropFirst(skipped).prefix(Int(numbers.upperBound - next))
        entries += taken
        cost += taken.reduce(0) { $0 + $1.cost }
        digest = finding.digest(after: next - 1)
        signatures[finding.numbers.upperBound] = section.signature
        progress = now
        return true
    }
}

/// A log that was believed to begin late, or to have a gap, is asked for again when somebody comes who has more of it.
extension Mesh {
    /// At a time.
    private static let mostRefills = 8

    /// Asks a peer for what it said to have and is missing here, once.
    mutating func startRefills(from index: Int, now: MediaTime) {
        var asked: [MeshMessage.HeldAuthor] = []
        for (author, offer) in exchange.members[index].link.equals.offers {
            guard refills.count < Self.mostRefills, refills[author] == nil, !exchange.forks.isFrozen(author),
                let log = exchange.log.index(of: author).map({ exchange.log.authors[$0] }), let gap = log.missing.last,
                offer.first > 0, offer.first <= gap.upperBound, offer.last >= log.first,
                isWanted(author, upTo: log.first - 1),
                exchange.members[index].link.equals.asksAgain(author)
            else { continue }
            refills[author] = LogRefill(link: links[index].id, numbers: offer.first..<log.first, now: now)
            asked.append(
                MeshMessage.HeldAuthor(
                    author: author, after: offer.first - 1,
                    milliseconds: UInt32(clamping: MeshLimits.shortestHold.inMilliseconds64)))
        }
        if !asked.isEmpty { send(.mesh(.held(asked)), index, now: now) }
    }

    /// Takes what a batch has of them. Throws if that isn't its author's.
    mutating func refill(
        _ batch: LogMessage.Batch, _ findings: [LogStore.Finding], _ verdicts: [Verdict], from link: MeshLinkID,
        now: MediaTime
    ) throws(LogStore.Rejection) {
        for (place, finding) in findings.enumerated() {
            guard verdicts[place] == .known || verdicts[place] == .taken, var refill = refills[finding.author],
                refill.link == link, refill.isNext(finding.numbers)
            else { continue }
            let section = batch.sections[place]
            guard exchange.log.isSigned(section, finding) else { throw .signature }
            let items = batch.items.filter { Int($0.section) == place }.map(\.entry)
            let total = refills.values.reduce(0) { $0 + $1.cost } + finding.cost
            guard refill.take(section, finding, items, now: now), total <= LogLimits.bytes / 2 else {
                refills[finding.author] = nil
                continue
            }
            refills[finding.author] = refill.isComplete ? nil : refill
            guard refill.isComplete, isWanted(finding.author, upTo: refill.numbers.upperBound - 1) else { continue }
            exchange.tell(exchange.log.prepend(refill, to: finding.author, age: age(now: now)), now: now)
            exchange.forgetDropped()
            passOn(now: now)
            catchUp.isDirty = true
        }
    }

    /// Gives up what doesn't come, and asks others. Returns when to look again.
    mutating func settleRefills(now: MediaTime) -> MediaTime {
        guard !refills.isEmpty else { return .distantFuture }
        let before = refills.count
        refills = refills.filter { author, refill in
            refill.progress + MeshLimits.offerPatience > now && index(of: refill.link) != nil
                && exchange.log.index(of: author).map { exchange.log.authors[$0].first } == refill.numbers.upperBound
        }
        if refills.count < before { startRefills(now: now) }
        return refills.values.reduce(.distantFuture) { min($0, $1.progress + MeshLimits.offerPatience) }
    }

    mutating func startRefills(now: MediaTime) {
        for index in links.indices where links[index].isUp { startRefills(from: index, now: now) }
    }
}
