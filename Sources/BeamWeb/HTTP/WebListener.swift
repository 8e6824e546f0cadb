import BeamClock
import Glibc
import BeamSession
import BeamSockets
import BeamWire
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// The TCP port for browsers: http and https, told apart by the first byte; pages, and WebSockets for them. Confined to its
/// event loop.
final class WebListener {
    struct Events {
        /// A page has opened its WebSocket; returns what happens on it.
        var onPage: (WebConnection) -> PageSocket.Events
        var onExhausted: (_ reason: String) -> Void
        var onListeningFailed: (_ reason: String) -> Void
        var onListeningAgain: () -> Void
    }

    struct Times {
        /// From the first byte to the whole request; TLS's handshake is part of it.
        var request = TimeAmount.seconds(10)
        /// For the first byte.
        var firstByte = TimeAmount.seconds(10)
    }

    private static let bytesPerRead = 4 << 10
    private static let listenRetry = TimeAmount.milliseconds(500)

    private let loop: any EventLoop
    var router: WebRouter
    private let tls: NIOSSLContext
    private let times: Times
    private let events: Events
    private let handshakes: HandshakeScheduler
    private let closing = ClosingConnections()
    private var ledger = ConnectionLedger()
    private var connections: [ConnectionID: WebConnection] = [:]
    /// Accepted connections whose pipeline isn't made yet.
    private var accepted: [ObjectIdentifier: ConnectionID] = [:]
    /// Above all that a `ControlListener` numbers.
    private var lastConnection: UInt64 = 1 << 62
    private var listener: (any Channel)?
    private var listenAddress: SocketAddress?
    private var listenFailure: String?
    private var isShuttingDown = false
    private var allClosed: EventLoopPromise<Void>?

    init(
        loop: any EventLoop, router: WebRouter, tls: NIOSSLContext, times: Times = Times(), events: Events
    ) {
        self.loop = loop
        self.router = router
        self.tls = tls
        self.times = times
        self.events = events
        handshakes = HandshakeScheduler(loop: loop)
        closing.onEmpty { [unowned self] in self.completeShutdownIfDone() }
    }

    // MARK: The listening socket

    /// Listens on all addresses if `address` is nil; on one of the next ports if `port` is in use, after at most `tries`.
    func start(_ address: String?, port: UInt16, tries: Int) -> EventLoopFuture<SocketAddress> {
        let bound = NIOLoopBound(self, eventLoop: loop)
        let resolved: SocketAddress
        do {
            // Resolving “::” fails on a machine that has no IPv6 address but its loopback's.
            resolved =
                try address.map { try SocketAddress.makeAddressResolvingHost($0, port: Int(port)) }
                ?? SocketAddress(ipAddress: "::", port: Int(port))
        } catch {
            return loop.makeFailedFuture(WebError.cannotBind(address: address ?? "::", reason: networkReason(error)))
        }
        return bind(resolved, tries: tries).flatMapError { error in
            // IPv4 alone if the machine has no IPv6.
            guard address == nil,
                (error as? IOError)?.errnoCode == EAFNOSUPPORT || (error as? IOError)?.errnoCode == EADDRNOTAVAIL,
                let v4 = try? SocketAddress(ipAddress: "0.0.0.0", port: Int(port))
            else { return bound.eventLoop.makeFailedFuture(error) }
            return bound.value.bind(v4, tries: tries)
        }
    }

    private func bind(_ address: SocketAddress, tries: Int) -> EventLoopFuture<SocketAddress> {
        let bound = NIOLoopBound(self, eventLoop: loop)
        return bootstrap(isV6: address.isV6).bind(to: address).flatMapThrowing { channel in
            guard let local = channel.localAddress else { throw ChannelError.ioOnClosedChannel }
            bound.value.listen(on: channel, local)
            return local
        }.flatMapError { error in
            guard (error as? IOError)?.errnoCode == EADDRINUSE, tries > 1, let port = address.port, port != 0 else {
                return bound.eventLoop.makeFailedFuture(error)
            }
            return bound.value.bind(address.with(port: UInt16(exactly: port + 1) ?? 0), tries: tries - 1)
        }
    }

