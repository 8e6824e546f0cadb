import Dispatch
import Synchronization

/// Resolves a host name of multicast DNS (`desk.local`) through the machine's Avahi daemon, until `stop` or deinit. The
/// system's resolver knows such names only where nss-mdns is installed.
public final class HostNameResolver: Sendable {
    private let delivery: Delivery<[String]>
    private let runner: Mutex<AvahiRunner?>

    /// Whether it is a name of multicast DNS: those end in `.local` (RFC 6762, 3).
    public static func resolves(_ host: String) -> Bool {
        let name = host.hasSuffix(".") ? host.dropLast() : host[...]
        return name.count > ".local".count && name.lowercased().hasSuffix(".local")
    }

    /// - Parameter onAddresses: gets the numeric addresses that are known now, whenever they change: at most one IPv4
    ///   and one IPv6 address, the better one first; link-local IPv6 addresses name this machine's interface
    ///   (`fe80::1%eth0`). Called on Avahi's thread, one call at a time; may call `stop`.
    public init(_ host: String, onAddresses: @escaping @Sendable ([String]) -> Void) {
        let delivery = Delivery(onAddresses)
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        self.delivery = delivery
        runner = Mutex(AvahiRunner(HostNameWork(name) { delivery.send($0) }))
    }

    deinit { stop() }

    /// After this returns, nothing is reported. Called from `onAddresses`, it doesn't wait for Avahi's thread to end.
    public func stop() {
        let runner = runner.withLock { $0.take() }
        let isInside = delivery.close()
        runner?.stop(isInside: isInside)
    }

    /// Waits until an address is known, at most `time`.
    ///
    /// - Returns: the addresses; empty if nobody has answered.
    public static func addresses(of host: String, within time: Duration) -> [String] {
        let found = Mutex<[String]>([])
        let isFound = DispatchSemaphore(value: 0)
        let resolver = HostNameResolver(host) { addresses in
            found.withLock { $0 = addresses }
            if !addresses.isEmpty { isFound.signal() }
        }
        let milliseconds = time.components.seconds * 1000 + time.components.attoseconds / 1_000_000_000_000_000
        _ = isFound.wait(timeout: .now() + .milliseconds(Int(clamping: milliseconds)))
        resolver.stop()
        return found.withLock { $0 }
    }
}

/// Resolves the name to an address of each kind, again and again while nobody answers.
private final class HostNameWork: AvahiWork, @unchecked Sendable {
    // Sendable: all variables are used with the loop's lock held, which callbacks on Avahi's thread hold.

    /// Milliseconds between attempts to resolve a name that nobody answers for.
    private static let retryMilliseconds: UInt32 = 5000

    private enum Kind: CaseIterable { case v4, v6 }

    private let name: String
    private let send: @Sendable ([String]) -> Void
    private var loop: AvahiLoop?
    private var connection: AvahiConnection?
    private var client: AvahiClient?
    private var resolvers: [Kind: AvahiHostNameResolver] = [:]
    private var retries: [Kind: AvahiTimer] = [:]
    private var resolutions: [Kind: Resolution] = [:]
    private var sent: [String] = []

    init(_ name: String, send: @escaping @Sendable ([String]) -> Void) {
        self.name = name
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
            guard self.client == nil else { return }
            self.client = client
            for kind in Kind.allCases { resolve(kind) }
        // The last answer stays until another daemon has given one.
        case .broken: forgetEverything()
        case .available, .unavailable: break
        }
    }

    private func forgetEverything() {
        retries = [:]
        resolvers = [:]
        client = nil
    }

    private func resolve(_ kind: Kind) {
        guard let client else { return }
        retries[kind] = nil
        resolvers[kind] = AvahiHostNameResolver(client, name, isV6: kind == .v6) { [weak self] resolution in
            self?.resolved(kind, resolution)
        }
        if resolvers[kind] == nil { tryLater(kind) }
    }

    private func resolved(_ kind: Kind, _ resolution: Resolution?) {
        resolutions[kind] = resolution
        let addresses = resolutions.values.sorted { ($0.rank, $0.address) < ($1.rank, $1.address) }.map(\.address)
        if resolution == nil { tryLater(kind) }
        guard addresses != sent else { return }
        sent = addresses
        send(addresses)
    }

    private func tryLater(_ kind: Kind) {
        guard let loop else { return }
        retries[kind] = AvahiTimer(loop, after: Self.retryMilliseconds) { [weak self] in self?.resolve(kind) }
    }
}
