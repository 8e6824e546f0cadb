import BeamProtocol

/// The text by which a person refers to a device: its name, or the beginning of its key.
struct DeviceQuery {
    /// Prevents a short name from being taken for the beginning of a key.
    static let minDigits = 4

    private let name: String
    /// Lower-case hexadecimal digits; nil if the text can't be the beginning of a key.
    private let digits: String?

    init(_ text: String) {
        name = text
        let digits = text.lowercased().filter { $0 != " " }
        let isKey = digits.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        let fits = (Self.minDigits...2 * DeviceKey.length).contains(digits.utf8.count)
        self.digits = isKey && fits ? digits : nil
    }

    func matches(in devices: [RememberedDevice]) -> [RememberedDevice] {
        guard let digits else {
            let exact = devices.filter { $0.name == name }
            return exact.isEmpty ? devices.filter { isName(of: $0) } : exact
        }
        let isWhole = digits.utf8.count == 2 * DeviceKey.length
        return devices.filter { $0.key.hex.hasPrefix(digits) || (!isWhole && isName(of: $0)) }
    }

    /// Names are compared as everywhere: `watch desk` and `devices forget desk` mean the same device.
    private func isName(of device: RememberedDevice) -> Bool {
        device.name == name || DeviceNames.areSame(device.name, name)
    }
}
