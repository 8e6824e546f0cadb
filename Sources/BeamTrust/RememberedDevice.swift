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

    /// Places that are kept for a host.
    public static let mostPlaces = 8
    /// Of a place, in bytes of UTF-8: a DNS name and a port.
    static let longestPlace = 300

    /// What it is called here: 1…255 bytes that may be shown in a terminal. It comes from the device, or from the person (`rename`).
    public let name: String
    /// Who it is. The name proves nothing.
    public let key: DeviceKey
    public let roles: Set<Role>
    /// When last, to the second.
    public let pairedAt: Date
    /// Where it was when it was watched by address: `192.0.2.7:52345`. The newest first, `mostPlaces` at most.
    public let places: [String]

    /// A name comes from the other device: it is made fit to be shown (`PeerText`), and if nothing is left, the key's first digits
    /// take its place.
    public init(name: String, key: DeviceKey, roles: Set<Role>, pairedAt: Date, places: [String] = []) {
        let shown = PeerText.name(name)
        self.init(
            asStored: shown == PeerText.unnamed ? key.description : shown, key: key, roles: roles, pairedAt: pairedAt,
            places: places)
    }

    /// With a name as it stands in the file.
    init(asStored name: String, key: DeviceKey, roles: Set<Role>, pairedAt: Date, places: [String]) {
        self.name = name
        self.key = key
        self.roles = roles
        self.pairedAt = Date(timeIntervalSince1970: pairedAt.timeIntervalSince1970.rounded(.down))
        self.places = Array(places.filter { $0.utf8.count <= Self.longestPlace }.prefix(Self.mostPlaces))
    }

    /// Paired again: the new time, and both's roles and places. The name stays: only the person changes that.
    func joined(with newer: RememberedDevice) -> RememberedDevice {
        let older = places.filter { !newer.places.contains($0) }
        return RememberedDevice(
            asStored: name, key: key, roles: roles.union(newer.roles), pairedAt: newer.pairedAt,
            places: newer.places + older)
    }

    /// Whether this is another device than `other`, whose name would be taken for its: in a role that both have.
    func isNamesake(of other: RememberedDevice, called name: String) -> Bool {
        key != other.key && !roles.isDisjoint(with: other.roles) && DeviceNames.areSame(self.name, name)
    }

    func renamed(_ name: String) -> RememberedDevice {
        RememberedDevice(asStored: name, key: key, roles: roles, pairedAt: pairedAt, places: places)
    }

    /// Watched at `place`, or there no longer.
    func moved(to place: String) -> RememberedDevice {
        RememberedDevice(
            asStored: name, key: key, roles: roles, pairedAt: pairedAt, places: [place] + places.filter { $0 != place })
    }

    func without(_ place: String) -> RememberedDevice {
        RememberedDevice(
            asStored: name, key: key, roles: roles, pairedAt: pairedAt, places: places.filter { $0 != place })
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
