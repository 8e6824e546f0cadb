import BeamClock
import BeamDiscovery
import BeamMedia
import BeamNetwork
import BeamTrust
import BeamWire
import Dispatch
import Synchronization

/// Finds hosts by discovery, and the addresses of the chosen one.
///
/// The last known addresses of a host that was paired are tried at the same time, so that it is found on a network where
/// multicast doesn't pass, and in spite of an announcement that isn't true any more.
final class HostFinder: Sendable {
    struct Handlers: Sendable {
        /// The list of hosts has changed, and none is chosen yet.
        var onChoices: @Sendable ([HostChoice]) -> Void
        /// A host was chosen by the person, or because it is the only one. `isAddress`: an address, not a name.
        var onChosen: @Sendable (_ name: String, _ isAddress: Bool) -> Void
        /// The chosen host has appeared or moved, or an attempt without discovery makes sense.
        /// With the protocol version that it announces, if discovery has found it.
        var onReachable: @Sendable (_ announcedVersion: Int?) -> Void
        /// The host that is looked for by name has been discovered.
        var onFound: @Sendable () -> Void
        /// Discovery begins: for the host of this name, or for any.
        var onSearching: @Sendable (String?) -> Void
        /// Why hosts can't be discovered at present, in sentences; nil: they can again. `triesAddresses`: the chosen host's
        /// last known addresses are tried all the same.
        var onDiscovery: @Sendable (_ problem: String?, _ triesAddresses: Bool) -> Void
    }

    private struct State {
        /// What was asked for; for any host, what the person has typed.
        var target: ViewerOptions.Target
        var hosts: [String: DiscoveredHost] = [:]
        var chosen: String?
        var isSettled = false
        /// The chosen host was discovered before.
        var wasFound = false
        /// The person has picked a host, so the only one isn't chosen by itself any more.
        var isPersonsChoice = false
        /// Discovery has been waited for, or there is none.
        var isSearched = false
        var addresses = HostAddresses()
        /// The numeric addresses of a `.local` name, as Avahi resolves it.
        var resolved: [Endpoint] = []

        var isByAddress: Bool { if case .endpoint = target { true } else { false } }
        /// The person hasn't decided yet.
        var isOpen: Bool { chosen == nil && !isByAddress }
    }

    /// What was asked for at the start.
    private let given: ViewerOptions.Target
    /// The addresses that are stored for the paired host of this name.
    private let lastKnown: @Sendable (String) -> [Endpoint]
    private let handlers: Handlers
    private let serviceType: String
    private let state: Mutex<State>
    private let discovery = Mutex(Discovery.notBegun)
    /// Resolves the target's `.local` name; nil: it has none, or this wasn't begun.
    private let resolver = Mutex<HostNameResolver?>(nil)

    private enum Discovery: Sendable {
        case notBegun
        /// The browser is being made.
        case begun
        case running(ServiceBrowser)
        case stopped
    }

    /// - Parameter serviceType: as what the host announces itself.
    init(
        _ target: ViewerOptions.Target, serviceType: String = ServiceType.control,
        lastKnown: @escaping @Sendable (String) -> [Endpoint], handlers: Handlers
    ) {
        self.serviceType = serviceType
        given = target
        self.lastKnown = lastKnown
        self.handlers = handlers
        var state = State(target: target)
        if case .name(let name, _) = target {
            state.chosen = name
            state.addresses.remember(lastKnown(name))
        }
        self.state = Mutex(state)
    }

    private var target: ViewerOptions.Target { state.withLock { $0.target } }

    /// Starts discovery, if the target needs it.
    func start() {
        switch given {
        case .endpoint: return handlers.onReachable(announcedVersion)
        case .name(let name, _):
            handlers.onSearching(name)
            if !hints().isEmpty { handlers.onReachable(announcedVersion) }
        case .anyHost: handlers.onSearching(nil)
        }
        resolve()
        browse()
    }

