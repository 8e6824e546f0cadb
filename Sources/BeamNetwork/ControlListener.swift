import BeamIdentity
import BeamSession
import BeamSockets
import BeamWire
import NIOCore
import NIOPosix

/// Where a host's control connections come from: a listening socket of its own, or the connections of a room's members.
/// Confined to its event loop.
protocol HostControl: AnyObject {
    /// Sends version 1's bytes, or one message of version 2.
    func send(_ bytes: [UInt8], on id: ConnectionID)
    /// Closes the connection once everything sent has left.
    func close(_ id: ConnectionID)
    /// A question to the person ends when its viewer does: notices soon if the viewer's machine vanishes.
    func watchAsker(on id: ConnectionID)
    /// No further connection comes. To be called before the last messages are sent.
    func beginShutdown()
    /// The present connections are closed by now, or are closed as soon as everything sent has left.
    func finishShutdown() -> EventLoopFuture<Void>
}

/// Listens for control connections, finds out which version each speaks, and carries what is sent and received on them.
/// Confined to its event loop.
final class ControlListener: HostControl {
    /// A version 2 connection's peer.
    struct Peer {
        var device: DeviceKey
        /// SEC 1, uncompressed point.
        var publicKey: [UInt8]
        /// It is, or wants to be, a member of a room of equals; otherwise a viewer.
        var speaksRoom: Bool
    }

    /// Confined to the event loop, like the listener.
    struct Events {
        /// Takes a new connection. False: it is to be closed.
        var admits: (ConnectionID, IPAddress) -> Bool
        /// Somebody at this address is known, so that its handshake isn't made to wait.
        var isKnownAddress: (IPAddress) -> Bool
        var onBytes: (ConnectionID, [UInt8]) -> Void
        var onSecured: (ConnectionID, Peer) -> Void
        var onMessage: (ConnectionID, [UInt8]) -> Void
        var onViolation: (ConnectionID, _ reason: String) -> Void
        /// The connection was closed by either side, but not by `close`.
        var onEnd: (ConnectionID, _ tlsFailure: String?) -> Void
        /// The system is out of descriptors or memory.
        var onExhausted: (_ reason: String) -> Void
        var onListeningFailed: (_ reason: String) -> Void
        var onListeningAgain: () -> Void
    }

    /// A control connection; `secure` is set once it uses version 2.
    private struct Connection {
        let channel: any Channel
        let address: IPAddress
        var hasReceived = false
        var secure: SecureControl?
    }

    /// Bytes that may wait to be sent on a control connection. If more wait, the peer isn't reading, and the connection
    /// is reset.
    private static let mostUnsent = 192 << 10
    /// Bytes that one read from a control connection takes: more than nearly all messages. Each connection keeps a buffer
    /// of this size.
    private static let bytesPerRead = 4 << 10
    /// From a failure to listen again to the next try.
    private static let listenRetry = TimeAmount.milliseconds(500)

    private let loop: any EventLoop
    private let transport: SecureTransport
    private let events: Events
    private let handshakes: HandshakeScheduler
    private let closing = ClosingConnections()
    private var isShuttingDown = false
    private var listener: (any Channel)?
    /// Where the listening socket is bound, to open it again; and the last error on it, in the system's words.
    private var listenAddress: (host: String, port: UInt16)?
    private var listenFailure: String?
    private var connections: [ConnectionID: Connection] = [:]
    /// Accepted connections whose pipeline isn't made yet.
    private var accepted: [ObjectIdentifier: ConnectionID] = [:]
    private var lastConnection: UInt64 = 0
    private var allConnectionsClosed: EventLoopPromise<Void>?

    init(loop: any EventLoop, transport: SecureTransport, events: Events) {
        self.loop = loop
        self.transport = transport
        self.events = events
        handshakes = HandshakeScheduler(loop: loop)
        closing.onEmpty { [unowned self] in self.completeShutdownIfDone() }
    }

    // MARK: The listening socket

    /// The address that it listens on.
    var localAddress: SocketAddress? { listener?.localAddress }

    /// Without an address: one IPv6 socket that serves IPv4, too; IPv4 alone if the machine has no IPv6.
    func start(_ address: String?, port: UInt16) -> EventLoopFuture<SocketAddress> {
        let addresses = address.map { [$0] } ?? ["::", "0.0.0.0"]
        return bind(addresses[...], port: port).assumeIsolated().flatMapThrowing { [self] listener in
            listen(on: listener)
            guard let local = listener.localAddress else { throw ChannelError.ioOnClosedChannel }
            return local
        }.nonisolated()
    }

