/// Whom a host lets in without asking, and how others may become one of those.
public struct HostTrust: Sendable {
    /// The host's own key, which its certificate shows.
    public var own: DeviceKey
    /// The viewers that were paired before, with their names.
    public var remembered: [DeviceKey: String]
    /// What a viewer has to type that isn't known.
    public var code: HostCode
    /// False: nobody new is let in, with code or without.
    public var takesNewViewers: Bool
    /// False: who is paired is known until the host ends, and no longer.
    public var remembersNewViewers: Bool

    public init(
        own: DeviceKey, remembered: [DeviceKey: String] = [:], code: HostCode, takesNewViewers: Bool = true,
        remembersNewViewers: Bool = true
    ) {
        self.own = own
        self.remembered = remembered
        self.code = code
        self.takesNewViewers = takesNewViewers
        self.remembersNewViewers = remembersNewViewers
    }
}
