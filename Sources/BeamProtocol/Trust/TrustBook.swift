/// The known devices and the names that they are remembered by: viewers at a host, hosts at a viewer.
struct TrustBook: Sendable {
    private var remembered: [DeviceKey: String]
    /// Paired in this run and not stored, or not yet.
    private var paired: [DeviceKey: String] = [:]
    /// The store has changed and can't be read: `remembered` may contain devices that were forgotten.
    private(set) var isStale = false

    init(remembered: [DeviceKey: String]) { self.remembered = remembered }

    func trusts(_ device: DeviceKey) -> Bool { remembered[device] != nil || paired[device] != nil }

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

/// Compares devices' names, and makes equal ones different. A device chooses the name that it claims; this machine
/// chooses the one that it remembers it by.
public enum DeviceNames {
    /// The name before discovery has appended ` #2`, because it was taken.
    public static func withoutNumber(_ name: String) -> String {
        guard let mark = name.lastIndex(of: "#"), mark > name.startIndex,
            name[mark...].dropFirst().allSatisfy(\.isNumber), name[name.index(before: mark)] == " "
        else { return name }
        return String(name[..<mark])
    }

    /// Ignores case and invisible characters.
    public static func areSame(_ one: String, _ other: String) -> Bool {
        PeerText.name(one).lowercased() == PeerText.name(other).lowercased()
    }

    /// `desk (3f2a)`: a device's name, marked with digits of its key because another device has the name; no wider than
    /// any name. More digits where `isTaken` says that the marked name is taken, too: a key with four given digits is
    /// found quickly by trial, one with sixteen isn't.
    public static func marked(_ name: String, _ device: DeviceKey, isTaken: (String) -> Bool) -> String {
        let names = markLengths.map { marked(name, device, digits: $0) }
        return names.first { !isTaken($0) } ?? names[names.count - 1]
    }

    /// Whether `known`, the remembered name, stands for `name`, which the device claims.
    public static func isVariant(_ known: String, of name: String, _ device: DeviceKey) -> Bool {
        areSame(known, name) || markLengths.contains { areSame(known, marked(name, device, digits: $0)) }
    }

    private static let markLengths = [4, 8, 16]

    private static func marked(_ name: String, _ device: DeviceKey, digits: Int) -> String {
        let mark = " (\(device.hex.prefix(digits)))"
        return PeerText.name(name, columns: PeerText.nameColumns - mark.utf8.count) + mark
    }
}
