/// The devices that are known at the moment, with the names that they are remembered by: viewers at a host, hosts at a viewer.
struct TrustBook: Sendable {
    private var remembered: [DeviceKey: String]
    /// Paired in this run: not stored, or not yet.
    private var paired: [DeviceKey: String] = [:]
    /// The store has changed and can't be read: `remembered` may hold devices that were forgotten.
    private(set) var isStale = false

    init(remembered: [DeviceKey: String]) { self.remembered = remembered }

    func trusts(_ device: DeviceKey) -> Bool { remembered[device] != nil || paired[device] != nil }

    /// What a known device is called here, whatever it calls itself now; fit to be shown. Nil for one that isn't known.
    func name(of device: DeviceKey) -> String? {
        (remembered[device] ?? paired[device]).map { PeerText.name($0) }
    }

    /// Another known device has this name already.
    func isTaken(_ name: String, butBy device: DeviceKey) -> Bool {
        let others = remembered.merging(paired) { first, _ in first }.filter { $0.key != device }
        return others.values.contains { DeviceNames.areSame($0, name) }
    }

    /// The device is known from now on. Answers the name that it is known by: the one that it had before, or else `name`, marked with
    /// its key's first digits where another device has that.
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

    /// Known from a list that is out of date.
    func isUncertain(_ device: DeviceKey) -> Bool { isStale && remembered[device] != nil }

    mutating func becomeStale() { isStale = true }

    mutating func remove(_ device: DeviceKey) {
        remembered[device] = nil
        paired[device] = nil
    }

    /// The store's content has changed. Answers the devices that were forgotten.
    mutating func update(_ devices: [DeviceKey: String]) -> [DeviceKey] {
        let forgotten = remembered.keys.filter { devices[$0] == nil }
        for device in forgotten { paired[device] = nil }
        remembered = devices
        isStale = false
        return forgotten.sorted { $0.hex < $1.hex }
    }
}

/// When two devices' names count as the same, and how they are told apart. A device chooses its name; what it is remembered by is this
/// machine's business.
public enum DeviceNames {
    /// Without regard to case, and to what can't be seen.
    public static func areSame(_ one: String, _ other: String) -> Bool {
        PeerText.name(one).lowercased() == PeerText.name(other).lowercased()
    }

    /// `desk (3f2a)`: the name of a device that calls itself as another one does, no wider than any name. More digits of its key where
    /// `isTaken` says that such a name is another's, too: four digits are quickly found by trying keys, sixteen aren't.
    public static func marked(_ name: String, _ device: DeviceKey, isTaken: (String) -> Bool) -> String {
        let names = markLengths.map { marked(name, device, digits: $0) }
        return names.first { !isTaken($0) } ?? names[names.count - 1]
    }

    /// Whether the device's name here, `known`, stands for what it calls itself, `name`.
    public static func isVariant(_ known: String, of name: String, _ device: DeviceKey) -> Bool {
        areSame(known, name) || markLengths.contains { areSame(known, marked(name, device, digits: $0)) }
    }

    private static let markLengths = [4, 8, 16]

    private static func marked(_ name: String, _ device: DeviceKey, digits: Int) -> String {
        let mark = " (\(device.hex.prefix(digits)))"
        return PeerText.name(name, columns: PeerText.nameColumns - mark.utf8.count) + mark
    }
}
