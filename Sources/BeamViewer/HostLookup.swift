import BeamClock
import BeamDiscovery
import BeamMedia
import BeamNetwork
import BeamTrust
import BeamWire
import Glibc
import Synchronization

/// Where a host is, looked up once in the way in which a viewer finds it: by discovery, as a name of the network, or where
/// it was watched last.
public struct HostLookup: Equatable, Sendable {
    public enum Way: Equatable, Sendable {
        /// An address was given.
        case given
        /// Discovery has found the host.
        case announced
        /// The name is one of multicast DNS (`desk.local`), and Avahi has resolved it.
        case multicastName
        /// The system's resolver knows the name.
        case hostName
        /// A paired host of this name was there the last time; now nothing announces it.
        case remembered
    }

    public var address: NetworkAddress
    public var way: Way
    /// Why hosts can't be discovered, in sentences; nil: they can, or nobody had to be.
    public var problem: String?

    public enum Failure: Error, Equatable, Sendable {
        /// Nobody is found by this name.
        case unknown
        /// The same, and discovery can't be used: why, in sentences.
        case noDiscovery(String)
    }

    /// Between two looks at what was found, in microseconds.
    private static let pause: UInt32 = 20_000

    /// - Parameter store: the paired hosts; nil: there are none.
    ///
    /// Waits at most `time`, and then for Avahi and the system's resolver, which have no bound of their own. Not to be
    /// called with `.anyHost`.
    public static func find(
        _ target: ViewerOptions.Target, store: TrustStore?, within time: Duration
    ) throws(Failure) -> HostLookup {
        if case .endpoint(let endpoint) = target { return try HostLookup([endpoint], .given) }
        let problem = Mutex<String?>(nil)
        let finder = HostFinder(
            target, lastKnown: { lastKnown($0, store) },
            handlers: HostFinder.Handlers(
                onChoices: { _ in }, onChosen: { _, _ in }, onReachable: { _ in }, onFound: {}, onSearching: { _ in },
                onDiscovery: { reason, _ in problem.withLock { $0 = reason } }))
        finder.start()
        defer { finder.stop() }
        let end = MediaTime.now + time
        while MediaTime.now < end {
            if let found = try? announced(finder) ?? named(finder, target) { return found }
            if finder.isSearched, !waitsForName(target) { break }
            usleep(pause)
        }
        let reason = problem.withLock { $0 }
        if let found = try? HostLookup(finder.endpoints(), .hostName, reason) { return found }
        if case .name(let name, _) = target, let found = try? HostLookup(lastKnown(name, store), .remembered, reason) {
            return found
        }
        throw reason.map { Failure.noDiscovery($0) } ?? .unknown
    }

    private static func announced(_ finder: HostFinder) throws(Failure) -> HostLookup? {
        guard finder.announcedVersion != nil else { return nil }
        return try HostLookup(finder.endpoints(), .announced)
    }

    /// The numeric addresses of a `.local` name come before the name itself.
    private static func named(_ finder: HostFinder, _ target: ViewerOptions.Target) throws(Failure) -> HostLookup? {
        guard waitsForName(target), let first = finder.endpoints().first, !HostNameResolver.resolves(first.host) else {
            return nil
        }
        return try HostLookup([first], .multicastName)
    }

    /// After discovery is done, something may still come: the address of a `.local` name, or a host that isn't announced
    /// yet and can't be found in any other way.
    private static func waitsForName(_ target: ViewerOptions.Target) -> Bool {
        guard case .name(_, let address) = target else { return false }
        return address.map { HostNameResolver.resolves($0.host) } ?? true
    }

    private static func lastKnown(_ name: String, _ store: TrustStore?) -> [Endpoint] {
        let devices = (try? store?.devices()) ?? []
        return devices.filter { $0.roles.contains(.host) && DeviceNames.areSame($0.name, name) }
            .flatMap(\.addresses).map { Endpoint($0) }
    }

    /// The first one that the system's resolver can make an address of.
    private init(_ endpoints: [Endpoint], _ way: Way, _ problem: String? = nil) throws(Failure) {
        guard let address = endpoints.lazy.compactMap({ $0.resolved() }).first else { throw .unknown }
        self.address = address
        self.way = way
        self.problem = problem
    }
}