    /// Resolves a `.local` name by the Avahi daemon: the system's own resolver does so only with nss-mdns.
    private func resolve() {
        guard case .name(_, let address?) = target, HostNameResolver.resolves(address.host) else { return }
        let resolver = HostNameResolver(address.host) { [weak self] addresses in
            self?.resolved(addresses.map { Endpoint(host: $0, port: address.port) })
        }
        self.resolver.withLock { $0 = resolver }
    }

    private func resolved(_ endpoints: [Endpoint]) {
        let isToBeTried = state.withLock { state in
            state.resolved = endpoints
            // Before, a host that announces this name may be found.
            return state.isSearched && !state.wasFound && !endpoints.isEmpty
        }
        if isToBeTried { handlers.onReachable(announcedVersion) }
    }

    /// Starts discovery, once. Waits for the Avahi daemon.
    private func browse() {
        let isFirst = discovery.withLock { discovery in
            guard case .notBegun = discovery else { return false }
            discovery = .begun
            return true
        }
        guard isFirst else { return }
        let browser = ServiceBrowser(type: serviceType) { [weak self] event in self?.handle(event) }
        let isWanted = discovery.withLock { discovery in
            guard case .begun = discovery else { return false }
            discovery = .running(browser)
            return true
        }
        if !isWanted { browser.stop() }
    }

    func stop() {
        let last = discovery.withLock { discovery in
            defer { discovery = .stopped }
            return discovery
        }
        if case .running(let browser) = last { browser.stop() }
        resolver.withLock { $0.take() }?.stop()
    }

    /// Takes the person's choice.
    func choose(_ choice: HostChoice) {
        let isNew = state.withLock { state in
            guard state.isOpen else { return false }
            state.chosen = choice.name
            state.isPersonsChoice = true
            state.addresses.remember(lastKnown(choice.name))
            return true
        }
        guard isNew else { return }
        handlers.onChosen(choice.name, false)
        handlers.onReachable(announcedVersion)
    }

    /// Takes what the person has typed in place of a choice.
    func choose(_ target: ViewerOptions.Target) {
        let isNew = state.withLock { state in
            guard state.isOpen, target != .anyHost else { return false }
            state.target = target
            state.isPersonsChoice = true
            if case .name(let name, _) = target {
                state.chosen = name
                state.wasFound = Self.host(named: name, in: state.hosts) != nil
                state.addresses.remember(lastKnown(name))
            }
            return true
        }
        guard isNew else { return }
        switch target {
        case .endpoint(let endpoint): handlers.onChosen(endpoint.description, true)
        case .name(let name, _): handlers.onChosen(name, false)
        case .anyHost: return
        }
        resolve()
        // A name that nobody announces is tried as one of the network.
        if !endpoints().isEmpty || !hints().isEmpty { handlers.onReachable(announcedVersion) }
    }

    /// There is a list to which the person can go back: no host was named at the start, and one is chosen now.
    var hasList: Bool { given == .anyHost && state.withLock { !$0.isOpen } }

    /// Gives up the chosen host. `offerAgain` has to follow.
    func forgetChoice() {
        guard hasList else { return }
        state.withLock { state in
            state.target = given
            state.chosen = nil
            state.wasFound = false
            state.addresses = HostAddresses()
            state.resolved = []
            // The only one isn't chosen by itself any more.
            state.isPersonsChoice = true
        }
        resolver.withLock { $0.take() }?.stop()
    }

    /// Offers the hosts to the person again, also if there is one only.
    func offerAgain() { handlers.onChoices(state.withLock { Self.choices(in: $0.hosts) }) }

    /// Discovery has been waited for, or there is none.
    var isSearched: Bool { state.withLock { $0.isSearched } }

