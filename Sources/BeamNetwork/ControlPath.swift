import BeamSession
import BeamWire
import NIOCore

/// A viewer's control connection: one that it dials, or a part of the link between two members of a room. Confined to its
/// event loop.
protocol ControlPath: AnyObject {
    /// This machine's address of the connection; nil if there is none.
    var localAddress: SocketAddress? { get }
    /// Connects, in place of any earlier connection.
    ///
    /// - Parameter expected: version 2: the keys that the host may hold; nil: any.
    func dial(_ version: ViewerSession.Version, expecting expected: Set<DeviceKey>?)
    /// The host may be at other addresses: they are tried beside the others if no connection is made yet.
    func add()
    /// Sends version 1's bytes, or one message of version 2.
    func send(_ bytes: [UInt8])
    /// Closes the connection once all that was sent has left.
    func close()
    /// Gives up the connection, which can't be used any more.
    func drop(_ reason: String)
    /// Nothing is dialled any more.
    func end()
}

/// A connection that the viewer dials, at the addresses that its handlers know.
final class DialledPath: ControlPath {
    private let dialer: ControlDialer
    private let handlers: ViewerClient.Handlers

    init(_ dialer: ControlDialer, _ handlers: ViewerClient.Handlers) {
        self.dialer = dialer
        self.handlers = handlers
    }

    var localAddress: SocketAddress? { dialer.localAddress }

    func dial(_ version: ViewerSession.Version, expecting expected: Set<DeviceKey>?) {
        dialer.dial(handlers.locate(), hints: handlers.hints(), expecting: expected, version)
    }

    func add() { dialer.add(handlers.locate(), hints: handlers.hints()) }
    func send(_ bytes: [UInt8]) { dialer.send(bytes) }
    func close() { dialer.close() }
    func drop(_ reason: String) { dialer.drop(reason) }
    func end() { dialer.close() }
}
