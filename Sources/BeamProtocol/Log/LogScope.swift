/// Which log an entry is written for: what is signed names it, so that an entry of one room is none of another's.
struct LogScope: Hashable, Sendable {
    /// The room's ID.
    var room: [UInt8]
    /// The host that keeps the log; nil: it is that of a room of equals.
    var keeper: DeviceKey?

    /// What begins everything that is hashed or signed for this log.
    func label(_ what: String) -> [UInt8] {
        let kind = keeper == nil ? "of equals" : "of a host"
        return Array("BeamRoom 2 \(what) \(kind)".utf8) + [0] + room + (keeper?.bytes ?? [])
    }
}
