import BeamMedia
import BeamWire

/// What two equals have told each other about entries, beside the entries.
struct EqualsExchange: Sendable {
    // MARK: What the peer wants

    /// Authors whose entries it doesn't take before these times.
    var holds: [LogAuthor: MediaTime] = [:]
    /// Going back in the order of entries takes a walk through all of them, so it isn't done more often than this.
    var nextRewind = MediaTime.distantPast
    /// What it has had sent again.
    private var rewound = AuthorRate()
    var knownForks: Set<LogAuthor> = []
    var nextFork = MediaTime.distantPast

    // MARK: What comes from the peer

    /// What it had when it greeted.
    var offers: [LogAuthor: MeshMessage.KeptEntries] = [:]
    /// Of that, what isn't here: up to these numbers.
    var awaited: [LogAuthor: UInt32] = [:]
    /// When something of that came last.
    var lastServed = MediaTime.distantPast
    /// Authors whose beginnings it was asked for, to be had only once.
    private var askedAgain: Set<LogAuthor> = []
    /// Until when it was told to send nothing of these authors.
    private(set) var told: [LogAuthor: MediaTime] = [:]
    /// The newest entry of each author that has come from it: what is before that needn't come again.
    private var came: [LogAuthor: UInt32] = [:]

    /// The peer has greeted, and has this.
    mutating func offered(_ has: [LogAuthor: MeshMessage.KeptEntries], now: MediaTime) {
        (offers, awaited, lastServed) = (has, has.mapValues(\.last), now)
    }

    mutating func forget(_ author: LogAuthor) {
        holds[author] = nil
        offers[author] = nil
        awaited[author] = nil
        told[author] = nil
        came[author] = nil
    }

    /// The peer has sent these entries. Returns how many of them it had sent before, without having been asked to.
    mutating func arrived(_ author: LogAuthor, _ numbers: ClosedRange<UInt32>, now: MediaTime) -> Int {
        // What was under way when it was told to wait comes again.
        if let time = told[author], time > now { return 0 }
        let before = came[author] ?? 0
        came[author] = max(before, numbers.upperBound)
        return before < numbers.lowerBound ? 0 : Int(min(before, numbers.upperBound) - numbers.lowerBound) + 1
    }

    /// Whether the peer is told to wait with that author: not again while it was told a moment ago.
    mutating func tell(_ author: LogAuthor, after number: UInt32, until time: MediaTime, now: MediaTime) -> Bool {
        if told.count >= LogLimits.authors { told = told.filter { $0.value > now } }
        guard told[author] ?? .distantPast <= now, told.count < LogLimits.authors else { return false }
        told[author] = time
        if let last = came[author] { came[author] = min(last, number) }
        return true
    }

    /// Whether it is asked to send what it said to have of the author from the beginning: not twice.
    mutating func asksAgain(_ author: LogAuthor) -> Bool {
        guard askedAgain.insert(author).inserted else { return false }
        came[author] = nil
        return true
    }

    /// When the peer may send the last of those that it was told to wait with.
    var toldUntil: MediaTime { told.values.max() ?? .distantPast }

    /// The peer wants the author's entries again, `count` of them, and not yet.
    mutating func hold(_ author: LogAuthor, again count: Int, for pause: Duration, now: MediaTime) {
        let pause = min(max(pause, MeshLimits.shortestHold), MeshLimits.longestHold)
        holds[author] = max(now + pause, rewound.add(entries: count, bytes: 0, now: now))
    }
}
