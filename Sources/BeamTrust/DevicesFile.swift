import BeamWire
import Foundation

/// The format of `devices.json`:
///
///     { "version": 1, "devices": [
///         { "name": "Studio", "key": "9f86…64 digits", "roles": ["host", "viewer"], "pairedAt": "2026-03-01T09:30:00Z",
///           "places": ["192.0.2.7:52345"], "addresses": ["192.0.2.7:52345", "[fe80::1%eth0]:52345"],
///           "seenAt": "2026-03-14T17:05:00Z" } ] }
///
/// Unknown members are ignored. Unknown roles are an error, because the next change would drop them. What isn't an
/// address in `addresses` is dropped, and so is a `seenAt` that can't be read: both only save time. The roles `sender` and
/// `receiver` are in a member of their own, `"showing": ["sender"]`, which older versions ignore and drop: to them such a
/// device has no role.
enum DevicesFile {
    static let version = 1
    /// In bytes.
    static let maxBytes = 1 << 20
    static let maxDevices = 1000

    enum Failure: Error, Equatable {
        case newer(version: Int)
        case damaged(reason: String)
    }

    private struct Form: Codable {
        var version: Int
        var devices: [Entry]
    }

    private struct Version: Codable {
        var version: Int
    }

    private struct Entry: Codable {
        var name: String
        var key: String
        var roles: [String]
        /// The roles that older versions don't know; omitted if empty.
        var showing: [String]?
        var pairedAt: String
        /// Omitted if empty; older files don't have it.
        var places: [String]?
        var addresses: Addresses?
        var seenAt: LastTime?
    }

    /// Never fails to decode.
    private struct Addresses: Codable {
        private struct Text: Decodable {
            var text: String?
            init(from decoder: any Decoder) { text = try? decoder.singleValueContainer().decode(String.self) }
        }

        var all: [KnownAddress]

        /// Nil: none, and the member is omitted.
        init?(_ all: [KnownAddress]) {
            guard !all.isEmpty else { return nil }
            self.all = all
        }

        init(from decoder: any Decoder) {
            let texts = (try? decoder.singleValueContainer().decode([Text].self)) ?? []
            var seen: Set<KnownAddress> = []
            all = texts.compactMap { $0.text.flatMap { KnownAddress($0) } }.filter { seen.insert($0).inserted }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(all.map(\.description))
        }
    }

    /// Never fails to decode.
    private struct LastTime: Codable {
        var date: Date?

        /// Nil: it isn't known, and the member is omitted.
        init?(_ date: Date?) {
            guard let date else { return nil }
            self.date = date
        }

        init(from decoder: any Decoder) {
            let text = try? decoder.singleValueContainer().decode(String.self)
            date = text.flatMap { try? Date($0, strategy: .iso8601) }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(date?.formatted(.iso8601))
        }
    }

    static func encode(_ devices: [RememberedDevice]) -> [UInt8] {
        let form = Form(
            version: version,
            devices: sorted(devices).map { device in
                Entry(
                    name: device.name, key: device.key.hex, roles: Self.words(device.roles.subtracting(showing)) ?? [],
                    showing: Self.words(device.roles.intersection(showing)),
                    pairedAt: device.pairedAt.formatted(.iso8601), places: device.places.isEmpty ? nil : device.places,
                    addresses: Addresses(device.addresses), seenAt: LastTime(device.seenAt))
            })
        return StoredForm.bytes(form)
    }

    /// The roles of receivers, and of those who show their screens there.
    private static let showing: Set<RememberedDevice.Role> = [.sender, .receiver]

    private static func words(_ roles: Set<RememberedDevice.Role>) -> [String]? {
        roles.isEmpty ? nil : roles.map(\.rawValue).sorted()
    }

    static func decode(_ bytes: [UInt8]) throws(Failure) -> [RememberedDevice] {
        guard bytes.count <= maxBytes else { throw .damaged(reason: "it is too large") }
        let decoder = JSONDecoder()
        let data = Data(bytes)
        guard let version = try? decoder.decode(Version.self, from: data).version else {
            throw .damaged(reason: "it isn't JSON with a version")
        }
        guard version == Self.version else {
            throw version > Self.version ? .newer(version: version) : .damaged(reason: "version \(version) is unknown")
        }
        guard let entries = try? decoder.decode(Form.self, from: data).devices else {
            throw .damaged(reason: "its list of devices can't be read")
        }
        guard entries.count <= maxDevices else {
            throw .damaged(reason: "it lists \(entries.count) devices, more than the \(maxDevices) allowed")
        }
        var seen: Set<DeviceKey> = []
        var devices: [RememberedDevice] = []
        for (index, entry) in entries.enumerated() {
            let device = try device(entry, number: index + 1)
            guard seen.insert(device.key).inserted else {
                throw .damaged(reason: "device \(index + 1) has the same key as one before it")
            }
            devices.append(device)
        }
        return sorted(devices)
    }

    private static func device(_ entry: Entry, number: Int) throws(Failure) -> RememberedDevice {
        guard DeviceName.isValid(entry.name) else {
            throw .damaged(reason: "the name of device \(number) is empty, too long, or can't be shown")
        }
        guard let key = DeviceKey(hex: entry.key) else {
            throw .damaged(reason: "the key of device \(number) isn't \(2 * DeviceKey.length) hexadecimal digits")
        }
        let (roles, shows) = (entry.roles, entry.showing ?? [])
        let known =
            roles.compactMap(RememberedDevice.Role.init).filter { !showing.contains($0) }
            + shows.compactMap(RememberedDevice.Role.init).filter { showing.contains($0) }
        guard known.count == roles.count + shows.count else {
            throw .damaged(reason: "device \(number) has an unknown role")
        }
        guard let pairedAt = try? Date(entry.pairedAt, strategy: .iso8601) else {
            throw .damaged(reason: "the date of device \(number) can't be read")
        }
        return RememberedDevice(
            asStored: entry.name, key: key, roles: Set(known), pairedAt: pairedAt, places: entry.places ?? [],
            addresses: entry.addresses?.all ?? [], seenAt: entry.seenAt?.date)
    }

    private static func sorted(_ devices: [RememberedDevice]) -> [RememberedDevice] {
        devices.sorted { ($0.name, $0.key.hex) < ($1.name, $1.key.hex) }
    }
}