    /// Closes the socket; nothing was accepted yet.
    func cancel() {
        isShuttingDown = true
        listener?.close(promise: nil)
    }

    private func listen(on channel: any Channel) {
        listener = channel
        channel.closeFuture.assumeIsolated().whenComplete { [self] _ in listenerClosed(channel) }
    }

    /// The listening socket was closed, which NIO does after an error that it takes for a lasting one, for example when
    /// the machine's network is set up anew. Opens another one at the same address and port.
    private func listenerClosed(_ channel: any Channel) {
        guard !isShuttingDown, listener === channel else { return }
        listener = nil
        guard let address = listenAddress else { return }
        events.onListeningFailed(listenFailure ?? "the system has closed it")
        listenAgain(address)
    }

    private func listenAgain(_ address: (host: String, port: UInt16)) {
        bind([address.host], port: address.port).assumeIsolated().whenComplete { [self] result in
            guard !isShuttingDown else {
                if case .success(let channel) = result { channel.close(promise: nil) }
                return
            }
            switch result {
            case .success(let channel):
                listenFailure = nil
                listen(on: channel)
                events.onListeningAgain()
            case .failure:
                loop.assumeIsolated().scheduleTask(in: Self.listenRetry) { [self] in
                    if !isShuttingDown { listenAgain(address) }
                }
            }
        }
    }

