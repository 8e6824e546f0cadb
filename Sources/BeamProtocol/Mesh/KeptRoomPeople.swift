import BeamMedia

extension KeptRoom {
    /// Who belongs to the room, and who was put out of it, by what is kept: names by key, this device's own among them.
    ///
    /// - Parameter signing: checks the statements' signatures.
    public func people(_ signing: RoomSigning) -> (members: [DeviceKey: String], putOut: Set<DeviceKey>) {
        var membership = Membership(room: id, signing: signing)
        for bytes in statements {
            let statement = bytes.withUnsafeBytes { bytes -> MembershipStatement? in
                var reader = BigEndianReader(bytes)
                return MembershipStatement(&reader)
            }
            if let statement { _ = try? membership.add(statement) }
        }
        return (
            Dictionary(membership.people.map { ($0.device, $0.name) }, uniquingKeysWith: { $1 }),
            Set(membership.putOut.keys)
        )
    }
}