    /// The host's addresses, the most likely one first.
    func endpoints() -> [Endpoint] {
        switch target {
        case .endpoint(let endpoint):
            return [endpoint]
        case .name(_, let address):
            let found = discovered()
            // Never announced: it may be a name that the system or Avahi can resolve.
            return state.withLock { state in
                guard found.isEmpty, state.isSearched, !state.wasFound, let address else { return found }
                return state.resolved + [address]
            }
        case .anyHost:
            return discovered()
        }
    }

    // MARK: Where it may be, too

    /// Further addresses at which the chosen host may be; its key decides.
    func hints() -> [Endpoint] {
        let named = endpoints()
        return state.withLock { state in
            guard !state.isOpen else { return [] }
            let namesakes = state.chosen.map { Self.namesakes(of: $0, in: state.hosts) } ?? []
            return state.addresses.candidates(besides: named, namesakes: namesakes, now: .now)
        }
    }

    /// Another source has found the chosen host at this numeric address. If it isn't one, nothing happens.
    func offer(address: String, port: UInt16) {
        guard let known = KnownAddress(host: address, port: port) else { return }
        let isNew = state.withLock { $0.addresses.offer(Endpoint(known)) }
        // Without a host's name there is nobody to look for yet.
        if isNew, !state.withLock({ $0.isOpen }) { handlers.onReachable(announcedVersion) }
    }

    /// The chosen host has admitted this viewer at `endpoint`. Returns the address that the person gave if the host was
    /// found by it.
    func reached(_ endpoint: Endpoint) -> String? {
        let isNamed = endpoints().contains(endpoint)
        let isHint = state.withLock { state in
            defer { state.addresses.reached(endpoint) }
            return state.addresses.contains(endpoint)
        }
        // A name that the system resolves can't be compared with the numeric address.
        return isNamed || !isHint ? choice.address : nil
    }

    /// The connection to the host has ended: it may come back at another address or under another name. Called on the
    /// event loop.
    func lost() {
        let isKnown = state.withLock { state in
            state.addresses.lost(now: .now)
            // Without a key, no other address is tried.
            return !state.addresses.lastKnown.isEmpty
        }
        guard isByAddress, isKnown else { return }
        DispatchQueue.global().async { [weak self] in self?.browse() }
    }

    /// Another host has answered at `endpoint`.
    func foundOther(at endpoint: Endpoint) { state.withLock { $0.addresses.occupied(endpoint, now: .now) } }

    private var isByAddress: Bool { state.withLock { $0.isByAddress } }

    /// The addresses of hosts whose names differ from the chosen one by a number: discovery renames a host whose name is
    /// taken, perhaps by its own announcement before it was started anew.
    private static func namesakes(of chosen: String, in hosts: [String: DiscoveredHost]) -> [Endpoint] {
        let base = DeviceNames.withoutNumber(chosen)
        return hosts.values.filter { DeviceNames.areSame(DeviceNames.withoutNumber($0.name), base) }
            .sorted { $0.name < $1.name }.flatMap(endpoints)
    }

    private static func endpoints(_ host: DiscoveredHost) -> [Endpoint] {
        host.addresses.map { Endpoint(host: $0, port: host.port) }
    }

    /// How the host was chosen.
    struct Choice: Sendable {
        /// The name, if it was chosen by name.
        var name: String?
        var isDiscovered: Bool
        /// The address that the person gave: `192.0.2.7:52345`, or a name that the system resolves.
        var address: String?
    }

    var choice: Choice {
        let name = state.withLock { $0.chosen }
        let isDiscovered = announcedVersion != nil
        let address: String? =
            switch target {
            case .endpoint(let endpoint): endpoint.description
            case .name(_, let address): isDiscovered ? nil : address?.description
            case .anyHost: nil
            }
        return Choice(name: name, isDiscovered: isDiscovered, address: address)
    }

    /// The highest protocol version that the host announces; nil if discovery hasn't found it.
    var announcedVersion: Int? {
        state.withLock { state in
            guard let chosen = state.chosen, let host = Self.host(named: chosen, in: state.hosts) else { return nil }
            return host.txt["beam"].map { $0.split(separator: ",").contains("2") ? 2 : 1 } ?? 1
        }
    }

