import BeamLog
import BeamWire
import Foundation

/// The rooms of equals in which this device is or was, in `rooms.json`: with them it comes back without a code.
extension TrustStore {
    static let roomsName = "rooms.json"
    static let claimsName = "rooms-in-use"

    /// The rooms, the one that was used last first.
    public func rooms() throws(TrustStoreError) -> [KnownRoom] {
        guard let directory = try PrivateDirectory.existing(at: path) else { return [] }
        return try rooms(in: directory)
    }

    /// Keeps what is known of a room now. Of more rooms than 64, those that weren't used for longest are forgotten.
    ///
    /// - Parameter isProved: it is the room that the person means; what was proved once stays so.
    public func keep(_ room: KeptRoom, isProved: Bool = true, at time: Date = Date()) throws(TrustStoreError) {
        try changeRooms { rooms in
            let wasProved = rooms.contains { $0.room.id == room.id && $0.isProved }
            rooms.removeAll { $0.room.id == room.id }
            rooms.insert(KnownRoom(room: room, usedAt: time, isProved: isProved || wasProved), at: 0)
        }
    }

    /// The person has said that the room with this ID is the one that is meant. Nothing happens if it isn't known.
    public func noteProof(ofRoom id: [UInt8]) throws(TrustStoreError) {
        try changeRooms { rooms in
            for index in rooms.indices where rooms[index].room.id == id { rooms[index].isProved = true }
        }
    }

    /// Forgets the room with this ID. Nothing happens if it isn't known.
    public func forgetRoom(_ id: [UInt8]) throws(TrustStoreError) {
        try changeRooms { $0.removeAll { $0.room.id == id } }
    }

    /// Forgets all rooms of this name, in any case.
    ///
    /// - Returns: how many there were.
    public func forgetRooms(named name: String) throws(TrustStoreError) -> Int {
        var count = 0
        try changeRooms { rooms in
            let before = rooms.count
            rooms.removeAll { DeviceNames.areSame($0.room.name, name) }
            count = before - rooms.count
        }
        return count
    }

    /// Makes sure that only one program of this user is in the room on this machine: two would be one member twice.
    ///
    /// - Returns: nil if another one is. Otherwise the claim lasts as long as the value.
    public func claim(_ room: [UInt8]) throws(TrustStoreError) -> RoomClaim? {
        // Rooms' IDs are hashes: two with the same first bytes aren't met.
        let place = room.prefix(7).reduce(0) { $0 << 8 | Int($1) }
        guard let held = try PrivateDirectory.make(at: path).place(place, in: Self.claimsName) else { return nil }
        return RoomClaim(held)
    }

    private func changeRooms(_ change: (inout [KnownRoom]) -> Void) throws(TrustStoreError) {
        let directory = try PrivateDirectory.make(at: path)
        try directory.locked { () throws(TrustStoreError) in
            let before = try rooms(in: directory)
            var rooms = before
            change(&rooms)
            guard rooms != before else { return }
            try directory.write(RoomsFile.encode(rooms), to: Self.roomsName)
        }
    }

    private func rooms(in directory: borrowing PrivateDirectory) throws(TrustStoreError) -> [KnownRoom] {
        let file = directory.path(of: Self.roomsName)
        switch try directory.read(Self.roomsName, atMost: RoomsFile.maxBytes) {
        case .none: return []
        case .tooLong: throw .damagedRooms(path: file, reason: "it is too large")
        case .bytes(let bytes):
            do throws(RoomsFile.Failure) {
                return try RoomsFile.decode(bytes)
            } catch {
                switch error {
                case .newer(let version): throw .newerRooms(path: file, version: version)
                case .damaged(let reason): throw .damagedRooms(path: file, reason: reason)
                }
            }
        }
    }
}

/// See `TrustStore.claim`.
public final class RoomClaim: Sendable {
    private let held: Descriptor

    init(_ held: consuming Descriptor) { self.held = held }
}
