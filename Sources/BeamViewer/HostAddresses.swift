import BeamMedia
import BeamNetwork
import BeamTrust

/// Where a host may be besides the addresses that it announces: at its last known ones, at those that another source has
/// named, and where hosts have appeared since it was lost. Only its key shows whether it is there.
struct HostAddresses: Sendable {
    /// Addresses tried at a time.
    static let most = 8
    /// How long an address isn't tried after another host has answered there.
    static let pauseAfterOtherHost = Duration.seconds(60)
    /// Hosts that appeared this long before the loss may be the one that was lost.
    static let recentTime = Duration.seconds(10)
    /// The least time between two attempts made at once because a host of another name has appeared: anybody on the
    /// network can announce hosts.
    static let leastStrayInterval = Duration.seconds(2)

    /// Newest first.
    private(set) var lastKnown: [Endpoint] = []
    private var offered: [Endpoint] = []
    private var strays: [Endpoint] = []
    /// Announced hosts of other names that may turn out to be the sought one, and when they appeared.
    private var appeared: [(endpoints: [Endpoint], time: MediaTime)] = []
    private var occupied: [Endpoint: MediaTime] = [:]
    private var isLost = false
    private var lastStray: MediaTime?

    init(lastKnown: [Endpoint] = []) { self.lastKnown = lastKnown }

    /// The addresses to try now, the most promising first, without those in `named`.
    ///
    /// - Parameter namesakes: announced under a variant of the host's name.
    func candidates(besides named: [Endpoint], namesakes: [Endpoint], now: MediaTime) -> [Endpoint] {
        var seen = Set(named)
        let found = (lastKnown + offered + namesakes + strays).filter { endpoint in
            let isFree = occupied[endpoint].map { now - $0 >= Self.pauseAfterOtherHost } ?? true
            return isFree && seen.insert(endpoint).inserted
        }
        return Array(found.prefix(Self.most))
    }

    /// It is one of those that were collected here.
    func contains(_ endpoint: Endpoint) -> Bool {
        lastKnown.contains(endpoint) || offered.contains(endpoint) || strays.contains(endpoint)
    }

    /// The stored addresses of the host that was chosen.
    mutating func remember(_ stored: [Endpoint]) { lastKnown = Array(stored.prefix(Self.most)) }

    /// The host has proved its key there.
    mutating func reached(_ endpoint: Endpoint) {
        lastKnown = [endpoint] + lastKnown.filter { $0 != endpoint }.prefix(RememberedDevice.maxAddresses - 1)
        strays = []
        isLost = false
        occupied[endpoint] = nil
    }

    /// The connection to the host has ended.
    mutating func lost(now: MediaTime) {
        guard !isLost else { return }
        isLost = true
        for host in appeared where now - host.time <= Self.recentTime { addStray(host.endpoints) }
    }

    /// Another source has named an address. Returns whether it is new.
    mutating func offer(_ endpoint: Endpoint) -> Bool {
        guard !offered.contains(endpoint) else { return false }
        offered = Array(([endpoint] + offered).prefix(Self.most))
        return !lastKnown.contains(endpoint)
    }

    /// A host of another name has appeared. Returns whether it is to be tried at once.
    mutating func hostAppeared(_ endpoints: [Endpoint], now: MediaTime) -> Bool {
        appeared = appeared.filter { now - $0.time <= Self.recentTime }.suffix(Self.most - 1) + [(endpoints, now)]
        guard isLost else { return false }
        addStray(endpoints)
        guard lastStray.map({ now - $0 >= Self.leastStrayInterval }) ?? true else { return false }
        lastStray = now
        return true
    }

    /// Another host has answered there.
    mutating func occupied(_ endpoint: Endpoint, now: MediaTime) {
        strays.removeAll { $0 == endpoint }
        occupied = occupied.filter { now - $0.value < Self.pauseAfterOtherHost }
        if occupied.count < 4 * Self.most { occupied[endpoint] = now }
    }

    private mutating func addStray(_ endpoints: [Endpoint]) {
        let new = endpoints.prefix(RememberedDevice.maxAddresses)
        strays = Array((new + strays.filter { !new.contains($0) }).prefix(Self.most))
    }
}
