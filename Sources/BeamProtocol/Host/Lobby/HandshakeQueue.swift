import BeamMedia

/// Whose TLS handshake goes on next, and when: handshakes cost the event loop a millisecond each, and frames leave by the same loop.
///
/// Time is a budget: unknown peers get a tenth of the loop's, in bursts of a few milliseconds with pauses between the steps. Address
/// prefixes take turns; addresses that a viewer was let in from have a budget of their own, and go first.
public struct HandshakeQueue<ID: Hashable & Sendable>: Sendable {
    public enum Turn: Hashable, Sendable {
        /// It makes its next step now; `spent` is called after that.
        case take(ID)
        /// Nobody before then.
        case wait(until: MediaTime)
        /// Nobody waits.
        case none
    }

    private struct Entry: Sendable {
        let id: ID
        let prefix: AddressPrefix
        let isKnownAddress: Bool
        /// It has made a step before.
        let hasBegun: Bool
    }

    /// Of the loop's time, in µs a second, and at once.
    private static var share: Int { 100_000 }
    private static var burst: Int { 20_000 }
    /// From the end of a step to the next: at least this, and as long as the step took.
    private static var leastPause: Duration { .microseconds(500) }
    /// Prefixes whose turn is remembered.
    private static var mostPrefixes: Int { 256 }

    /// In the order of their coming.
    private var entries: [Entry] = []
    private var unknown = TokenBucket(capacity: Self.burst, bitsPerSecond: Self.share * 8)
    private var known = TokenBucket(capacity: Self.burst, bitsPerSecond: Self.share * 8)
    private var taken: Entry?
    /// Counts turns; the latest of each prefix.
    private var turn: UInt64 = 0
    private var turns: [AddressPrefix: UInt64] = [:]
    private var resume = MediaTime(nanoseconds: .min)

    public init() {}

    /// Something has come that the handshake can go on with. At most one entry for each `id`.
    public mutating func add(_ id: ID, from address: IPAddress, isKnownAddress: Bool, hasBegun: Bool) {
        guard !entries.contains(where: { $0.id == id }) else { return }
        entries.append(
            Entry(id: id, prefix: AddressPrefix(address), isKnownAddress: isKnownAddress, hasBegun: hasBegun))
    }

    /// Its connection has ended.
    public mutating func remove(_ id: ID) { entries.removeAll { $0.id == id } }

    public mutating func next(now: MediaTime) -> Turn {
        guard !entries.isEmpty else { return .none }
        guard resume <= now else { return .wait(until: resume) }
        var waits = MediaTime.distantFuture
        for isKnownAddress in [true, false] {
            guard let index = first(isKnownAddress) else { continue }
            if let time = isKnownAddress ? known.take(1, now: now) : unknown.take(1, now: now) {
                waits = min(waits, time)
                continue
            }
            let entry = entries.remove(at: index)
            turn += 1
            if turns.count >= Self.mostPrefixes { turns.removeAll(keepingCapacity: true) }
            turns[entry.prefix] = turn
            taken = entry
            return .take(entry.id)
        }
        return .wait(until: waits)
    }

    /// The step that `next` has answered took so long.
    public mutating func spent(_ time: Duration, now: MediaTime) {
        guard let entry = taken else { return }
        taken = nil
        let cost = Int(clamping: time.inNanoseconds / 1000)
        if entry.isKnownAddress { known.charge(cost, now: now) } else { unknown.charge(cost, now: now) }
        resume = now + max(Self.leastPause, time)
    }

    /// Of the prefix whose last turn is the longest ago; there, what has begun goes before what is new.
    private func first(_ isKnownAddress: Bool) -> Int? {
        var best: (index: Int, turn: UInt64, hasBegun: Bool)?
        for (index, entry) in entries.enumerated() where entry.isKnownAddress == isKnownAddress {
            let turn = turns[entry.prefix] ?? 0
            if let best, best.turn < turn || best.turn == turn && (best.hasBegun || !entry.hasBegun) { continue }
            best = (index, turn, entry.hasBegun)
        }
        return best?.index
    }
}