    private func bootstrap(isV6: Bool) -> ServerBootstrap {
        let bound = NIOLoopBound(self, eventLoop: loop)
        var bootstrap = ServerBootstrap(group: loop)
            .serverChannelOption(.backlog, value: AcceptGate.backlog)
            .serverChannelOption(.maxMessagesPerRead, value: AcceptGate.acceptsPerTurn)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 1 << 20, high: PageSocket.mostUnsent))
            .childChannelOption(
                .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.bytesPerRead)
            )
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try bound.value.addAcceptGate(channel) }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try bound.value.prepare(channel) }
            }
        // But for short segments: pictures may come by this connection.
        for (option, value) in SocketOptions.control.dropFirst() {
            bootstrap = bootstrap.childChannelOption(option, value: value)
        }
        return isV6 ? bootstrap.serverChannelOption(SocketOptions.onlyV6, value: 0) : bootstrap
    }

    private func addAcceptGate(_ channel: any Channel) throws {
        try channel.pipeline.syncOperations.addHandler(
            AcceptGate(
                AcceptGate.Events(
                    admits: { [unowned self] in self.admits($0) },
                    onExhausted: { [unowned self] in self.events.onExhausted($0) },
                    onFailure: { [unowned self] in self.listenFailure = $0 })))
    }

    private func listen(on channel: any Channel, _ address: SocketAddress) {
        listener = channel
        listenAddress = address
        channel.closeFuture.assumeIsolated().whenComplete { [self] _ in listenerClosed(channel) }
    }

    /// NIO has closed the socket after an error that it takes for a lasting one: opens another one at the same port.
    private func listenerClosed(_ channel: any Channel) {
        guard !isShuttingDown, listener === channel, let address = listenAddress else { return }
        listener = nil
        events.onListeningFailed(listenFailure ?? "the system has closed it")
        listenAgain(address)
    }

    private func listenAgain(_ address: SocketAddress) {
        bind(address, tries: 1).assumeIsolated().whenComplete { [self] result in
            if case .success = result {
                if isShuttingDown { listener?.close(promise: nil) } else { events.onListeningAgain() }
            } else {
                loop.assumeIsolated().scheduleTask(in: Self.listenRetry) { [self] in
                    if !isShuttingDown { listenAgain(address) }
                }
            }
        }
    }

    // MARK: Connections

    /// Asks whether an accepted connection may stay, before anything is allocated for it.
    private func admits(_ channel: any Channel) -> Bool {
        guard let remote = channel.remoteAddress.flatMap(IPAddress.init), !isShuttingDown else { return false }
        lastConnection += 1
        let id = ConnectionID(lastConnection)
        guard case .admit(let evicted) = ledger.arrive(id, from: remote, isKnownAddress: false, now: .now) else {
            return false
        }
        if let evicted, let connection = connections.removeValue(forKey: evicted) { connection.channel.reset() }
        connections[id] = WebConnection(id: id, address: remote, channel: channel)
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
                timeout: times.firstByte,
                FirstByteHandler.Events(
                    onFirstByte: { [unowned self] first in try self.chooseScheme(first, on: id) },
                    onEnd: { [unowned self] _ in self.ended(id) })))
    }

    private func chooseScheme(_ first: FirstByte, on id: ConnectionID) throws {
        guard let connection = connections[id] else { return }
        let pipeline = connection.channel.pipeline.syncOperations
        if first == .tls {
            connection.isSecure = true
            let gate = HandshakeGate(handshakes, id, from: connection.address, isKnownAddress: false)
            try pipeline.addHandler(gate, name: HandshakeGate.name)
            try pipeline.addHandler(NIOSSLServerHandler(context: tls))
            try pipeline.addHandler(SecuredHandler { gate.open() })
        }
        try pipeline.addHandler(
            HTTPHandler(
                router, isSecure: connection.isSecure, timeout: times.request,
                HTTPHandler.Events(
                    onAnswered: { [unowned self] in self.close(id) },
                    onWebSocket: { [unowned self] agent in try self.begin(connection, agent) },
                    onEnd: { [unowned self] in self.ended(id) })))
    }

    private func begin(_ connection: WebConnection, _ agent: String) throws {
        connection.kind = BrowserKind.name(agent: agent)
        let socket = PageSocket(events.onPage(connection))
        connection.socket = socket
        try connection.channel.pipeline.syncOperations.addHandler(socket)
    }

    /// The person is being asked about it, so that no other connection takes its place.
    func markAsking(_ id: ConnectionID) { ledger.markAsking(id) }

    /// It was let in, and no longer counts among those that weren't.
    func identified(_ id: ConnectionID) { ledger.identified(id) }

    /// Closes the connection once everything sent has left.
    func close(_ id: ConnectionID) {
        guard let connection = connections.removeValue(forKey: id) else { return }
        ledger.remove(id)
        closing.close(connection.channel, isLast: isShuttingDown)
        completeShutdownIfDone()
    }

    private func ended(_ id: ConnectionID) {
        ledger.remove(id)
        guard connections.removeValue(forKey: id) != nil else { return }
        completeShutdownIfDone()
    }

    // MARK: The end

    func beginShutdown() {
        isShuttingDown = true
        listener?.close(promise: nil)
    }

    /// Succeeds when all connections are closed, after 2 s at the latest.
    func finishShutdown() -> EventLoopFuture<Void> {
        for id in Array(connections.keys) { close(id) }
        let done = loop.makePromise(of: Void.self)
        allClosed = done
        let timeout = loop.scheduleTask(in: .seconds(2)) { done.succeed() }
        completeShutdownIfDone()
        return done.futureResult.assumeIsolated().map { [self] in
            timeout.cancel()
            handshakes.stop()
        }.nonisolated()
    }

    private func completeShutdownIfDone() {
        guard connections.isEmpty, closing.isEmpty else { return }
        allClosed?.succeed()
    }
}

/// A browser's connection. Confined to its event loop.
final class WebConnection {
    let id: ConnectionID
    let address: IPAddress
    let channel: any Channel
    var isSecure = false
    /// What kind of browser it says it is.
    var kind = ""
    var socket: PageSocket?

    init(id: ConnectionID, address: IPAddress, channel: any Channel) {
        self.id = id
        self.address = address
        self.channel = channel
    }

    /// This machine's address that the browser has reached.
    var localAddress: IPAddress? { channel.localAddress.flatMap { IPAddress($0) } }
}

/// Says once that TLS's handshake is complete.
private final class SecuredHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer

    private let onSecured: () -> Void

    init(_ onSecured: @escaping () -> Void) { self.onSecured = onSecured }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted = event {
            onSecured()
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        }
        context.fireUserInboundEventTriggered(event)
    }
}
