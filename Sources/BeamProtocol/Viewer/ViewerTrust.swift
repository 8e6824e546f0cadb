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
    /// The host has to be one of these: it was chosen by a name or an address that belongs to them.
    public var required: Set<DeviceKey>?
    /// The name under which discovery has found the host that was chosen; nil where it was chosen by address.
    public var chosenName: String?
    /// The address by which it was chosen, where a known host was at the last time.
    public var chosenAddress: String?
    /// False: who isn't known is left alone.
    public var pairs: Bool
    /// False: a host that is paired is known until the viewer ends, and no longer.
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

    /// Why a host with this key isn't the one that was chosen, and what to do, as a part of a sentence; nil if it may be.
    func conflict(with host: DeviceKey) -> String? {
        if let required, !required.contains(host) { return conflictWithRequired(host) }
        guard required == nil, let chosenName, let known = known[host].map({ PeerText.name($0) }),
            !DeviceNames.isVariant(known, of: Self.withoutNumber(chosenName), host),
            !DeviceNames.isVariant(known, of: chosenName, host)
        else { return nil }
        let name = PeerText.name(chosenName)
        return "“\(name)” is the host that this machine knows as “\(known)”. If it was renamed, say so: "
            + "`beamroom devices rename \"\(known)\" \"\(name)\"`; until then watch it as “\(known)”"
    }

    private func conflictWithRequired(_ host: DeviceKey) -> String {
        guard let chosenAddress else {
            return "it shows another key (\(host)) than the one that was paired under this name. If it was set up "
                + "anew, `beamroom devices forget` it here and pair again; if not, somebody may stand in between"
        }
        let names = (required ?? []).compactMap { known[$0] }.map { "“\(PeerText.name($0))”" }.sorted()
        return "it shows another key (\(host)) than \(names.joined(separator: " or ")), which was at \(chosenAddress) "
            + "the last time. If another machine has that address now, say so with --new-host; if not, somebody may "
            + "stand in between"
    }

    /// Discovery adds ` #2` to a name that another machine has already.
    private static func withoutNumber(_ name: String) -> String {
        guard let mark = name.lastIndex(of: "#"), mark > name.startIndex,
            name[mark...].dropFirst().allSatisfy(\.isNumber), name[name.index(before: mark)] == " "
        else { return name }
        return String(name[..<mark])
    }
}
