/// Which log an entry is written for: what is signed names it, so that an entry of one room is none of another's.
package struct LogScope: Hashable, Sendable {
    /// The room's ID.
    package var room: [UInt8]
    /// The host that keeps the log; nil: it is that of a room of equals.
    package var keeper: DeviceKey?

    package init(room: [UInt8], keeper: DeviceKey? = nil) {
        self.room = room
        self.keeper = keeper
    }

    /// What begins everything that is hashed or signed for this log.
    package func label(_ what: String) -> [UInt8] {
        let kind = keeper == nil ? "of equals" : "of a host"
        return Array("BeamRoom 2 \(what) \(kind)".utf8) + [0] + room + (keeper?.bytes ?? [])
    }
}
