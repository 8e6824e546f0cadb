import BeamMedia

/// Which unknown peers may hold a control connection: how many of each address and in all, and how fast new ones may come.
///
/// A connection is in here from when it is accepted until it is known whose it is, or closed. When places are short, those that hold
/// most lose first: the oldest connection of the address prefix with the most makes room for one from a prefix with fewer.
struct ConnectionLedger: Sendable {
    enum Verdict: Hashable, Sendable {
        /// It may stay. `evicted` loses its place to it, and has to be closed.
        case admit(evicted: ConnectionID?)
        case refuse(reason: String)
    }

    private struct Entry: Sendable {
        let id: ConnectionID
        let address: IPAddress
        let prefix: AddressPrefix
        /// The person at the host is being asked about it: it keeps its place.
        var isAsking = false
    }

    private struct PrefixRate: Sendable {
        var bucket = TokenBucket(
            capacity: HostLimits.connectionBurst, bitsPerSecond: HostLimits.connectionsPerSecond * 8)
        var lastUse: MediaTime
    }

    /// The oldest first.
    private var entries: [Entry] = []
    private var prefixRates: [AddressPrefix: PrefixRate] = [:]
    private var total = TokenBucket(
        capacity: HostLimits.totalConnectionBurst, bitsPerSecond: HostLimits.totalConnectionsPerSecond * 8)
    /// For prefixes from which nobody has come for a while: those that come all the time can't use it up.
    private var newPrefixes = TokenBucket(
        capacity: HostLimits.totalConnectionBurst, bitsPerSecond: HostLimits.newPrefixConnectionsPerSecond * 8)

    /// Prefixes whose rate is remembered; beyond that the one that was used the longest ago is forgotten.
    private static let mostPrefixRates = 256

    var count: Int { entries.count }

    /// A connection was accepted. `isKnownAddress`: a viewer that was let in has come from there, so that only the rate of the address
    /// counts, not everybody's.
    mutating func arrive(
        _ id: ConnectionID, from address: IPAddress, isKnownAddress: Bool, now: MediaTime
    ) -> Verdict {
        let prefix = AddressPrefix(address)
        let isNewPrefix = prefixRates[prefix].map { now - $0.lastUse > HostLimits.newPrefixAfter } ?? true
        guard takeToken(of: prefix, now: now) else {
            return .refuse(reason: "more than \(HostLimits.connectionsPerSecond) connections a second come from there")
        }
        if !isKnownAddress, (isNewPrefix ? newPrefixes.take(1, now: now) : total.take(1, now: now)) != nil {
            return .refuse(
                reason: "more than \(HostLimits.totalConnectionsPerSecond) connections a second come in all")
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
        entries.append(Entry(id: id, address: address, prefix: prefix))
        return .admit(evicted: evicted)
    }

    /// The person is being asked about it.
    mutating func markAsking(_ id: ConnectionID) {
        if let index = entries.firstIndex(where: { $0.id == id }) { entries[index].isAsking = true }
    }

    /// A known device has proved to be at its other end: it counts among the unknown no longer, nor does its coming.
    mutating func identified(_ id: ConnectionID) {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return }
        let entry = entries.remove(at: index)
        prefixRates[entry.prefix]?.bucket.putBack(1)
        total.putBack(1)
    }

    /// It was let in, or has ended.
    mutating func remove(_ id: ConnectionID) { entries.removeAll { $0.id == id } }

    mutating func removeAll() { entries.removeAll() }

    /// The oldest connection of whoever holds most, if that is more than the newcomer holds.
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
