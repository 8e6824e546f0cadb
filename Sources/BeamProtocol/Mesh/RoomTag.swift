import Crypto

/// What a member of a room announces on the network beside the room's name: other members recognise it by this, and to
/// strangers it says nothing.
///
/// The first eight bytes of the SHA-256 of the room's ID and the device's key, in 16 hexadecimal digits. It proves nothing:
/// whoever is dialled has to prove its key.
public struct RoomTag: Hashable, Sendable {
    public let text: String

    /// - Parameter room: the room's ID (`KeptRoom.id`), which only members know.
    public init(room: [UInt8], member: DeviceKey) {
        var hash = SHA256()
        hash.update(data: room)
        hash.update(data: member.bytes)
        text = hash.finalize().prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Nil unless it is what a member announces.
    public init?(announced text: String) {
        guard text.utf8.count == 16, text.utf8.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }) else {
            return nil
        }
        self.text = text.lowercased()
    }
}
