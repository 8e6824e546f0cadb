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
