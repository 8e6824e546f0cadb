import BeamWire

/// Which hosts a viewer trusts, and whether it may pair with others.
public struct ViewerTrust: Sendable {
    /// The viewer's own device key.
    public var own: DeviceKey
    /// The viewer's name, shown at the host.
    public var name: String
    /// Random: identifies this run among those on the same machine.
    public var instance: UInt64
    public var known: [DeviceKey: String]
    /// The host must be one of these: it was chosen by a name or address that belongs to them. Nil: any host.
    public var required: Set<DeviceKey>?
    /// The name by which the host was found in discovery; nil if it was chosen by address.
    public var chosenName: String?
    /// The address that was chosen, if a known host was there the last time.
    public var chosenAddress: String?
    /// False: only known hosts are watched.
    public var pairs: Bool
    /// False: a newly paired host is known only until the viewer ends.
    public var remembersNewHosts: Bool

    public init(
        own: DeviceKey, name: String, instance: UInt64, known: [DeviceKey: String] = [:],
        required: Set<DeviceKey>? = nil, chosenName: String? = nil, chosenAddress: String? = nil, pairs: Bool = true,
        remembersNewHosts: Bool = true
    ) {
        self.own = own
        self.name = name
        self.instance = instance
        self.known = known
        self.required = required
        self.chosenName = chosenName
        self.chosenAddress = chosenAddress
        self.pairs = pairs
        self.remembersNewHosts = remembersNewHosts
    }

    /// Why the host with this key isn't the chosen one; nil if it may be.
    func conflict(with host: DeviceKey) -> ViewerRefusal? {
        if let required, !required.contains(host) { return conflictWithRequired(host) }
        return nil
    }

    /// The name by which the host with this key was chosen, if it is known by another one. Nobody else who is known has that
    /// name, or the host would be refused.
    func newName(of host: DeviceKey) -> String? {
        guard required == nil, let chosenName, let known = known[host].map({ PeerText.name($0) }),
            !DeviceNames.isVariant(known, of: DeviceNames.withoutNumber(chosenName), host),
            !DeviceNames.isVariant(known, of: chosenName, host)
        else { return nil }
        return PeerText.name(chosenName)
    }

    private func conflictWithRequired(_ host: DeviceKey) -> ViewerRefusal {
        let expected = (required ?? []).compactMap { known[$0] }.map { PeerText.name($0) }.sorted()
        return .otherKey(
            ViewerRefusal.OtherKey(
                key: host, expected: expected, place: chosenAddress.map { .address($0) } ?? .name))
    }
}
