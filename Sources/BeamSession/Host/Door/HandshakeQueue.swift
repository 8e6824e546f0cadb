import BeamMedia
import BeamWire

/// Schedules TLS handshakes. A handshake costs the event loop about a millisecond, and frames leave by the same loop.
///
/// Unknown peers share a tenth of the loop's time, in bursts of a few milliseconds, with pauses between the steps.
/// Address prefixes take turns. Addresses that a known device was admitted from have their own budget and go first.
public struct HandshakeQueue<ID: Hashable & Sendable>: Sendable {
    public enum Turn: Hashable, Sendable {
        /// This connection makes its next step now; the caller then calls `spent`.
        case take(ID)
        /// No step before that time.
        case wait(until: MediaTime)
        /// No handshake is waiting.
        case none
    }

    private struct Entry: Sendable {
        let id: ID
        let prefix: AddressPrefix
        let isKnownAddress: Bool
        /// A step of this handshake was made before.
        let hasBegun: Bool
    }

    /// The budget: µs of the loop's time for each second (10 %), and the most that can be saved up, in µs.
    private static var share: Int { 100_000 }
    private static var burst: Int { 20_000 }
    /// The least pause between two steps; it is as long as the last step if that took longer.
    private static var leastPause: Duration { .microseconds(500) }
    /// Prefixes whose last turn is remembered.
    private static var mostPrefixes: Int { 256 }

    /// In the order of arrival.
    private var entries: [Entry] = []
    private var unknown = TokenBucket(capacity: Self.burst, bitsPerSecond: Self.share * 8)
    private var known = TokenBucket(capacity: Self.burst, bitsPerSecond: Self.share * 8)
    private var taken: Entry?
    /// The number of the last turn, and the last turn of each prefix.
    private var turn: UInt64 = 0
    private var turns: [AddressPrefix: UInt64] = [:]
    private var resume = MediaTime(nanoseconds: .min)

    public init() {}

    /// A connection has received bytes for its handshake. At most one entry for each `id`.
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

    /// The step that `next` returned took this long.
    public mutating func spent(_ time: Duration, now: MediaTime) {
        guard let entry = taken else { return }
        taken = nil
        let cost = Int(clamping: time.inNanoseconds / 1000)
        if entry.isKnownAddress { known.charge(cost, now: now) } else { unknown.charge(cost, now: now) }
        resume = now + max(Self.leastPause, time)
    }

    /// The entry of the prefix whose last turn is longest ago; within a prefix, handshakes that have begun go first.
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
