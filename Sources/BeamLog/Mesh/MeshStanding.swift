import BeamWire

/// What all members of a room announce alike beside its name: announcements with the same mark are of one room.
///
/// Another one each day, made as `MeshTag` is: whoever reads it doesn't learn the room's ID, and doesn't recognise the room
/// the next day. It proves nothing.
public struct MeshMark: Hashable, Comparable, Sendable {
    public let text: String

    /// - Parameter room: the room's ID (`KeptRoom.id`).
    public init(of room: [UInt8], on day: MeshDay) { text = MeshTag.text("BeamRoom room mark", room, day) }

    /// Nil unless it is what a member announces.
    public init?(announced text: String) {
        // The form is that of a member's tag.
        guard let tag = MeshTag(announced: text) else { return nil }
        self.text = tag.text
    }

    public static func < (one: MeshMark, other: MeshMark) -> Bool { one.text < other.text }
}

/// Which one of two rooms of the same name stays when they meet. All machines that see the same announcements come to
/// the same result: the room of which more members are announced, and of two equal ones that with the lower mark.
public struct MeshStanding: Hashable, Comparable, Sendable {
    /// Announced members.
    public var members: Int
    public var mark: MeshMark

    public init(members: Int, mark: MeshMark) {
        self.members = members
        self.mark = mark
    }

    /// The lesser one gives way.
    public static func < (one: MeshStanding, other: MeshStanding) -> Bool {
        one.members == other.members ? one.mark > other.mark : one.members < other.members
    }
}

/// Names that a person may have mistaken for each other.
public enum NearNames {
    /// Whether one name is the other with a slip of the keyboard in it: a letter left out, added, replaced, or two
    /// exchanged; two slips in names of seven letters and more. Names that differ only in their digits are meant to.
    public static func areNear(_ one: String, _ other: String) -> Bool {
        let (one, other) = (letters(one), letters(other))
        let shorter = min(one.count, other.count)
        guard one != other, shorter >= 3, one.filter({ !$0.isNumber }) != other.filter({ !$0.isNumber }) else {
            return false
        }
        return distance(one, other) <= (shorter >= 7 ? 2 : 1)
    }

    /// What is compared of a name: names from the network may be long.
    private static func letters(_ name: String) -> [Character] {
        Array(PeerText.name(name).lowercased().prefix(64))
    }

    /// The optimal string alignment distance.
    private static func distance(_ one: [Character], _ other: [Character]) -> Int {
        guard !one.isEmpty, !other.isEmpty else { return max(one.count, other.count) }
        var before = [Int](repeating: 0, count: other.count + 1)
        var last = Array(0...other.count)
        for (row, letter) in one.enumerated() {
            var next = [row + 1] + [Int](repeating: 0, count: other.count)
            for column in other.indices {
                next[column + 1] = min(
                    last[column + 1] + 1, next[column] + 1, last[column] + (letter == other[column] ? 0 : 1))
                if row > 0, column > 0, letter == other[column - 1], one[row - 1] == other[column] {
                    next[column + 1] = min(next[column + 1], before[column - 1] + 1)
                }
            }
            (before, last) = (last, next)
        }
        return last[other.count]
    }
}
