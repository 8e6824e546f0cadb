import BeamMedia

/// Recognises that several viewers share a bottleneck, such as an access point, and estimates what it carries for each.
///
/// Each path's own congestion control can't divide a shared bottleneck: whose queue is measured at a lucky moment grows,
/// the others give way, and it stays like that. So a bottleneck is recognised by the delays of its viewers, which rise
/// together. From then on they are one path: what arrives at all of them while the queue stands is what it carries, each
/// gets an equal share of it, and the share grows and falls for all at once.
///
/// Viewers on separate paths that are congested at one time, because the stream has grown, may be taken for such a group.
/// Whose own path carries less than the share is congested when the others aren't, and is left out.
///
/// A pure value: time is an argument.
struct SharedBottleneck: Sendable {
    /// What is known of a viewer's path now.
    struct Path: Sendable {
        var id: ViewerID
        /// Bytes of frames that have arrived at the viewer in all.
        var arrived: Int64
        /// A queue stands on its path.
        var isCongested: Bool
        /// The queueing delay on its path, in seconds.
        var queue: Double
        /// The share of datagrams lost.
        var loss: Double
        /// Its path limits what it gets.
        var isBound: Bool
    }

    /// What each member gets, in bits a second on the wire.
    struct Share: Hashable, Sendable {
        /// What it may be sent.
        var rate: Double
        /// How fast it is sent: all together hardly faster than the bottleneck carries, so that a keyframe for everybody
        /// doesn't overflow its queue.
        var pace: Double
    }

    /// How often `update` is to be called.
    static let interval = Duration.milliseconds(100)
    /// A queue's viewers see it within this time.
    private static let span = Duration.milliseconds(400)
    /// Fewer viewers aren't taken for a group.
    private static let fewest = 3
    /// The share of what arrives that is used, as in `PathControl`.
    private static let usedShare = 0.9
    /// Below this part of the share, the encoder doesn't take what it may: at good quality it leaves about half of a rate
    /// unused. The share then falls to `unfilledStep`.
    private static let filledShare = 0.8
    private static let unfilledStep = 0.8
    /// The share grows while this part of it is used.
    private static let growingShare = 0.4
    /// One congestion lowers the share to this at the least.
    private static let lowestStep = 0.7
    /// A viewer that is congested so often while most of the group isn't has a narrower path of its own.
    private static let mostOwn = 4
    /// A viewer that sees so many of the group's queues in a row not at all isn't behind its bottleneck.
    private static let mostMissed = 3
    /// While the others see a standing queue, whose delay is below this, in seconds, doesn't see it.
    private static let leastQueue = 0.004
    /// For this long a viewer that left the group isn't taken in again.
    private static let barTime = Duration.seconds(30)
    /// How long the queue takes to drain after the share has fallen.
    private static let drainTime = Duration.milliseconds(600)

    private struct Member: Sendable {
        /// Congestions since the group's last one.
        var own = 0
        /// The group's congestions that it hasn't seen.
        var missed = 0
    }

    private var members: [ViewerID: Member] = [:]
    /// When each viewer was congested last.
    private var congestedAt: [ViewerID: MediaTime] = [:]
    private var barredUntil: [ViewerID: MediaTime] = [:]
    /// Viewers that don't seem to be behind the bottleneck, until then or until they see a queue with the group.
    private var apartUntil: [ViewerID: MediaTime] = [:]
    private static let apartTime = Duration.seconds(300)
    /// When each viewer was seen first. One that has just come is taken in without a sign of congestion.
    private var knownSince: [ViewerID: MediaTime] = [:]
    private static let newcomerTime = Duration.seconds(5)
    /// What each member may be sent, in bits a second on the wire; nil: there is no group.
    private var share: Double?
    /// What arrived at each member at most lately, in bits a second.
    private var carried = 0.0
    private static let paceFactor = 1.25
    /// Loss above this at most of the members is congestion, too: of a queue too short to be seen. It lowers the share to
    /// this part of what was carried at the least, in case the loss has another cause.
    private static let heavyLoss = 0.1
    private static let leastOfCarried = 0.6

