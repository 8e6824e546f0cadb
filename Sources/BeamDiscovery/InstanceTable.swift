/// Merges an instance's sightings on several interfaces into one host, and reports changes of it.
struct InstanceTable {
    /// Limits the memory that a flood of announcements can take. Longer lists aren't useful to a person.
    static let maxInstances = 256
    static let maxSightings = 16

    private struct Instance {
        var sightings: [Sighting: State] = [:]
        var reported: DiscoveredHost?
    }

    private struct State {
        var resolution: Resolution?
        /// Seen before the daemon went away, but not since.
        var isStale = false
    }

    /// Keyed by display name.
    private var instances: [String: Instance] = [:]

    static func displayName(_ sighting: Sighting) -> String { NetworkText.printable(sighting.name, bytes: 255) }

    /// Records a sighting. False if a limit is reached.
    mutating func appeared(_ sighting: Sighting) -> Bool {
        let name = Self.displayName(sighting)
        guard !name.isEmpty, instances[name] != nil || instances.count < Self.maxInstances else { return false }
        var instance = instances[name] ?? Instance()
        guard instance.sightings[sighting] != nil || instance.sightings.count < Self.maxSightings else { return false }
        instance.sightings[sighting, default: State()].isStale = false
        instances[name] = instance
        return true
    }

    mutating func resolved(_ sighting: Sighting, _ resolution: Resolution) -> [BrowserEvent] {
        let name = Self.displayName(sighting)
        guard resolution.port != 0, instances[name]?.sightings[sighting] != nil else { return [] }
        instances[name]?.sightings[sighting]?.resolution = resolution
        return report(name)
    }

    mutating func disappeared(_ sighting: Sighting) -> [BrowserEvent] {
        let name = Self.displayName(sighting)
        guard instances[name]?.sightings.removeValue(forKey: sighting) != nil else { return [] }
        return report(name)
    }

    /// The daemon has gone. Known hosts stay until a new daemon has reported its own.
    mutating func interrupted() {
        instances = instances.mapValues { instance in
            var instance = instance
            instance.sightings = instance.sightings.mapValues { State(resolution: $0.resolution, isStale: true) }
            return instance
        }
    }

    /// The new daemon has reported everything. What it didn't report is gone.
    mutating func settled() -> [BrowserEvent] {
        instances.keys.sorted().flatMap { name -> [BrowserEvent] in
            guard let stale = instances[name]?.sightings.filter({ $0.value.isStale }), !stale.isEmpty else { return [] }
            for sighting in stale.keys { instances[name]?.sightings[sighting] = nil }
            return report(name)
        }
    }

    private mutating func report(_ name: String) -> [BrowserEvent] {
        guard let instance = instances[name] else { return [] }
        if instance.sightings.isEmpty {
            instances[name] = nil
            return instance.reported == nil ? [] : [.lost(name: name)]
        }
        guard let host = Self.host(name, instance.sightings.values.compactMap(\.resolution)), host != instance.reported
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
