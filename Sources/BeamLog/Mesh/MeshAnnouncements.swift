import BeamWire

/// What a room's members announce these days, for one of them: what it announces itself, and how it recognises the others.
///
/// Clocks differ. So the announcements of two days before and after are recognised, too, and whoever sees a member that is
/// one day ahead announces that day as well: soon all have the same mark, and strangers count them as one room.
public struct MeshAnnouncements: Sendable {
    /// How many days ahead of the own clock is announced, and how far from it another's announcement is recognised.
    private static let lead: Int64 = 1
    private static let reach: Int64 = 2

    public let room: [UInt8]
    public let own: DeviceKey
    public let members: Set<DeviceKey>
    /// By the own clock.
    private var today: MeshDay
    /// What is announced now.
    public private(set) var day: MeshDay
    private var marks: [MeshMark: MeshDay] = [:]
    private var tags: [MeshTag: DeviceKey] = [:]

    /// - Parameter room: the room's ID.
    public init(room: [UInt8], own: DeviceKey, members: some Sequence<DeviceKey>, on today: MeshDay) {
        (self.room, self.own, self.members) = (room, own, Set(members).union([own]))
        (self.today, day) = (today, today)
        recognise()
    }

    public var mark: MeshMark { MeshMark(of: room, on: day) }
    public var tag: MeshTag { MeshTag(room: room, member: own, on: day) }

    /// Whether the room with this ID has this mark on one of the days about `today`.
    public static func isMark(_ mark: MeshMark, of room: [UInt8], about today: MeshDay) -> Bool {
        (-reach...reach).contains { MeshMark(of: room, on: today.advanced(by: $0)) == mark }
    }

    /// Whether the room has this mark on one of these days.
    public func isMark(_ mark: MeshMark) -> Bool { marks[mark] != nil }

    /// The member that announces this tag, this one included; nil: none that is known.
    public func member(_ tag: MeshTag) -> DeviceKey? { tags[tag] }

    /// Whether this member announces or has announced this tag, these days.
    public func isOwn(_ tag: MeshTag) -> Bool { tags[tag] == own }

    /// Another day may have come.
    ///
    /// - Parameter seen: the marks that are announced at present.
    /// - Returns: whether something else is to be announced.
    public mutating func update(on today: MeshDay, seen: some Sequence<MeshMark>) -> Bool {
        if today != self.today {
            self.today = today
            recognise()
        }
        let ahead = seen.compactMap { marks[$0] }.max() ?? today
        let next = max(today, min(ahead, today.advanced(by: Self.lead)))
        defer { day = next }
        return next != day
    }

    private mutating func recognise() {
        (marks, tags) = ([:], [:])
        for days in -Self.reach...Self.reach {
            let day = today.advanced(by: days)
            marks[MeshMark(of: room, on: day)] = day
            for member in members { tags[MeshTag(room: room, member: member, on: day)] = member }
        }
    }
}