    /// Nil: there is no group.
    var allotted: Share? { share.map { Share(rate: $0, pace: Self.paceFactor * max(carried, 0.5 * $0)) } }
    /// What each member got when the group was congested last.
    private var ceiling = 0.0
    private var lastCongestion: MediaTime?
    private var grownAt = MediaTime.zero
    /// What had arrived at each viewer at the last updates, the oldest first.
    private var arrivals: [(time: MediaTime, bytes: [ViewerID: Int64])] = []
    /// Updates that are kept: what arrives is measured over a second, by this machine's clock. A viewer's own measure of its
    /// rate is that of its short trains, which pass one after the other at full speed.
    private static let kept = 10

    var isEmpty: Bool { share == nil }
    func contains(_ id: ViewerID) -> Bool { share != nil && members[id] != nil }

    /// A queue was seen on the viewer's path.
    mutating func congested(_ id: ViewerID, now: MediaTime) {
        congestedAt[id] = now
        guard let lastCongestion, now - lastCongestion > Self.drainTime else { return }
        members[id]?.own += 1
    }

    mutating func left(_ id: ViewerID) {
        members[id] = nil
        congestedAt[id] = nil
        barredUntil[id] = nil
        apartUntil[id] = nil
        knownSince[id] = nil
        dissolveIfSmall()
    }

    /// Takes what is known of all paths; `limit`: the most bits a second that are wanted for a viewer.
    mutating func update(_ paths: [Path], limit: Double, now: MediaTime) {
        arrivals.append((now, Dictionary(paths.map { ($0.id, $0.arrived) }, uniquingKeysWith: max)))
        if arrivals.count > Self.kept { arrivals.removeFirst() }
        for path in paths where knownSince[path.id] == nil { knownSince[path.id] = now }
        takeInNewcomers(paths, now: now)
        if isCongestion(paths, now: now) {
            congestion(paths, limit: limit, now: now)
        } else {
            follow(paths, now: now)
            leaveOutSlow(now: now)
            grow(paths, limit: limit, now: now)
        }
    }

    private func isRecent(_ path: Path, now: MediaTime) -> Bool {
        hasQueue(path, now: now) || members[path.id] != nil && path.loss > Self.heavyLoss
    }

    private func hasQueue(_ path: Path, now: MediaTime) -> Bool {
        path.isCongested || congestedAt[path.id].map { now - $0 <= Self.span } ?? false
    }

    /// Bits a second that arrive at the viewer; nil: not known.
    private func arriving(_ path: Path, now: MediaTime) -> Double? {
        guard let first = arrivals.first(where: { $0.bytes[path.id] != nil }), let before = first.bytes[path.id],
            now - first.time >= .milliseconds(300)
        else { return nil }
        return Double(max(0, path.arrived - before)) * 8 / (now - first.time).inSeconds
    }

    private func isBarred(_ id: ViewerID, now: MediaTime) -> Bool { barredUntil[id].map { now < $0 } ?? false }

    /// Most of the viewers that something limits are congested at once.
    private func isCongestion(_ paths: [Path], now: MediaTime) -> Bool {
        if let lastCongestion, now - lastCongestion < Self.drainTime { return false }
        var (recent, candidates) = (0, 0)
        for path in paths where !isBarred(path.id, now: now) {
            let isNew = isRecent(path, now: now)
            if isNew { recent += 1 }
            if isNew || path.isBound || members[path.id] != nil { candidates += 1 }
        }
        return recent >= Self.fewest && recent * 2 >= candidates
    }

    /// While most viewers are of the group, one that comes is probably behind the same bottleneck: at its full rate it would
    /// fill that for all of them. One that was here before and isn't limited by anything stays out, whatever the others
    /// report.
    private mutating func takeInNewcomers(_ paths: [Path], now: MediaTime) {
        guard share != nil, members.count * 2 > paths.count else { return }
        for path in paths where members[path.id] == nil && !isBarred(path.id, now: now) {
            let isNew = knownSince[path.id].map { now - $0 < Self.newcomerTime } ?? true
            guard isNew || path.isBound || path.queue > Self.leastQueue else { continue }
            if apartUntil[path.id].map({ now >= $0 }) ?? true { members[path.id] = Member() }
        }
    }

