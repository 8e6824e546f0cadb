/// Which hosts a viewer knows, and how it comes to know others.
public struct ViewerTrust: Sendable {
    /// The viewer's own key, which its certificate shows.
    public var own: DeviceKey
    /// What the host's person sees.
    public var name: String
    /// Random: tells this run from others on the same machine.
    public var instance: UInt64
    /// The hosts that were paired before, with their names.
    public var known: [DeviceKey: String]
    /// The host has to be one of these: it was chosen by a name that belongs to them.
    public var required: Set<DeviceKey>?
    /// False: who isn't known is left alone.
    public var pairs: Bool
    /// False: a host that is paired is known until the viewer ends, and no longer.
    public var remembersNewHosts: Bool

    public init(
        own: DeviceKey, name: String, instance: UInt64, known: [DeviceKey: String] = [:],
        required: Set<DeviceKey>? = nil, pairs: Bool = true, remembersNewHosts: Bool = true
    ) {
        self.own = own
        self.name = name
        self.instance = instance
        self.known = known
        self.required = required
        self.pairs = pairs
        self.remembersNewHosts = remembersNewHosts
    }
}
