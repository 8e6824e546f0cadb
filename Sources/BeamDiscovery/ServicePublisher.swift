import Synchronization

/// What becomes of an announcement.
public enum PublisherEvent: Sendable, Equatable {
    /// The service stands on the network under this name. Comes again after the daemon has been away.
    case published(name: String)
    /// Another machine has the name `from`; `to` is tried instead.
    case renamed(from: String, to: String)
    /// There is no daemon that could announce anything; as soon as there is one, the service is published.
    /// A sentence for a person.
    case unavailable(reason: String)
    /// The daemon doesn't announce this service. A sentence for a person.
    case failed(reason: String)
}

/// Announces a service on the local network (DNS-SD over multicast DNS) through the machine's Avahi daemon, for as long
/// as it lives or until `withdraw`. Keeps at it when the daemon restarts, and takes another name when the name is taken.
public final class ServicePublisher: Sendable {
    private let delivery: Delivery<PublisherEvent>
    private let runner: Mutex<AvahiRunner?>

    /// `name` is what people see: control characters and line ends are taken out, and it is cut to 63 bytes of UTF-8
    /// (RFC 6763, 4.1.1). `type` is for example `_beamctl._tcp`. Each pair of `txt` is cut to 255 bytes.
    /// `onEvent` is called on a thread of Avahi's, one event at a time; it may call `withdraw`.
    public init(
        name: String, type: String, port: UInt16, txt: [(key: String, value: String)],
        onEvent: @escaping @Sendable (PublisherEvent) -> Void
    ) {
        let delivery = Delivery(onEvent)
        let work = PublisherWork(
            name: NetworkText.instanceName(name) ?? "beamroom", type: type, port: port, txt: NetworkText.entries(txt),
            send: { delivery.send($0) })
        let runner = AvahiRunner(work)
        self.delivery = delivery
        self.runner = Mutex(runner)
        if runner == nil {
            delivery.send(
                .failed(reason: "The system has no memory or thread left to announce “\(name)” on the network."))
        }
    }

    deinit { withdraw() }

    /// Takes the service off the network. When this returns it is off (a daemon that doesn't answer gets 3 s for that),
    /// and no event comes any more. Called from `onEvent` it doesn't wait.
    public func withdraw() {
        let runner = runner.withLock { $0.take() }
        let isInside = delivery.close()
        runner?.stop(isInside: isInside)
    }
}

/// Keeps one service announced.
private final class PublisherWork: AvahiWork, @unchecked Sendable {
    // Sendable: every variable below is touched with the loop's lock held only, which Avahi's thread has in callbacks.
    private static let mostRenames = 100

    private let type: String
    private let port: UInt16
    private let txt: [String]
    private let send: @Sendable (PublisherEvent) -> Void
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

    private func handle(_ event: AvahiConnection.Event) {
        switch event {
        case .ready(let client):
            self.client = client
            announce()
        case .settling:
            // The records bear the host's name, which is about to change.
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
            for _ in 0..<Self.mostRenames {
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
                // Taken on this machine as well: begin again with a group of its own.
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
        // A daemon that has gone is the connection's matter.
        guard error != .disconnected else { return }
        send(
            .failed(
                reason: "The Avahi daemon doesn't announce “\(name)” (\(error)). "
                    + "Its settings are in /etc/avahi/avahi-daemon.conf."))
    }
}
