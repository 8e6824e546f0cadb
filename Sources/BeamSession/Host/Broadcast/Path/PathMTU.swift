import BeamMedia
import BeamWire

/// Finds the longest datagrams that one viewer's path carries: datagram path MTU discovery (RFC 8899).
///
/// A VPN or tunnel may drop long packets without a word, from the beginning or after a change of route: then short
/// datagrams arrive and long ones don't. Once long ones have been unproved for a while although the viewer is heard,
/// probes of each length are sent, and those that the viewer acknowledges decide. Now and then longer ones are tried
/// again.
///
/// A pure value: time is an argument, there is no I/O.
struct PathMTU: Sendable {
    /// Datagrams of the present length must have been unproved for this long, or for two round trips and the viewer's
    /// pause between reports, and at least so many of them, before they are doubted. Less, and a burst of losses would
    /// cause probes.
    private static let patience = Duration.milliseconds(150)
    private static let reportPause = Duration.milliseconds(60)
    private static let fewUnproved = 4
    /// From one round of probes, one of each length, to the next; and the most rounds.
    private static let roundPause = Duration.milliseconds(40)
    private static let mostRounds = 12
    /// A length is taken for too long when this many of its probes have had time to be acknowledged and none was, and
    /// this many of a shorter length were.
    private static let lostProbes = 3
    private static let provingProbes = 2
    /// After a search that changed nothing, how long until the next one.
    private static let restAfterSearch = Duration.seconds(1)
    /// From a reduction, and from a failed try, to the next try of longer datagrams. RFC 8899 (5.1.1) suggests ten
    /// minutes; a try costs some 6 kB, and a laptop's VPN ends at any time.
    private static let firstRaise = Duration.seconds(5)
    private static let longestRaise = Duration.seconds(60)
    private static let roundsToRaise = 4

    /// The present length.
    private(set) var size = DatagramSize.full
    /// The viewer acknowledges probes. If it doesn't, the length stays.
    private let canProbe: Bool

    /// Since when datagrams of the present length have been sent without proof that one has arrived, and how many.
    private var unprovedSince: MediaTime?
    private var unproved = 0
    private var restUntil = MediaTime(nanoseconds: .min)
    private var search: Search?
    private var raisePause = Self.firstRaise
    private var nextRaise: MediaTime?
    private var lastNumber: UInt16 = 0

    /// What the probes of one search have shown.
    private struct Search: Sendable {
        struct Probe: Sendable {
            var number: UInt16
            var size: DatagramSize
            var sent: MediaTime
            var isAcknowledged = false
        }

        /// Longer datagrams than the present ones are tried, which nothing depends on.
        let isRaise: Bool
        var probes: [Probe] = []
        var rounds = 0
        var nextRound: MediaTime
    }

    /// A probe to send: a state datagram with this number, padded to this length.
    struct Probe: Hashable, Sendable {
        var number: UInt16
        var size: DatagramSize
    }

    init(canProbe: Bool) { self.canProbe = canProbe }

    /// When to call `takeProbes`; nil while there is nothing to probe.
    var deadline: MediaTime? { search?.nextRound ?? nextRaise }

    // MARK: What happens

    /// Datagrams of the present length were sent: `count` that aren't a frame's last.
    mutating func sent(_ count: Int, now: MediaTime) {
        guard canProbe, count > 0 else { return }
        if unprovedSince == nil { unprovedSince = now }
        unproved += count
    }

    /// A datagram of that length, sent then, has arrived.
    mutating func proved(_ size: DatagramSize, sent: MediaTime, now: MediaTime) {
        guard size >= self.size, let unprovedSince, sent >= unprovedSince else { return }
        forgetUnproved()
        if let search, !search.isRaise { self.search = nil }
    }

    /// Nothing is known of what was sent so far: the path was silent, or the stream went elsewhere.
    mutating func forgetUnproved() {
        unprovedSince = nil
        unproved = 0
    }

    /// The viewer was heard. If long datagrams are missing although it is, a search begins.
    mutating func heard(roundTrip: Duration, now: MediaTime) {
        guard canProbe, search.map(\.isRaise) ?? true, restUntil <= now, unproved >= Self.fewUnproved,
            let unprovedSince, now - unprovedSince >= max(Self.patience, roundTrip * 2 + Self.reportPause)
        else { return }
        search = Search(isRaise: false, nextRound: now)
    }

    /// The probes to send now.
    mutating func takeProbes(roundTrip: Duration, now: MediaTime) -> [Probe] {
        if self.search == nil, let nextRaise, nextRaise <= now {
            self.nextRaise = nil
            self.search = Search(isRaise: true, nextRound: now)
        }
        guard var search, search.nextRound <= now else { return [] }
        guard search.rounds < (search.isRaise ? Self.roundsToRaise : Self.mostRounds) else {
            end(search, now: now)
            return []
        }
        search.rounds += 1
        let isLast = search.isRaise && search.rounds == Self.roundsToRaise
        search.nextRound = now + (isLast ? max(Self.roundPause, roundTrip * 2) : Self.roundPause)
        let sizes = DatagramSize.allCases.filter { !search.isRaise || $0 > size }
        let probes = sizes.map { size in
            lastNumber &+= 1
            return Probe(number: lastNumber, size: size)
        }
        search.probes += probes.map { Search.Probe(number: $0.number, size: $0.size, sent: now) }
        self.search = search
        return probes
    }

    /// The viewer has acknowledged a probe. True if shorter datagrams are to be sent from now on: then all that is in
    /// flight is lost. A number that wasn't sent, or is known already, is ignored.
    mutating func acknowledged(_ number: UInt16, roundTrip: Duration, now: MediaTime) -> Bool {
        guard let index = self.search?.probes.firstIndex(where: { $0.number == number && !$0.isAcknowledged }) else {
            return false
        }
        self.search?.probes[index].isAcknowledged = true
        guard let search, !search.isRaise else { return false }
        let patience = roundTrip + Self.roundPause / 2
        let overdue = search.probes.filter { now - $0.sent >= patience || $0.isAcknowledged }
        for candidate in DatagramSize.allCases.reversed() {
            let known = overdue.filter { $0.size == candidate }
            if known.contains(where: \.isAcknowledged) {
                if candidate >= size {
                    // The present length passes: what is missing was lost for another reason.
                    end(search, now: now)
                    return false
                }
                guard known.count(where: \.isAcknowledged) >= Self.provingProbes else { return false }
                reduce(to: candidate, now: now)
                return true
            }
            guard known.count >= Self.lostProbes else { return false }
        }
        return false
    }

    // MARK: Steps

    private mutating func reduce(to size: DatagramSize, now: MediaTime) {
        self.size = size
        search = nil
        forgetUnproved()
        nextRaise = now + raisePause
        raisePause = min(raisePause * 2, Self.longestRaise)
    }

    private mutating func end(_ search: Search, now: MediaTime) {
        self.search = nil
        guard search.isRaise else {
            restUntil = now + Self.restAfterSearch
            return forgetUnproved()
        }
        let proved = DatagramSize.allCases.last { size in
            size > self.size
                && search.probes.count(where: { $0.size == size && $0.isAcknowledged }) >= Self.provingProbes
        }
        if let proved {
            size = proved
            forgetUnproved()
        }
        guard size < .full else { return raisePause = Self.firstRaise }
        nextRaise = now + raisePause
        raisePause = min(raisePause * 2, Self.longestRaise)
    }
}
