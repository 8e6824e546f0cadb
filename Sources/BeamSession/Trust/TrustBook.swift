import BeamWire

/// The known devices and the names that they are remembered by: viewers at a host, hosts at a viewer.
struct TrustBook: Sendable {
    private var remembered: [DeviceKey: String]
    /// Paired in this run and not stored, or not yet.
    private var paired: [DeviceKey: String] = [:]
    /// The store has changed and can't be read: `remembered` may contain devices that were forgotten.
    private(set) var isStale = false

    /// - Parameter paired: known in this run only.
    init(remembered: [DeviceKey: String], paired: [DeviceKey: String] = [:]) {
        self.remembered = remembered
        self.paired = paired
    }

    func trusts(_ device: DeviceKey) -> Bool { remembered[device] != nil || paired[device] != nil }

    func isRemembered(_ device: DeviceKey) -> Bool { remembered[device] != nil }

    /// The name by which a device is remembered, for display; nil if it isn't known. What it calls itself now doesn't
    /// matter.
    func name(of device: DeviceKey) -> String? {
        (remembered[device] ?? paired[device]).map { PeerText.name($0) }
    }

    /// Whether another known device has this name.
    func isTaken(_ name: String, butBy device: DeviceKey) -> Bool {
        let others = remembered.merging(paired) { first, _ in first }.filter { $0.key != device }
        return others.values.contains { DeviceNames.areSame($0, name) }
    }

    /// Adds the device. Returns its name: the one that it had before, else `name`, marked with the first digits of its
    /// key if another device has that name.
    mutating func pair(_ device: DeviceKey, name: String) -> String {
        if let known = self.name(of: device) {
            paired[device] = known
            return known
        }
        let book = self
        let name =
            isTaken(name, butBy: device)
            ? DeviceNames.marked(name, device) { book.isTaken($0, butBy: device) } : name
        paired[device] = name
        return name
    }

    /// Known only from a list that is out of date.
    func isUncertain(_ device: DeviceKey) -> Bool { isStale && remembered[device] != nil }

    mutating func becomeStale() { isStale = true }

    /// The device has to be paired again, unless it is remembered.
    mutating func unpair(_ device: DeviceKey) { paired[device] = nil }

    mutating func remove(_ device: DeviceKey) {
        remembered[device] = nil
        paired[device] = nil
    }

    /// Takes the store's new content. Returns the devices that were forgotten.
    mutating func update(_ devices: [DeviceKey: String]) -> [DeviceKey] {
        let forgotten = remembered.keys.filter { devices[$0] == nil }
        for device in forgotten { paired[device] = nil }
        remembered = devices
        isStale = false
        return forgotten.sorted { $0.hex < $1.hex }
    }
}
