import BeamWire

/// The text by which a person refers to a device: its name, or the beginning of its key.
struct DeviceQuery {
    /// Prevents a short name from being taken for the beginning of a key.
    static let minDigits = 4

    private let name: String
    /// Lower-case hexadecimal digits; nil if the text can't be the beginning of a key.
    private let digits: String?

    init(_ text: String) {
        // As messages and lists show it.
        let isQuoted = text.count >= 2 && text.hasPrefix("“") && text.hasSuffix("”")
        name = isQuoted ? String(text.dropFirst().dropLast()) : text
        let digits = text.lowercased().filter { $0 != " " }
        let isKey = digits.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        let fits = (Self.minDigits...2 * DeviceKey.length).contains(digits.utf8.count)
        self.digits = isKey && fits ? digits : nil
    }

    func matches(in devices: [RememberedDevice]) -> [RememberedDevice] {
        let named = named(in: devices)
        guard let digits else { return named }
        let isWhole = digits.utf8.count == 2 * DeviceKey.length
        return devices.filter { device in
            device.key.hex.hasPrefix(digits) || !isWhole && named.contains { $0.key == device.key }
        }
    }

    /// The devices of exactly that name; without one, those whose names differ only in case or in what can't be seen, as
    /// for `watch`.
    private func named(in devices: [RememberedDevice]) -> [RememberedDevice] {
        let exact = devices.filter { $0.name == name }
        return exact.isEmpty ? devices.filter { DeviceNames.areSame($0.name, name) } : exact
    }
}
