extension Membership {
    /// Up to which number each run of a device's log was known to who put the device out.
    func lastEntries(of device: DeviceKey) -> [UInt64: UInt32] { [:] }
}