    private func discovered() -> [Endpoint] {
        state.withLock { state in
            guard let chosen = state.chosen, let host = Self.host(named: chosen, in: state.hosts) else { return [] }
            return Self.endpoints(host)
        }
    }

    /// An exact match, else one that is the same for `beamroom devices`, too.
    private static func host(named name: String, in hosts: [String: DiscoveredHost]) -> DiscoveredHost? {
        hosts[name] ?? hosts.values.first { DeviceNames.areSame($0.name, name) }
    }

    private func handle(_ event: BrowserEvent) {
        switch event {
        case .found(let host):
            state.withLock { $0.hosts[host.name] = host }
            noteStray(host)
            listChanged(appeared: host.name)
        case .lost(let name):
            state.withLock { _ = $0.hosts.removeValue(forKey: name) }
            listChanged(appeared: nil)
        case .settled:
            state.withLock { ($0.isSettled, $0.isSearched) = (true, true) }
            // Not announced: it may be a name that the system can resolve.
            if discovered().isEmpty { tryAsHostName() }
            listChanged(appeared: nil)
        case .available:
            handlers.onDiscovery(nil, false)
        case .unavailable(let reason):
            handlers.onDiscovery(reason, state.withLock { !$0.addresses.lastKnown.isEmpty })
            let isOpen = state.withLock { state in
                state.isSearched = true
                return state.isOpen
            }
            // There is nothing to wait for before the person types an address.
            if isOpen { offerAgain() }
            tryAsHostName()
        }
    }

    /// The name may be one of the network. If it can't be, there is nothing to try but what is known of the host.
    private func tryAsHostName() {
        guard case .name = target, !endpoints().isEmpty || !hints().isEmpty else { return }
        handlers.onReachable(announcedVersion)
    }

    /// A host that isn't called like the chosen one may be the chosen one, started anew under another name.
    private func noteStray(_ host: DiscoveredHost) {
        let isToBeTried = state.withLock { state in
            if let chosen = state.chosen, DeviceNames.areSame(host.name, chosen) { return false }
            guard !state.isOpen else { return false }
            return state.addresses.hostAppeared(Self.endpoints(host), now: .now)
        }
        if isToBeTried { handlers.onReachable(announcedVersion) }
    }

    private enum Change {
        case none
        case chosen(String)
        case appeared
        case choices([HostChoice])
    }

    private func listChanged(appeared: String?) {
        guard !isByAddress else { return }
        let change = state.withLock { state -> Change in
            if let chosen = state.chosen {
                guard let appeared, DeviceNames.areSame(appeared, chosen) else { return .none }
                state.wasFound = true
                return .appeared
            }
            // Until the first results are complete, there may be more than one host.
            guard state.isSettled else { return .none }
            let choices = Self.choices(in: state.hosts)
            guard choices.count == 1, !state.isPersonsChoice, let only = choices.first else {
                return .choices(choices)
            }
            state.chosen = only.name
            state.wasFound = true
            state.addresses.remember(lastKnown(only.name))
            return .chosen(only.name)
        }
        switch change {
        case .none: break
        case .appeared:
            handlers.onFound()
            handlers.onReachable(announcedVersion)
        case .choices(let choices): handlers.onChoices(choices)
        case .chosen(let name):
            handlers.onChosen(name, false)
            handlers.onReachable(announcedVersion)
        }
    }
}

extension HostFinder {
    /// Those that have an address, by name.
    private static func choices(in hosts: [String: DiscoveredHost]) -> [HostChoice] {
        hosts.values.filter { !$0.addresses.isEmpty }
            .map { HostChoice(name: $0.name, addresses: $0.addresses, port: $0.port) }
            .sorted { $0.name < $1.name }
    }
}

extension Endpoint {
    init(_ address: KnownAddress) { self.init(host: address.host, port: address.port) }
}
