import BeamWire
import Foundation

/// A paired device.
public struct RememberedDevice: Hashable, Sendable {
    /// The other device's role towards this one.
    public enum Role: String, CaseIterable, Hashable, Sendable {
        /// It shares its screen; this device may watch it.
        case host
        /// It may watch this device.
        case viewer
        /// It may show its screen here, where this device is a receiver.
        case sender
        /// It is a receiver; this device may show its screen there.
        case receiver
    }

    /// The maximum length of a name, in bytes of UTF-8.
    public static let maxNameBytes = 255

    /// The maximum number of places kept for a host.
    public static let maxPlaces = 8
    /// The maximum length of a place (DNS name and port), in bytes of UTF-8.
    static let maxPlaceBytes = 300
    /// The maximum number of last known addresses kept for a host.
    public static let maxAddresses = 4

    /// The local name: 1…255 bytes that are safe to print in a terminal. Comes from the device, or from the person
    /// (`rename`).
    public let name: String
    /// The identity. The name proves nothing.
    public let key: DeviceKey
    public let roles: Set<Role>
    /// The time of the last pairing, in whole seconds.
    public let pairedAt: Date
    /// Addresses that the person gave, and at which it was watched: `192.0.2.7:52345`. Newest first, at most
    /// `maxPlaces`. Whoever gives one of them again expects this host there.
    public let places: [String]
    /// Numeric addresses at which it proved its key last, however it was found. Newest first, at most `maxAddresses`.
    /// They say only where to look for it.
    public let addresses: [KnownAddress]
    /// The last time that it was watched from here, in whole seconds, to within an hour; nil: not known.
    public let seenAt: Date?

    /// The name comes from the other device, so it is cleaned (`PeerText`). If nothing is left, the key's first digits
    /// are used.
    public init(
        name: String, key: DeviceKey, roles: Set<Role>, pairedAt: Date, places: [String] = [],
        addresses: [KnownAddress] = [], seenAt: Date? = nil
    ) {
        let shown = PeerText.name(name)
        self.init(
            asStored: shown == PeerText.unnamed ? key.description : shown, key: key, roles: roles, pairedAt: pairedAt,
            places: places, addresses: addresses, seenAt: seenAt)
    }

    /// With a name from the file, unchanged.
    init(
        asStored name: String, key: DeviceKey, roles: Set<Role>, pairedAt: Date, places: [String],
        addresses: [KnownAddress], seenAt: Date?
    ) {
        self.name = name
        self.key = key
        self.roles = roles
        self.pairedAt = Date(timeIntervalSince1970: pairedAt.timeIntervalSince1970.rounded(.down))
        self.places = Array(places.filter { $0.utf8.count <= Self.maxPlaceBytes }.prefix(Self.maxPlaces))
        self.addresses = Array(addresses.prefix(Self.maxAddresses))
        self.seenAt = seenAt.map { Date(timeIntervalSince1970: $0.timeIntervalSince1970.rounded(.down)) }
    }

    /// The result of pairing again: the new time, and the union of roles, places and addresses. The name stays, because
    /// only the person may change it.
    func joined(with newer: RememberedDevice) -> RememberedDevice {
        RememberedDevice(
            asStored: name, key: key, roles: roles.union(newer.roles), pairedAt: newer.pairedAt,
            places: newer.places + places.filter { !newer.places.contains($0) },
            addresses: newer.addresses + addresses.filter { !newer.addresses.contains($0) },
            seenAt: [seenAt, newer.seenAt].compactMap(\.self).max())
    }

    /// Whether this is a device other than `other` whose name could be confused with `name`: they share a role.
    func isNamesake(of other: RememberedDevice, called name: String) -> Bool {
        key != other.key && !roles.isDisjoint(with: other.roles) && DeviceNames.areSame(self.name, name)
    }

    func renamed(_ name: String) -> RememberedDevice { with(name: name, places: places, addresses: addresses) }

    /// Puts `place` first: the host was watched there.
    func moved(to place: String) -> RememberedDevice {
        with(name: name, places: [place] + places.filter { $0 != place }, addresses: addresses)
    }

    /// Puts `address` first: the host has proved its key there.
    func reached(at address: KnownAddress) -> RememberedDevice {
        with(name: name, places: places, addresses: [address] + addresses.filter { $0 != address })
    }

    /// Another host was watched there.
    func without(_ place: String?, _ address: KnownAddress?) -> RememberedDevice {
        with(name: name, places: places.filter { $0 != place }, addresses: addresses.filter { $0 != address })
    }

    /// It was watched at this time. What differs by less than an hour stays, so that the file isn't written for it.
    func seen(at time: Date) -> RememberedDevice {
        if let seenAt, abs(time.timeIntervalSince(seenAt)) < 3600 { return self }
        return RememberedDevice(
            asStored: name, key: key, roles: roles, pairedAt: pairedAt, places: places, addresses: addresses,
            seenAt: time)
    }

    private func with(name: String, places: [String], addresses: [KnownAddress]) -> RememberedDevice {
        RememberedDevice(
            asStored: name, key: key, roles: roles, pairedAt: pairedAt, places: places, addresses: addresses,
            seenAt: seenAt)
    }
}

enum DeviceName {
    /// Replaces control characters, line breaks and bidirectional formatting; cuts to 255 bytes.
    static func cleaned(_ name: String) -> String {
        var scalars = String.UnicodeScalarView()
        for scalar in name.unicodeScalars { scalars.append(isPrintable(scalar) ? scalar : "\u{FFFD}") }
        let name = String(scalars)
        guard name.utf8.count > RememberedDevice.maxNameBytes else { return name }
        var kept = 0
        return String(
            name.prefix { character in
                kept += character.utf8.count
                return kept <= RememberedDevice.maxNameBytes
            })
    }

    static func isValid(_ name: String) -> Bool {
        (1...RememberedDevice.maxNameBytes).contains(name.utf8.count) && name.unicodeScalars.allSatisfy(isPrintable)
    }

    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: false
        // The joiners (ZWNJ, ZWJ) are part of emoji and some scripts. Other format characters can reorder or hide text.
        case .format: scalar == "\u{200C}" || scalar == "\u{200D}"
        default: true
        }
    }
}
