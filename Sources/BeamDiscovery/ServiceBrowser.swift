import Synchronization

/// Browses for services of one type on the local network (DNS-SD over multicast DNS) through the machine's Avahi
/// daemon, until `stop` or deinit. Continues when the daemon restarts.
public final class ServiceBrowser: Sendable {
    private let delivery: Delivery<BrowserEvent>
    private let runner: Mutex<AvahiRunner?>

    /// - Parameters:
    ///   - type: for example `_beamctl._tcp`.
    ///   - onEvent: called on Avahi's thread, one event at a time; may call `stop`.
    public init(type: String, onEvent: @escaping @Sendable (BrowserEvent) -> Void) {
        let delivery = Delivery(onEvent)
        let runner = AvahiRunner(BrowserWork(type: type, send: { delivery.send($0) }))
        self.delivery = delivery
        self.runner = Mutex(runner)
        if runner == nil {
            delivery.send(
                .unavailable(reason: "The system has no memory or thread left to look for hosts on the network."))
        }
    }

    deinit { stop() }

    /// After this returns, no event is delivered. Called from `onEvent`, it doesn't wait for Avahi's thread to end.
    public func stop() {
        let runner = runner.withLock { $0.take() }
        let isInside = delivery.close()
        runner?.stop(isInside: isInside)
    }
}

/// Browses, and resolves each sighting.
private final class BrowserWork: AvahiWork, @unchecked Sendable {
    // Sendable: all variables are used with the loop's lock held, which callbacks on Avahi's thread hold.

    /// Milliseconds between attempts to resolve a service that nobody answers for.
    private static let retryMilliseconds: UInt32 = 5000
    /// Milliseconds that `settled` waits for the last services to be resolved; one that doesn't answer must not delay
    /// it further.
    private static let settlingMilliseconds: UInt32 = 1500

    private let type: String
    private let send: @Sendable (BrowserEvent) -> Void
    private var loop: AvahiLoop?
    private var connection: AvahiConnection?
    private var client: AvahiClient?
    private var browser: AvahiBrowser?
    private var resolvers: [Sighting: AvahiResolver] = [:]
    private var retries: [Sighting: AvahiTimer] = [:]
    private var table = InstanceTable()
    private var settling = Settling.looking
    private var settlingTimer: AvahiTimer?

    private enum Settling {
        case looking
        /// All instances have appeared, but those in `unresolved` aren't resolved yet.
        case resolving
        case settled
    }
    private var unresolved: Set<Sighting> = []

    init(type: String, send: @escaping @Sendable (BrowserEvent) -> Void) {
        self.type = type
        self.send = send
    }

    func begin(_ loop: AvahiLoop) {
        self.loop = loop
        connection = AvahiConnection(loop) { [weak self] event in self?.handle(event) }
        connection?.connect()
    }

    func end() {
        forgetEverything()
        connection = nil
        loop = nil
    }

    private func handle(_ event: AvahiConnection.Event) {
        switch event {
        case .ready(let client), .settling(let client):
            guard browser == nil else { return }
            self.client = client
            browser = AvahiBrowser(client, type: type) { [weak self] event in self?.handle(event) }
            if browser == nil { connection?.refused(client.lastError) }
        case .broken:
            forgetEverything()
            table.interrupted()
        case .available:
            send(.available)
        case .unavailable(let cause):
            send(
                .unavailable(
                    reason: "\(cause). Connect by address: `beamroom watch 192.0.2.7`. "
                        + "For discovery, install the package avahi-daemon and start it."))
        }
    }

    private func forgetEverything() {
        settlingTimer = nil
        settling = .looking
        unresolved = []
        retries = [:]
        resolvers = [:]
        browser = nil
        client = nil
    }

    private func handle(_ event: AvahiBrowser.Event) {
        switch event {
        case .appeared(let sighting):
            guard table.appeared(sighting) else { return }
            unresolved.insert(sighting)
            resolve(sighting)
        case .disappeared(let sighting):
            resolvers[sighting] = nil
            retries[sighting] = nil
            table.disappeared(sighting).forEach(send)
            isResolved(sighting)
        case .complete:
            guard settling == .looking, let loop else { return }
            settling = .resolving
            settlingTimer = AvahiTimer(loop, after: Self.settlingMilliseconds) { [weak self] in self?.settle() }
            if unresolved.isEmpty { settle() }
        case .failed(let error):
            // `AvahiConnection` handles a daemon that has gone.
            if error != .disconnected { connection?.refused(error) }
        }
    }

    private func resolve(_ sighting: Sighting) {
        guard let client else { return }
        retries[sighting] = nil
        resolvers[sighting] = AvahiResolver(client, sighting, type: type) { [weak self] resolution in
            self?.resolved(sighting, resolution)
        }
        if resolvers[sighting] == nil { tryLater(sighting) }
    }

    private func resolved(_ sighting: Sighting, _ resolution: Resolution?) {
        if let resolution {
            table.resolved(sighting, resolution).forEach(send)
        } else {
            tryLater(sighting)
        }
        isResolved(sighting)
    }

    private func tryLater(_ sighting: Sighting) {
        guard let loop else { return }
        retries[sighting] = AvahiTimer(loop, after: Self.retryMilliseconds) { [weak self] in self?.resolve(sighting) }
    }

    private func isResolved(_ sighting: Sighting) {
        unresolved.remove(sighting)
        if settling == .resolving, unresolved.isEmpty { settle() }
    }

    private func settle() {
        settlingTimer = nil
        guard settling == .resolving else { return }
        settling = .settled
        table.settled().forEach(send)
        send(.settled)
    }
}
