import BeamProtocol
import Foundation

/// A device that this one has been paired with.
public struct RememberedDevice: Hashable, Sendable {
    /// What the other device may be for this one.
    public enum Role: String, CaseIterable, Hashable, Sendable {
        /// It shares its screen, and we may watch it.
        case host
        /// It may watch us.
        case viewer
    }

    /// Of a name, in bytes of UTF-8.
    public static let longestName = 255

    /// As it calls itself: 1…255 bytes that may be shown in a terminal.
    public let name: String
    /// Who it is. The name proves nothing.
    public let key: DeviceKey
    public let roles: Set<Role>
    /// When last, to the second.
    public let pairedAt: Date

    /// A name comes from the other device: what can't be shown in a terminal is replaced, what is too long is cut, and
    /// if nothing is left, the key's first digits take its place.
    public init(name: String, key: DeviceKey, roles: Set<Role>, pairedAt: Date) {
        let name = DeviceName.cleaned(name)
        self.name = name.isEmpty ? key.description : name
        self.key = key
        self.roles = roles
        self.pairedAt = Date(timeIntervalSince1970: pairedAt.timeIntervalSince1970.rounded(.down))
    }

    /// Paired again: the new name and time, and both's roles.
    func joined(with newer: RememberedDevice) -> RememberedDevice {
        RememberedDevice(name: newer.name, key: key, roles: roles.union(newer.roles), pairedAt: newer.pairedAt)
    }
}

enum DeviceName {
    /// One line without control characters and without what turns the direction of writing, of at most 255 bytes.
    static func cleaned(_ name: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in name.unicodeScalars { scalars.append(isPrintable(scalar) ? scalar : "\u{FFFD}") }
        let name = String(scalars)
        guard name.utf8.count > RememberedDevice.longestName else { return name }
        var kept = 0
        return String(
            name.prefix { character in
                kept += character.utf8.count
                return kept <= RememberedDevice.longestName
            })
    }

    static func isValid(_ name: String) -> Bool {
        (1...RememberedDevice.longestName).contains(name.utf8.count) && name.unicodeScalars.allSatisfy(isPrintable)
    }

    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: false
        // The joiners make one emoji of several; the other invisible ones turn text around or hide in it.
        case .format: scalar == "\u{200C}" || scalar == "\u{200D}"
        default: true
        }
    }
}
