/// Merges an instance's sightings on several interfaces into one host, and reports changes of it.
struct InstanceTable {
    /// Limits the memory that a flood of announcements can take. Longer lists aren't useful to a person.
    static let mostInstances = 256
    static let mostSights = 16

    private struct Instance {
        var sights: [Sight: State] = [:]
        var reported: DiscoveredHost?
    }

    private struct State {
        var resolution: Resolution?
        /// Seen before the daemon went away, but not since.
        var isStale = false
    }

    /// Keyed by display name.
    private var instances: [String: Instance] = [:]

    static func displayName(_ sight: Sight) -> String { NetworkText.printable(sight.name, bytes: 255) }

    /// Records a sighting. False if a limit is reached.
    mutating func appeared(_ sight: Sight) -> Bool {
        let name = Self.displayName(sight)
        guard !name.isEmpty, instances[name] != nil || instances.count < Self.mostInstances else { return false }
        var instance = instances[name] ?? Instance()
        guard instance.sights[sight] != nil || instance.sights.count < Self.mostSights else { return false }
        instance.sights[sight, default: State()].isStale = false
        instances[name] = instance
        return true
    }

    mutating func resolved(_ sight: Sight, _ resolution: Resolution) -> [BrowserEvent] {
        let name = Self.displayName(sight)
        guard resolution.port != 0, instances[name]?.sights[sight] != nil else { return [] }
        instances[name]?.sights[sight]?.resolution = resolution
        return report(name)
    }

    mutating func disappeared(_ sight: Sight) -> [BrowserEvent] {
        let name = Self.displayName(sight)
        guard instances[name]?.sights.removeValue(forKey: sight) != nil else { return [] }
        return report(name)
    }

    /// The daemon has gone. Known hosts stay until a new daemon has reported its own.
    mutating func interrupted() {
        instances = instances.mapValues { instance in
            var instance = instance
            instance.sights = instance.sights.mapValues { State(resolution: $0.resolution, isStale: true) }
            return instance
        }
    }

    /// The new daemon has reported everything. What it didn't report is gone.
    mutating func settled() -> [BrowserEvent] {
        instances.keys.sorted().flatMap { name -> [BrowserEvent] in
            guard let stale = instances[name]?.sights.filter({ $0.value.isStale }), !stale.isEmpty else { return [] }
            for sight in stale.keys { instances[name]?.sights[sight] = nil }
            return report(name)
        }
    }

    private mutating func report(_ name: String) -> [BrowserEvent] {
        guard let instance = instances[name] else { return [] }
        if instance.sights.isEmpty {
            instances[name] = nil
            return instance.reported == nil ? [] : [.lost(name: name)]
        }
        guard let host = Self.host(name, instance.sights.values.compactMap(\.resolution)), host != instance.reported
        else { return [] }
        instances[name]?.reported = host
        return [.found(host)]
    }

    /// The best-ranked sighting determines host and port. Sightings with the same host and port contribute their
    /// addresses.
    private static func host(_ name: String, _ resolutions: [Resolution]) -> DiscoveredHost? {
        let sorted = resolutions.sorted { ($0.rank, $0.address) < ($1.rank, $1.address) }
        guard let best = sorted.first else { return nil }
        let same = sorted.filter { $0.hostName == best.hostName && $0.port == best.port }
        var addresses: [String] = []
        for resolution in same where !addresses.contains(resolution.address) { addresses.append(resolution.address) }
        return DiscoveredHost(
            name: name, hostName: NetworkText.printable(best.hostName, bytes: 255), port: best.port,
            addresses: addresses, txt: NetworkText.pairs(best.txt), isLocal: same.contains(where: \.isLocal))
    }
}
