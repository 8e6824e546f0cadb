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
        _ address: MetricsAddress, limits: MetricsListener.Limits, text: @escaping @Sendable () -> String
    ) throws(MetricsError) {
        let network = NetworkLoop(raisesPriority: false)
        self.network = network
        let handle = LoopHandle(on: network, statistics: ()) { loop in
            MetricsListener(loop: loop, isLoopback: address.isLoopback, limits: limits, makeText: text)
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

    /// Closes the port and all connections; returns when that is done, after a second at the latest.
    public func shutdown() {
        handle.end()
        network.shutdown()
    }
}
