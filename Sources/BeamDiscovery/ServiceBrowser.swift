import Synchronization

/// Looks for services of one type on the local network (DNS-SD over multicast DNS) through the machine's Avahi daemon,
/// for as long as it lives or until `stop`. Goes on by itself when the daemon restarts.
public final class ServiceBrowser: Sendable {
    private let delivery: Delivery<BrowserEvent>
    private let runner: Mutex<AvahiRunner?>

    /// `type` is for example `_beamctl._tcp`. `onEvent` is called on a thread of Avahi's, one event at a time; it may
    /// call `stop`.
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

    /// No event comes any more when this returns. Called from `onEvent` it doesn't wait for the end of what runs below.
    public func stop() {
        let runner = runner.withLock { $0.take() }
        let isInside = delivery.close()
        runner?.stop(isInside: isInside)
    }
}

/// Browses, and resolves what appears.
private final class BrowserWork: AvahiWork, @unchecked Sendable {
    // Sendable: every variable below is touched with the loop's lock held only, which Avahi's thread has in callbacks.

    /// Time from try to try for a service that is announced, and that nobody answers for; milliseconds.
    private static let retryInterval: UInt32 = 5000
    /// One host that doesn't answer must not hold back the word that all others are known; milliseconds.
    private static let settlingPatience: UInt32 = 1500

    private let type: String
    private let send: @Sendable (BrowserEvent) -> Void
    private var loop: AvahiLoop?
    private var connection: AvahiConnection?
    private var client: AvahiClient?
    private var browser: AvahiBrowser?
    private var resolvers: [Sight: AvahiResolver] = [:]
    private var retries: [Sight: AvahiTimer] = [:]
    private var table = InstanceTable()
    private var settling = Settling.looking
    private var settlingTimer: AvahiTimer?

    private enum Settling {
        case looking
        /// All has appeared; of these it isn't known yet what they are.
        case resolving
        case settled
    }
    private var unresolved: Set<Sight> = []

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
        case .appeared(let sight):
            guard table.appeared(sight) else { return }
            unresolved.insert(sight)
            resolve(sight)
        case .disappeared(let sight):
            resolvers[sight] = nil
            retries[sight] = nil
            table.disappeared(sight).forEach(send)
            isResolved(sight)
        case .complete:
            guard settling == .looking, let loop else { return }
            settling = .resolving
            settlingTimer = AvahiTimer(loop, after: Self.settlingPatience) { [weak self] in self?.settle() }
            if unresolved.isEmpty { settle() }
        case .failed(let error):
            // A daemon that has gone is the connection's matter.
            if error != .disconnected { connection?.refused(error) }
        }
    }

    private func resolve(_ sight: Sight) {
        guard let client else { return }
        retries[sight] = nil
        resolvers[sight] = AvahiResolver(client, sight, type: type) { [weak self] resolution in
            self?.resolved(sight, resolution)
        }
        if resolvers[sight] == nil { tryLater(sight) }
    }

    private func resolved(_ sight: Sight, _ resolution: Resolution?) {
        if let resolution {
            table.resolved(sight, resolution).forEach(send)
        } else {
            tryLater(sight)
        }
        isResolved(sight)
    }

    private func tryLater(_ sight: Sight) {
        guard let loop else { return }
        retries[sight] = AvahiTimer(loop, after: Self.retryInterval) { [weak self] in self?.resolve(sight) }
    }

    private func isResolved(_ sight: Sight) {
        unresolved.remove(sight)
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
