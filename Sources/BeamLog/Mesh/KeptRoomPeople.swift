import BeamMedia
import BeamWire

extension KeptRoom {
    /// Who belongs to the room, and who was put out of it, by what is kept: names by key, this device's own among them.
    ///
    /// - Parameter signing: checks the statements' signatures.
    public func people(_ signing: LogSigning) -> (members: [DeviceKey: String], putOut: Set<DeviceKey>) {
        var membership = Membership(room: id, signing: signing)
        _ = try? membership.add(readStatements)
        return (
            Dictionary(membership.people.map { ($0.device, $0.name) }, uniquingKeysWith: { $1 }),
            Set(membership.putOut.keys)
        )
    }

    /// The room was kept by an older BeamRoom, which signed differently who belongs to it: it can't be entered by that.
    public var isOfOlderForm: Bool { !statements.isEmpty && readStatements.isEmpty }

    /// Without what can't be read.
    var readStatements: [MembershipStatement] {
        statements.compactMap { bytes in
            bytes.withUnsafeBytes { bytes -> MembershipStatement? in
                var reader = BigEndianReader(bytes)
                return MembershipStatement(&reader)
            }
        }
    }
}
