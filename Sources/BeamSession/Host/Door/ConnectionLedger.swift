import BeamMedia
import BeamWire

/// Limits the control connections of unknown peers: how many are open, for each address prefix and in all, and how many
/// new ones are accepted each second.
///
/// A connection is counted from when it is accepted until its device is known, its viewer is admitted, or it is closed.
/// When all places are taken, the oldest connection of the prefix that holds most is evicted for one from a prefix that
/// holds fewer.
package struct ConnectionLedger: Sendable {
    package enum Verdict: Hashable, Sendable {
        /// Keep the connection, and close `evicted`, whose place it takes.
        case admit(evicted: ConnectionID?)
        case refuse(reason: String)
    }

    private struct Entry: Sendable {
        let id: ConnectionID
        let address: IPAddress
        let prefix: AddressPrefix
        let payment: Payment
        /// The person at the host is being asked about its viewer, so it isn't evicted.
        var isAsking = false
    }

    /// Which bucket, beside its prefix's, a connection's token came from.
    private enum Payment: Sendable {
        case none
        case total
        case newPrefixes
    }

    private struct PrefixRate: Sendable {
        var bucket = TokenBucket(
            capacity: HostLimits.connectionBurst, bitsPerSecond: HostLimits.connectionsPerSecond * 8)
        var lastUse: MediaTime
    }

    /// Oldest first.
    private var entries: [Entry] = []
    private var prefixRates: [AddressPrefix: PrefixRate] = [:]
    private var total = TokenBucket(
        capacity: HostLimits.totalConnectionBurst, bitsPerSecond: HostLimits.totalConnectionsPerSecond * 8)
    /// For prefixes without a connection in the last `HostLimits.newPrefixAfter`. A separate bucket, so that prefixes
    /// that connect all the time can't use it up.
    private var newPrefixes = TokenBucket(
        capacity: HostLimits.totalConnectionBurst, bitsPerSecond: HostLimits.newPrefixConnectionsPerSecond * 8)

    /// Prefixes whose rate is kept. Beyond that, the least recently used one is dropped.
    private static let mostPrefixRates = 256

    package init() {}

    var count: Int { entries.count }

    /// A connection was accepted. `isKnownAddress`: a known device was admitted from this address before; then only the
    /// limit of its prefix applies, not the total.
    package mutating func arrive(
        _ id: ConnectionID, from address: IPAddress, isKnownAddress: Bool, now: MediaTime
    ) -> Verdict {
        let prefix = AddressPrefix(address)
        let isNewPrefix = prefixRates[prefix].map { now - $0.lastUse > HostLimits.newPrefixAfter } ?? true
        guard takeToken(of: prefix, now: now) else {
            return .refuse(reason: "more than \(HostLimits.connectionsPerSecond) connections a second come from there")
        }
        let payment = isKnownAddress ? Payment.none : isNewPrefix ? .newPrefixes : .total
        switch payment {
        case .none: break
        case .newPrefixes:
            guard newPrefixes.take(1, now: now) == nil else {
                let rate = HostLimits.newPrefixConnectionsPerSecond
                return .refuse(reason: "more than \(rate) connections a second come from new networks")
            }
        case .total:
            guard total.take(1, now: now) == nil else {
                let rate = HostLimits.totalConnectionsPerSecond
                return .refuse(reason: "more than \(rate) connections a second come in all")
            }
        }
        let holding = entries.filter { $0.prefix == prefix }
        var evicted: ConnectionID?
        if holding.count >= HostLimits.unknownConnectionsPerPrefix {
            evicted = connectionToEvict(among: holding, for: address) { $0.address }
            guard evicted != nil else {
                return .refuse(
                    reason: "\(HostLimits.unknownConnectionsPerPrefix) connections from there wait to be let in already"
                )
            }
        } else if entries.count >= HostLimits.unknownConnections {
            evicted = connectionToEvict(among: entries, for: prefix) { $0.prefix }
            guard evicted != nil else {
                return .refuse(reason: "\(HostLimits.unknownConnections) connections wait to be let in already")
            }
        }
        if let evicted { remove(evicted) }
        entries.append(Entry(id: id, address: address, prefix: prefix, payment: payment))
        return .admit(evicted: evicted)
    }

    /// The person is being asked about its viewer.
    package mutating func markAsking(_ id: ConnectionID) {
        if let index = entries.firstIndex(where: { $0.id == id }) { entries[index].isAsking = true }
    }

    /// The peer is a known device: the connection no longer counts as unknown, and the tokens that it took are
    /// returned.
    package mutating func identified(_ id: ConnectionID) {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return }
        let entry = entries.remove(at: index)
        prefixRates[entry.prefix]?.bucket.putBack(1)
        switch entry.payment {
        case .none: break
        case .total: total.putBack(1)
        case .newPrefixes: newPrefixes.putBack(1)
        }
    }

    /// Its viewer was admitted, or it has ended.
    package mutating func remove(_ id: ConnectionID) { entries.removeAll { $0.id == id } }

    mutating func removeAll() { entries.removeAll() }

    /// The oldest idle connection of the key (prefix or address) that holds most, if that holds more than the
    /// newcomer's.
    private func connectionToEvict<Key: Hashable>(
        among candidates: [Entry], for newcomer: Key, _ key: (Entry) -> Key
    ) -> ConnectionID? {
        var counts: [Key: Int] = [:]
        for entry in candidates { counts[key(entry), default: 0] += 1 }
        let own = counts[newcomer] ?? 0
        let idle = candidates.filter { !$0.isAsking && (counts[key($0)] ?? 0) > own }
        guard let most = idle.compactMap({ counts[key($0)] }).max() else { return nil }
        return idle.first { counts[key($0)] == most }?.id
    }

    private mutating func takeToken(of prefix: AddressPrefix, now: MediaTime) -> Bool {
        if prefixRates[prefix] == nil, prefixRates.count >= Self.mostPrefixRates,
            let oldest = prefixRates.min(by: { $0.value.lastUse < $1.value.lastUse })?.key
        {
            prefixRates.removeValue(forKey: oldest)
        }
        var rate = prefixRates[prefix] ?? PrefixRate(lastUse: now)
        rate.lastUse = now
        let isIn = rate.bucket.take(1, now: now) == nil
        prefixRates[prefix] = rate
        return isIn
    }
}
