import BeamDiscovery
import BeamNetwork
import BeamProtocol
import Synchronization

/// Finds hosts by discovery, and the addresses of the chosen one.
final class HostFinder: Sendable {
    struct Handlers: Sendable {
        /// The list of hosts has changed, and none is chosen yet.
        var onChoices: @Sendable ([HostChoice]) -> Void
        /// A host was chosen by the person, or because it is the only one.
        var onChosen: @Sendable (String) -> Void
        /// The chosen host has appeared or moved, or an attempt without discovery makes sense.
        var onReachable: @Sendable () -> Void
        /// The host that is looked for by name has been discovered.
        var onFound: @Sendable () -> Void
        /// Discovery begins: for the host of this name, or for any.
        var onSearching: @Sendable (String?) -> Void
        /// Why hosts can't be discovered at present, in sentences; nil: they can again.
        var onDiscovery: @Sendable (String?) -> Void
    }

    private struct State {
        var hosts: [String: DiscoveredHost] = [:]
        var chosen: String?
        var isSettled = false
        /// The chosen host was discovered before.
        var wasFound = false
    }

    private let target: ViewerOptions.Target
    private let handlers: Handlers
    private let state: Mutex<State>
    private let browser = Mutex<ServiceBrowser?>(nil)

    init(_ target: ViewerOptions.Target, handlers: Handlers) {
        self.target = target
        self.handlers = handlers
        var state = State()
        if case .name(let name, _) = target { state.chosen = name }
        self.state = Mutex(state)
    }

    /// Starts discovery, if the target needs it.
    func start() {
        switch target {
        case .endpoint: return handlers.onReachable()
        case .name(let name, _): handlers.onSearching(name)
        case .anyHost: handlers.onSearching(nil)
        }
        let browser = ServiceBrowser(type: ServiceType.control) { [weak self] event in self?.handle(event) }
        self.browser.withLock { $0 = browser }
    }

    func stop() {
        let browser = browser.withLock { browser in
            defer { browser = nil }
            return browser
        }
        browser?.stop()
    }

    /// Takes the person's choice.
    func choose(_ choice: HostChoice) {
        let isNew = state.withLock { state in
            guard state.chosen == nil else { return false }
            state.chosen = choice.name
            return true
        }
        guard isNew else { return }
        handlers.onChosen(choice.name)
        handlers.onReachable()
    }

    /// The host's addresses, the most likely one first.
    func endpoints() -> [Endpoint] {
        switch target {
        case .endpoint(let endpoint):
            return [endpoint]
        case .name(let name, let port):
            let found = discovered()
            // Never announced: it may be a name that the system can resolve.
            let mayBeHostName = found.isEmpty && !state.withLock { $0.wasFound }
            return mayBeHostName ? [Endpoint(host: name, port: port)] : found
        case .anyHost:
            return discovered()
        }
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
            case .name(let name, let port): isDiscovered ? nil : Endpoint(host: name, port: port).description
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
            return host.addresses.map { Endpoint(host: $0, port: host.port) }
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
            listChanged(appeared: host.name)
        case .lost(let name):
            state.withLock { _ = $0.hosts.removeValue(forKey: name) }
            listChanged(appeared: nil)
        case .settled:
            state.withLock { $0.isSettled = true }
            // Not announced: it may be a name that the system can resolve.
            if case .name = target, discovered().isEmpty { handlers.onReachable() }
            listChanged(appeared: nil)
        case .available:
            handlers.onDiscovery(nil)
        case .unavailable(let reason):
            handlers.onDiscovery(reason)
            if case .name = target { handlers.onReachable() }
        }
    }

    private enum Change {
        case none
        case chosen(String)
        case appeared
        case choices([HostChoice])
    }

    private func listChanged(appeared: String?) {
        let change = state.withLock { state -> Change in
            if let chosen = state.chosen {
                guard let appeared, DeviceNames.areSame(appeared, chosen) else { return .none }
                state.wasFound = true
                return .appeared
            }
            // Until the first results are complete, there may be more than one host.
            guard state.isSettled else { return .none }
            let choices = state.hosts.values
                .filter { !$0.addresses.isEmpty }
                .map { HostChoice(name: $0.name, addresses: $0.addresses, port: $0.port) }
                .sorted { $0.name < $1.name }
            guard choices.count == 1, let only = choices.first else { return .choices(choices) }
            state.chosen = only.name
            state.wasFound = true
            return .chosen(only.name)
        }
        switch change {
        case .none: break
        case .appeared:
            handlers.onFound()
            handlers.onReachable()
        case .choices(let choices): handlers.onChoices(choices)
        case .chosen(let name):
            handlers.onChosen(name)
            handlers.onReachable()
        }
    }
}
