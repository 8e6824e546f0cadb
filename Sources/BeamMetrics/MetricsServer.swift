import BeamSockets
import NIOCore

/// Serves metrics over HTTP, on an event loop and a thread of its own: no frame waits for a scrape.
///
/// Its methods may be called from any thread but the event loop's own.
public final class MetricsServer: Sendable {
    /// With the port in use.
    public let address: MetricsAddress
    private let network: NetworkLoop
    private let handle: LoopHandle<MetricsListener>

    /// Listens; metrics can be read once this returns.
    ///
    /// - Parameter text: everything in the text format. Called on the event loop, at most ten times a second.
    public convenience init(_ address: MetricsAddress, text: @escaping @Sendable () -> String) throws(MetricsError) {
        try self.init(address, limits: MetricsListener.Limits(), text: text)
    }

    init(
        _ address: MetricsAddress, limits: MetricsListener.Limits, machine: String = MetricsNames.machine,
        text: @escaping @Sendable () -> String
    ) throws(MetricsError) {
        let names = MetricsNames(isLoopback: address.isLoopback, machine: machine)
        let network = NetworkLoop(raisesPriority: false)
        self.network = network
        let handle = LoopHandle(on: network, statistics: ()) { loop in
            MetricsListener(loop: loop, names: names, limits: limits, makeText: text)
        }
        self.handle = handle
        do {
            let socket = try SocketAddress(ipAddress: address.host, port: Int(address.port))
            self.address = address.with(port: try handle.start { $0.start(socket) })
        } catch {
            handle.end()
            network.shutdown()
            throw MetricsError(error, address)
        }
    }

    /// Connections that there are. Waits for the event loop.
    var connectionCount: Int { (try? handle.start { [network] in network.loop.makeSucceededFuture($0.count) }) ?? 0 }

    /// Closes the port and all connections; returns when that is done, after a second at the latest.
    public func shutdown() {
        handle.end()
        network.shutdown()
    }
}