    private mutating func congestion(_ paths: [Path], limit: Double, now: MediaTime) {
        var rates: [Double] = []
        for path in paths where !isBarred(path.id, now: now) {
            guard isRecent(path, now: now) || path.isBound || members[path.id] != nil else { continue }
            if members[path.id] == nil, !hasQueue(path, now: now), apartUntil[path.id].map({ now < $0 }) ?? false {
                continue
            }
            var member = members[path.id] ?? Member()
            member.own = 0
            let hasSeen = isRecent(path, now: now) || path.queue > Self.leastQueue
            member.missed = hasSeen ? 0 : member.missed + 1
            guard member.missed < Self.mostMissed else {
                members[path.id] = nil
                apartUntil[path.id] = now + Self.apartTime
                continue
            }
            members[path.id] = member
            if let arriving = arriving(path, now: now) { rates.append(arriving) }
        }
        guard !rates.isEmpty, members.count >= Self.fewest else { return dissolveIfSmall() }
        // The median: some that report too little don't lower everybody's share.
        rates.sort()
        let measured = min(limit, (rates[(rates.count - 1) / 2] + rates[rates.count / 2]) / 2)
        let next = max(PathControl.leastRate, Self.usedShare * measured)
        if share == nil { carried = measured }
        if let share, paths.count(where: { hasQueue($0, now: now) }) < Self.fewest {
            ceiling = share
            self.share = max(Self.leastOfCarried * carried, Self.unfilledStep * share)
        } else if let share, measured < Self.filledShare * share {
            // The encoder takes only a part of what it may, so the share at which the path was full is more than what
            // arrived.
            ceiling = share
            self.share = Self.unfilledStep * share
        } else {
            ceiling = measured
            share = share.map { max(Self.lowestStep * $0, min($0, next)) } ?? next
        }
        lastCongestion = now
        grownAt = now
    }

    /// Follows what arrives: up at once, down slowly.
    private mutating func follow(_ paths: [Path], now: MediaTime) {
        guard share != nil else { return }
        let rates = paths.compactMap { members[$0.id] == nil ? nil : arriving($0, now: now) }
        guard !rates.isEmpty else { return }
        carried = max(carried * 0.995, rates.reduce(0, +) / Double(rates.count))
    }

    private mutating func leaveOutSlow(now: MediaTime) {
        guard share != nil, members.values.count(where: { $0.own == 0 }) * 2 > members.count else { return }
        for (id, member) in members where member.own >= Self.mostOwn { leaveOut(id, now: now) }
        dissolveIfSmall()
    }

    private mutating func leaveOut(_ id: ViewerID, now: MediaTime) {
        members[id] = nil
        barredUntil[id] = now + Self.barTime
    }

    private mutating func dissolveIfSmall() {
        if members.count < Self.fewest { dissolve() }
    }

    private mutating func dissolve() {
        members.removeAll()
        share = nil
        lastCongestion = nil
    }

    /// Raises the share while no queue is seen: the longer, the faster, as CUBIC does (RFC 9438), because the longer a
    /// ceiling wasn't met, the less likely it still holds.
    private mutating func grow(_ paths: [Path], limit: Double, now: MediaTime) {
        guard let share, let lastCongestion, now - grownAt >= .milliseconds(500) else { return }
        grownAt = now
        // Less was sent than might have been: nothing is known of more. The member that gets most counts, so that others
        // can't hold the share down by reporting nothing.
        let most = paths.compactMap { self.members[$0.id] == nil ? nil : self.arriving($0, now: now) }.max() ?? 0
        guard most >= Self.growingShare * share else { return }
        let quiet = (now - lastCongestion).inSeconds
        let factor =
            share < 0.9 * ceiling ? 1.1 : share < 1.1 * ceiling ? min(1.06, 1.002 + 0.0008 * quiet * quiet) : 1.08
        guard share * factor < limit else { return dissolve() }
        self.share = share * factor
    }
}
