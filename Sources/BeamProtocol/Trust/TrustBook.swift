/// The devices that are known at the moment: viewers at a host, hosts at a viewer.
struct TrustBook: Sendable {
    private var remembered: [DeviceKey: String]
    /// Paired in this run: not stored, or not yet.
    private var paired: Set<DeviceKey> = []
    /// The store has changed and can't be read: `remembered` may hold devices that were forgotten.
    private(set) var isStale = false

    init(remembered: [DeviceKey: String]) { self.remembered = remembered }

    func trusts(_ device: DeviceKey) -> Bool { remembered[device] != nil || paired.contains(device) }

    /// Known from a list that is out of date.
    func isUncertain(_ device: DeviceKey) -> Bool { isStale && remembered[device] != nil }

    mutating func becomeStale() { isStale = true }

    mutating func remove(_ device: DeviceKey) {
        remembered[device] = nil
        paired.remove(device)
    }

    mutating func pair(_ device: DeviceKey) { paired.insert(device) }

    /// The store's content has changed. Answers the devices that were forgotten.
    mutating func update(_ devices: [DeviceKey: String]) -> [DeviceKey] {
        let forgotten = remembered.keys.filter { devices[$0] == nil }
        for device in forgotten { paired.remove(device) }
        remembered = devices
        isStale = false
        return forgotten.sorted { $0.hex < $1.hex }
    }
}
