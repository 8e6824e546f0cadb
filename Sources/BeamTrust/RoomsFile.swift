import BeamLog
import BeamWire
import Foundation

/// A room of equals in which this device is, or was.
public struct KnownRoom: Hashable, Sendable {
    public var room: KeptRoom
    /// When this device was last in it.
    public var usedAt: Date
    /// It has proved that it is the one that the person means, or the person has said so.
    public var isProved: Bool

    public init(room: KeptRoom, usedAt: Date, isProved: Bool = true) {
        self.room = room
        self.usedAt = usedAt
        self.isProved = isProved
    }

    /// The room at another time: it has grown older by the time since, as far as the clock tells.
    public func room(at time: Date) -> KeptRoom {
        var room = self.room
        let longest = 3650.0 * 86400
        room.age += .seconds(min(max(0, time.timeIntervalSince(usedAt)), longest))
        return room
    }
}

/// The format of `rooms.json`:
///
///     { "version": 1, "rooms": [
///         { "name": "study", "id": "7f83…", "usedAt": "2026-03-01T09:30:00Z", "age": 3600,
///           "statements": ["AQID…"],
///           "addresses": { "9f86…64 digits": ["192.0.2.7:52345"] } } ] }
///
/// A room that has proved nothing has `"proved": false`, too. `age` is in seconds; statements are those of WireVersion2, in Base64. They carry their own signatures: whoever uses
/// them checks these. What isn't an address in `addresses` is dropped: the list only saves time.
enum RoomsFile {
    static let version = 1
    /// The rooms that are kept: those that were used last.
    static let maxRooms = 64
    /// In bytes: as many rooms with the most statements that a room takes.
    static let maxBytes = 12 << 20
    private static let maxMembers = 64
    private static let maxAddresses = 8
    private static let maxIDBytes = 64

    private struct Form: Codable {
        var version: Int
        var rooms: [Entry]
    }

    private struct Version: Codable {
        var version: Int
    }

    private struct Entry: Codable {
        var name: String
        var id: String
        var usedAt: String
        var age: Int
        var statements: [String]
        var addresses: [String: [String]]
        /// Nil: yes.
        var proved: Bool?
    }

    enum Failure: Error, Equatable {
        case newer(version: Int)
        case damaged(reason: String)
    }

    static func encode(_ rooms: [KnownRoom]) -> [UInt8] {
        let form = Form(
            version: version,
            rooms: sorted(rooms).prefix(maxRooms).map { known in
                Entry(
                    name: known.room.name, id: hex(known.room.id), usedAt: known.usedAt.formatted(.iso8601),
                    age: Int(clamping: known.room.age.components.seconds),
                    statements: known.room.statements.map { Data($0).base64EncodedString() },
                    addresses: addresses(known.room), proved: known.isProved ? nil : false)
            })
        return StoredForm.bytes(form)
    }

    private static func addresses(_ room: KeptRoom) -> [String: [String]] {
        let members = room.addresses.sorted { $0.key.hex < $1.key.hex }.prefix(maxMembers)
        return Dictionary(uniqueKeysWithValues: members.map { ($0.key.hex, texts($0.value)) }.filter { !$0.1.isEmpty })
    }

    private static func texts(_ addresses: [NetworkAddress]) -> [String] {
        addresses.prefix(maxAddresses).compactMap { KnownAddress(host: "\($0.ip)", port: $0.port)?.description }
    }

    static func decode(_ bytes: [UInt8]) throws(Failure) -> [KnownRoom] {
        guard bytes.count <= maxBytes else { throw .damaged(reason: "it is too large") }
        let data = Data(bytes)
        guard let version = try? JSONDecoder().decode(Version.self, from: data).version else {
            throw .damaged(reason: "it isn't JSON with a version")
        }
        guard version == Self.version else {
            throw version > Self.version ? .newer(version: version) : .damaged(reason: "version \(version) is unknown")
        }
        guard let entries = try? JSONDecoder().decode(Form.self, from: data).rooms else {
            throw .damaged(reason: "its list of rooms can't be read")
        }
        guard entries.count <= maxRooms else {
            throw .damaged(reason: "it lists \(entries.count) rooms, more than the \(maxRooms) allowed")
        }
        var rooms: [KnownRoom] = []
        for (index, entry) in entries.enumerated() {
            guard let room = room(entry) else { throw .damaged(reason: "room \(index + 1) can't be read") }
            rooms.append(room)
        }
        return sorted(rooms)
    }

    private static func room(_ entry: Entry) -> KnownRoom? {
        let statements = entry.statements.compactMap { Data(base64Encoded: $0).map(Array.init) }
        guard PeerText.name(entry.name) == entry.name, let id = bytes(entry.id), (1...maxIDBytes).contains(id.count),
            statements.count == entry.statements.count, !statements.isEmpty, entry.age >= 0,
            entry.addresses.count <= maxMembers, let usedAt = try? Date(entry.usedAt, strategy: .iso8601)
        else { return nil }
        var addresses: [DeviceKey: [NetworkAddress]] = [:]
        for (member, texts) in entry.addresses {
            guard let device = DeviceKey(hex: member) else { return nil }
            addresses[device] = texts.prefix(maxAddresses).compactMap { text in
                KnownAddress(text).flatMap { known in
                    IPAddress(text: known.host).map { NetworkAddress(ip: $0, port: known.port) }
                }
            }
        }
        return KnownRoom(
            room: KeptRoom(
                id: id, name: entry.name, statements: statements, age: .seconds(entry.age), addresses: addresses),
            usedAt: usedAt, isProved: entry.proved ?? true)
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private static func bytes(_ hex: String) -> [UInt8]? {
        let digits = hex.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count == hex.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    /// The one that was used last comes first.
    private static func sorted(_ rooms: [KnownRoom]) -> [KnownRoom] {
        rooms.sorted { ($1.usedAt, $0.room.name) < ($0.usedAt, $1.room.name) }
    }
}