    private func bind(_ addresses: ArraySlice<String>, port: UInt16) -> EventLoopFuture<any Channel> {
        guard let address = addresses.first else {
            return loop.makeFailedFuture(ChannelError.ioOnClosedChannel)
        }
        let bound = NIOLoopBound(self, eventLoop: loop)
        var bootstrap = ServerBootstrap(group: loop)
            .serverChannelOption(.backlog, value: AcceptGate.backlog)
            .serverChannelOption(.maxMessagesPerRead, value: AcceptGate.acceptsPerTurn)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // It takes part in TCP's handshake, so an accepted connection's own option comes too late.
            .serverChannelOption(SocketOptions.segmentLength, value: SocketOptions.segmentBytes)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 16 << 10, high: Self.mostUnsent))
            .childChannelOption(
                .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.bytesPerRead)
            )
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try bound.value.addAcceptGate(channel) }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try bound.value.prepare(channel) }
            }
        for (option, value) in SocketOptions.control {
            bootstrap = bootstrap.childChannelOption(option, value: value)
        }
        if address == "::" {
            bootstrap = bootstrap.serverChannelOption(SocketOptions.onlyV6, value: 0)
        }
        let rest = addresses.dropFirst()
        return bootstrap.bind(host: address, port: Int(port)).map { channel in
            bound.value.listenAddress = (address, UInt16(clamping: channel.localAddress?.port ?? Int(port)))
            return channel
        }.flatMapError { error in
            let failure = NetworkError(binding: address, port: Int(port), error)
            guard !rest.isEmpty, case .cannotBind = failure else { return bound.eventLoop.makeFailedFuture(failure) }
            return bound.value.bind(rest, port: port)
        }
    }

    private func addAcceptGate(_ channel: any Channel) throws {
        try channel.pipeline.syncOperations.addHandler(
            AcceptGate(
                AcceptGate.Events(
                    admits: { [unowned self] in self.admits($0) },
                    onExhausted: { [unowned self] in self.events.onExhausted($0) },
                    onFailure: { [unowned self] in self.listenFailure = $0 })))
    }

    // MARK: Connections

    /// A number for a connection that is made elsewhere.
    func nextID() -> ConnectionID {
        lastConnection += 1
        return ConnectionID(lastConnection)
    }

    /// Stops or goes on reading from a version 2 connection.
    func hold(_ id: ConnectionID, _ isHeld: Bool) { connections[id]?.secure?.hold(isHeld) }

    /// Where the connection comes from; nil if it has ended.
    func remoteAddress(of id: ConnectionID) -> SocketAddress? { connections[id]?.channel.remoteAddress }

    /// Asks whether an accepted connection may stay, before anything is allocated for it.
    private func admits(_ channel: any Channel) -> Bool {
        guard let remote = channel.remoteAddress.flatMap(IPAddress.init), !isShuttingDown else { return false }
        let id = nextID()
        connections[id] = Connection(channel: channel, address: remote)
        guard events.admits(id, remote), connections[id] != nil else {
            connections[id] = nil
            return false
        }
        accepted[ObjectIdentifier(channel)] = id
        // Also for a connection that ends before its pipeline is made.
        channel.closeFuture.assumeIsolated().whenComplete { [self] _ in
            accepted.removeValue(forKey: ObjectIdentifier(channel))
            ended(id)
        }
        return true
    }

    private func prepare(_ channel: any Channel) throws {
        guard let id = accepted.removeValue(forKey: ObjectIdentifier(channel)), connections[id] != nil else {
            return channel.reset()
        }
        try channel.pipeline.syncOperations.addHandler(
            FirstByteHandler(
                FirstByteHandler.Events(
                    onFirstByte: { [unowned self] first in try self.chooseVersion(first, on: id) },
                    onEnd: { [unowned self] _ in self.ended(id) })))
    }

    /// The connection's first byte has told its version: adds the handlers for that.
    private func chooseVersion(_ first: FirstByte, on id: ConnectionID) throws {
        guard let connection = connections[id] else { return }
        connections[id]?.hasReceived = true
        let pipeline = connection.channel.pipeline.syncOperations
        switch first {
        case .plain:
            try pipeline.addHandler(
                ControlConnection(
                    ControlConnection.Events(
                        onBytes: { [unowned self] bytes in self.events.onBytes(id, bytes) },
                        onEnd: { [unowned self] _ in self.ended(id) })))
        case .tls:
            let gate = HandshakeGate(
                handshakes, id, from: connection.address, isKnownAddress: events.isKnownAddress(connection.address))
            connections[id]?.secure = try transport.add(
                .host, to: pipeline, gate: gate,
                events: SecureControl.Events(
                    onSecured: { [unowned self] device in
                        gate.open()
                        self.secured(id, device)
                    },
                    onMessage: { [unowned self] message in self.events.onMessage(id, message) },
                    onViolation: { [unowned self] reason in self.events.onViolation(id, reason) },
                    onEnd: { [unowned self] reason in
                        self.ended(id, tlsFailure: TLSFailure.isDeparture(reason) ? nil : reason)
                    }))
        }
    }

    private func secured(_ id: ConnectionID, _ device: DeviceKey) {
        guard let secure = connections[id]?.secure else { return }
        events.onSecured(
            id,
            Peer(
                device: device, publicKey: secure.publicKey,
                speaksRoom: secure.applicationProtocol == SecureTransport.roomProtocol))
    }

    private func ended(_ id: ConnectionID, tlsFailure: String? = nil) {
        guard connections.removeValue(forKey: id) != nil else { return }
        events.onEnd(id, tlsFailure)
        completeShutdownIfDone()
    }

    func send(_ bytes: [UInt8], on id: ConnectionID) {
        guard let connection = connections[id] else { return }
        let channel = connection.channel
        guard channel.isWritable else { return channel.reset() }
        if let secure = connection.secure {
            secure.send(bytes)
        } else {
            channel.writeAndFlush(channel.allocator.buffer(bytes: bytes), promise: nil)
        }
    }

    func close(_ id: ConnectionID) {
        guard let connection = connections.removeValue(forKey: id) else { return }
        connection.secure?.discard()
        // A peer that has sent nothing was sent nothing, so there is nothing to flush.
        if connection.hasReceived {
            closing.close(connection.channel, isLast: isShuttingDown)
        } else {
            connection.channel.reset()
        }
        completeShutdownIfDone()
    }

    func watchAsker(on id: ConnectionID) {
        guard let channel = connections[id]?.channel else { return }
        for (option, value) in SocketOptions.asking {
            // Fails only on a socket that is closed already.
            channel.setOption(option, value: value).whenFailure { _ in }
        }
    }

    // MARK: The end

    func beginShutdown() {
        isShuttingDown = true
        listener?.close(promise: nil)
    }

    func finishShutdown() -> EventLoopFuture<Void> {
        let done = loop.makePromise(of: Void.self)
        allConnectionsClosed = done
        // Doesn't wait longer for peers that don't close their side.
        let timeout = loop.scheduleTask(in: .seconds(2)) { done.succeed() }
        completeShutdownIfDone()
        return done.futureResult.assumeIsolated().map { [self] in
            timeout.cancel()
            handshakes.stop()
        }.nonisolated()
    }

    private func completeShutdownIfDone() {
        guard connections.isEmpty, closing.isEmpty else { return }
        allConnectionsClosed?.succeed()
    }
}
