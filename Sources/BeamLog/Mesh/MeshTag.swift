import BeamWire
import Crypto

/// What a member of a room announces on the network beside the room's name: other members recognise it by this, and to
/// strangers it says nothing.
///
/// Another one each day (`MeshDay`): the first eight bytes of an HMAC-SHA-256 under the room's ID of a label, the day and
/// the device's key, in 16 hexadecimal digits. It proves nothing: whoever is dialled has to prove its key.
public struct MeshTag: Hashable, Sendable {
    public let text: String

    /// - Parameter room: the room's ID (`KeptRoom.id`), which only members know, and those who were.
    public init(room: [UInt8], member: DeviceKey, on day: MeshDay) {
        text = Self.text("BeamRoom member tag", room, day, member.bytes)
    }

    /// Nil unless it is what a member announces.
    public init?(announced text: String) {
        guard text.utf8.count == 16, text.utf8.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }) else {
            return nil
        }
        self.text = text.lowercased()
    }

    static func text(_ label: String, _ room: [UInt8], _ day: MeshDay, _ more: [UInt8] = []) -> String {
        var hash = HMAC<SHA256>(key: SymmetricKey(data: room))
        hash.update(data: Array(label.utf8))
        hash.update(data: day.bytes)
        hash.update(data: more)
        return hash.finalize().prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

/// A day of UTC, by which announcements change.
public struct MeshDay: Hashable, Comparable, Sendable {
    /// Days since 1970-01-01; not negative.
    public let number: UInt32

    public init(_ number: UInt32) { self.number = number }

    /// - Parameter seconds: since 1970-01-01T00:00:00Z. What isn't a day of the next ten million years is the nearest one.
    public init(secondsSince1970 seconds: Double) {
        let days = (seconds / 86400).rounded(.down)
        number = days > 0 ? UInt32(exactly: min(days, Double(UInt32.max))) ?? 0 : 0
    }

    /// So many days later, or earlier.
    public func advanced(by days: Int64) -> MeshDay { MeshDay(UInt32(clamping: Int64(clamping: number) + days)) }

    public static func < (one: MeshDay, other: MeshDay) -> Bool { one.number < other.number }

    fileprivate var bytes: [UInt8] { (0..<4).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } }
}
