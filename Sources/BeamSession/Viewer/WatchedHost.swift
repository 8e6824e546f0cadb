import BeamWire

/// Whom a viewer watches: which keys are trusted, and what the host is called.
struct WatchedHost: Sendable {
    enum Verdict: Sendable {
        case known
        /// It may be paired.
        case unknown
        /// Another one than the expected one, or an unknown one where nobody is paired.
        case mistrusted(ViewerRefusal)
    }

    /// Reports of a changed host name in one run: a host could change its name with each connection.
    private static let mostNewNames = 3

    private let trust: ViewerTrust
    /// The known hosts: remembered, or paired in this run.
    private var book: TrustBook
    /// The key of the host on the present or last version 2 connection.
    private var key: DeviceKey?
    /// The key of the paired host that was watched in this run: no other one is watched in its place.
    private var watched: DeviceKey?
    /// For display: the name by which it is remembered, else the one that it claims.
    private(set) var name = ""
    /// The name was reported.
    private var isNamed = false
    /// The last changed name of a known host that was reported.
    private var lastNewName: String?
    private var newNames = 0

    init(_ trust: ViewerTrust) {
        self.trust = trust
        book = TrustBook(remembered: trust.known)
    }

    /// The hosts that may answer; nil: any.
    var expected: Set<DeviceKey>? { watched.map { [$0] } ?? trust.required }

    /// TLS has proved that the peer holds this key. Whether it is trusted is decided here, for each connection.
    mutating func met(_ host: DeviceKey) -> Verdict {
        key = host
        if let conflict = conflict(with: host) { return .mistrusted(conflict) }
        let isKnown = book.trusts(host)
        guard isKnown || trust.pairs else { return .mistrusted(.notPaired) }
        name = book.name(of: host) ?? ""
        return isKnown ? .known : .unknown
    }

    /// Why the host with this key isn't watched; nil if it may be.
    func conflict(with host: DeviceKey) -> ViewerRefusal? {
        if let conflict = trust.conflict(with: host) { return conflict }
        guard let expected = watched, expected != host else { return nil }
        // An address may belong to another machine now, or somebody is in between.
        let names = [book.name(of: expected)].compactMap { $0 }
        return .otherKey(ViewerRefusal.OtherKey(key: host, expected: names, place: .here))
    }

    /// The host with this key calls itself `claimed`. Returns what the person is told.
    mutating func called(_ claimed: String, _ host: DeviceKey) -> [ViewerEvent] {
        guard !claimed.isEmpty else { return [] }
        let claimed = PeerText.name(claimed)
        let known = book.name(of: host)
        var events: [ViewerEvent] = []
        let old = name
        name = known ?? claimed
        if name != old || !isNamed { events.append(.hostNamed(name)) }
        isNamed = true
        guard let known else { return events }
        let chosen = trust.newName(of: host)
        let newName = chosen ?? claimed
        guard chosen != nil || !DeviceNames.isVariant(known, of: claimed, host), newName != lastNewName,
            newNames < Self.mostNewNames
        else { return events }
        lastNewName = newName
        newNames += 1
        return events + [.hostCallsItself(newName, known: known, wasChosen: chosen != nil)]
    }

    /// Returns the name to store it by. Another known host may have this name; the store then marks the new one.
    mutating func paired(_ host: DeviceKey, claimed: String) -> String {
        let stored = book.name(of: host) ?? PeerText.name(claimed)
        name = book.pair(host, name: stored)
        return stored
    }

    /// It has admitted this viewer.
    mutating func admitted(_ host: DeviceKey) { if book.trusts(host) { watched = host } }

    /// The hosts in the store have changed. Returns whether this one was forgotten.
    mutating func isForgotten(in hosts: [DeviceKey: String]) -> Bool {
        let forgotten = book.update(hosts)
        return key.map { forgotten.contains($0) } ?? false
    }
}
