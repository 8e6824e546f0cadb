import Synchronization

/// An event from a `ServicePublisher`.
public enum PublisherEvent: Sendable, Equatable {
    /// The service is announced under this name. Reported again after the daemon was away.
    case published(name: String)
    /// Another machine uses the name `from`, so `to` is tried instead.
    case renamed(from: String, to: String)
    /// There is no Avahi daemon. The service is announced as soon as there is one. The reason is a person-facing
    /// sentence.
    case unavailable(reason: String)
    /// The daemon refuses to announce this service. The reason is a person-facing sentence.
    case failed(reason: String)
}

/// Announces a service on the local network (DNS-SD over multicast DNS) through the machine's Avahi daemon, until
/// `withdraw` or deinit. Announces again after the daemon restarts, and picks another name if the name is in use.
public final class ServicePublisher: Sendable {
    private let delivery: Delivery<PublisherEvent>
    private let runner: Mutex<AvahiRunner?>
    private let work: PublisherWork

    /// - Parameters:
    ///   - name: shown to people. Control characters and line breaks are removed, and it is cut to 63 bytes of UTF-8
    ///     (RFC 6763, 4.1.1).
    ///   - type: for example `_beamctl._tcp`.
    ///   - txt: each pair is cut to 255 bytes.
    ///   - onEvent: called on Avahi's thread, one event at a time; may call `withdraw`.
    public init(
        name: String, type: String, port: UInt16, txt: [(key: String, value: String)],
        onEvent: @escaping @Sendable (PublisherEvent) -> Void
    ) {
        let delivery = Delivery(onEvent)
        let work = PublisherWork(
            name: NetworkText.instanceName(name) ?? "beamroom", type: type, port: port, txt: NetworkText.entries(txt),
            send: { delivery.send($0) })
        let runner = AvahiRunner(work)
        self.work = work
        self.delivery = delivery
        self.runner = Mutex(runner)
        if runner == nil {
            delivery.send(
                .failed(reason: "The system has no memory or thread left to announce “\(name)” on the network."))
        }
    }

    deinit { withdraw() }

    /// Changes the TXT record in place: those who look see no service go or come. Waits for the daemon, on any thread but
    /// that of `onEvent`.
    ///
    /// - Parameter txt: each pair is cut to 255 bytes.
    public func update(txt: [(key: String, value: String)]) {
        let entries = NetworkText.entries(txt)
        // Not under the lock: an event's receiver may take it while it holds Avahi's.
        let running = runner.withLock { $0 }
        running?.perform { [work] in work.update(txt: entries) }
    }

    /// Withdraws the service. After this returns it is off the network (waiting at most 3 s for the daemon), and no
    /// event is delivered. Called from `onEvent`, it doesn't wait.
    public func withdraw() {
        let runner = runner.withLock { $0.take() }
        let isInside = delivery.close()
        runner?.stop(isInside: isInside)
    }
}

private final class PublisherWork: AvahiWork, @unchecked Sendable {
    // Sendable: all variables are used with the loop's lock held, which callbacks on Avahi's thread hold.
    private static let maxRenames = 100

    private let type: String
    private let port: UInt16
    private let send: @Sendable (PublisherEvent) -> Void
    private var txt: [String]
    private var name: String
    private var published: String?
    private var connection: AvahiConnection?
    private var client: AvahiClient?
    private var group: AvahiEntryGroup?

    init(name: String, type: String, port: UInt16, txt: [String], send: @escaping @Sendable (PublisherEvent) -> Void) {
        self.name = name
        self.type = type
        self.port = port
        self.txt = txt
        self.send = send
    }

    func begin(_ loop: AvahiLoop) {
        connection = AvahiConnection(loop) { [weak self] event in self?.handle(event) }
        connection?.connect()
    }

    func end() {
        group = nil
        client = nil
        connection = nil
    }

    /// What isn't announced yet, or is to be announced anew, gets it then.
    func update(txt: [String]) {
        guard txt != self.txt else { return }
        self.txt = txt
        guard let group else { return }
        do throws(AvahiError) {
            try group.update(name: name, type: type, txt: txt)
        } catch {
            if published != nil { failed(error) }
        }
    }

    private func handle(_ event: AvahiConnection.Event) {
        switch event {
        case .ready(let client):
            self.client = client
            announce()
        case .settling:
            // The records contain the host name, which is about to change.
            group = nil
        case .broken:
            group = nil
            client = nil
            published = nil
        case .available:
            break
        case .unavailable(let cause):
            send(
                .unavailable(
                    reason: "\(cause). For discovery, install the package avahi-daemon and start it."))
        }
    }

    private func announce() {
        guard let client else { return }
        do throws(AvahiError) {
            let group = try AvahiEntryGroup(client) { [weak self] state in self?.groupChanged(state) }
            self.group = group
            for _ in 0..<Self.maxRenames {
                do throws(AvahiError) {
                    return try group.announce(name: name, type: type, port: port, txt: txt)
                } catch {
                    guard error == .collision, rename() else { throw error }
                    group.reset()
                }
            }
            throw .collision
        } catch {
            failed(error)
        }
    }

    private func groupChanged(_ state: AvahiEntryGroup.State) {
        switch state {
        case .registering:
            break
        case .established:
            guard published != name else { return }
            published = name
            send(.published(name: name))
        case .collision:
            guard let group, rename() else { return failed(.collision) }
            group.reset()
            do throws(AvahiError) {
                try group.announce(name: name, type: type, port: port, txt: txt)
            } catch {
                // The alternative name is in use on this machine, too: start again with a new group.
                guard error == .collision else { return failed(error) }
                announce()
            }
        case .failed(let error):
            failed(error)
        }
    }

    private func rename() -> Bool {
        guard let alternative = alternativeName(for: name), alternative != name else { return false }
        send(.renamed(from: name, to: alternative))
        name = alternative
        return true
    }

    private func failed(_ error: AvahiError) {
        // `AvahiConnection` handles a daemon that has gone.
        guard error != .disconnected else { return }
        send(
            .failed(
                reason: "The Avahi daemon doesn't announce “\(name)” (\(error)). "
                    + "Its settings are in /etc/avahi/avahi-daemon.conf."))
    }
}
