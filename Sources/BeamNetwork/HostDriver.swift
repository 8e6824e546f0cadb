import BeamClock
import BeamMedia
import BeamProtocol
import Glibc
import NIOCore
import NIOPosix

/// Carries out what a `HostSession` decides. Confined to its event loop.
final class HostDriver {
    private let loop: any EventLoop
    private let handlers: HostServer.Handlers
    private let timer: DeadlineTimer
    private var session: HostSession
    private var isPumping = false
    private var isShuttingDown = false

    private var listener: (any Channel)?
    /// Where the listening socket is bound, to open it again; and the last error on it, in the system's words.
    private var listenAddress: (host: String, port: UInt16)?
    private var listenFailure: String?
    private var media: (any Channel)?
    private var sender: MediaSender?
    private let transport: SecureTransport
    private var connections: [ConnectionID: Connection] = [:]
    /// Accepted connections whose pipeline isn't made yet.
    private var accepted: [ObjectIdentifier: ConnectionID] = [:]
    private let closing = ClosingConnections()
    private let handshakes: HandshakeScheduler
    private var lastConnection: UInt64 = 0
    private var allConnectionsClosed: EventLoopPromise<Void>?

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

    init(loop: any EventLoop, options: HostServer.Options, handlers: HostServer.Handlers) throws {
        self.loop = loop
        self.handlers = handlers
        transport = try SecureTransport(options.identity)
        session = HostSession(configuration: options.session, random: SystemRandomNumberGenerator())
        timer = DeadlineTimer(loop: loop)
        handshakes = HandshakeScheduler(loop: loop)
        timer.onDeadline { [unowned self] in self.pump() }
        closing.onEmpty { [unowned self] in self.completeShutdownIfDone() }
    }

    var statistics: HostStatistics { session.statistics }
    var viewers: [ViewerFigures] { session.viewerStatistics }
    var guests: [Guest] { session.guests }

    // MARK: Starting and shutting down

    func start(_ options: HostServer.Options) -> EventLoopFuture<(control: UInt16, media: UInt16)> {
        let bound = NIOLoopBound(self, eventLoop: loop)
        // Without an address: one IPv6 socket that serves IPv4, too; IPv4 alone if the machine has no IPv6.
        let addresses = options.bindAddress.map { [$0] } ?? ["::", "0.0.0.0"]
        return bindControl(addresses[...], port: options.controlPort).flatMap { listener in
            bound.value.listen(on: listener)
            guard let local = listener.localAddress else {
                return listener.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
            }
            return bound.value.bindMedia(local.with(port: options.mediaPort)).map { mediaPort in
                (UInt16(clamping: local.port ?? 0), mediaPort)
            }
        }.flatMapErrorThrowing { error in
            bound.value.isShuttingDown = true
            bound.value.listener?.close(promise: nil)
            throw error
        }
    }

    // MARK: The listening socket

    private func listen(on channel: any Channel) {
        listener = channel
        let bound = NIOLoopBound(self, eventLoop: loop)
        channel.closeFuture.whenComplete { _ in bound.value.listenerClosed(channel) }
    }

    /// The listening socket was closed, which NIO does after an error that it takes for a lasting one, for example when
    /// the machine's network is set up anew. Opens another one at the same address and port.
    private func listenerClosed(_ channel: any Channel) {
        guard !isShuttingDown, listener === channel else { return }
        listener = nil
        guard let address = listenAddress else { return }
        handlers.onEvent(.listeningFailed(reason: listenFailure ?? "the system has closed it"))
        listenAgain(address)
    }

    private func listenAgain(_ address: (host: String, port: UInt16)) {
        let bound = NIOLoopBound(self, eventLoop: loop)
        bindControl([address.host], port: address.port).whenComplete { result in
            guard !bound.value.isShuttingDown else {
                if case .success(let channel) = result { channel.close(promise: nil) }
                return
            }
            switch result {
            case .success(let channel):
                bound.value.listenFailure = nil
                bound.value.listen(on: channel)
                bound.value.handlers.onEvent(.listeningAgain)
            case .failure:
                bound.eventLoop.scheduleTask(in: Self.listenRetry) {
                    if !bound.value.isShuttingDown { bound.value.listenAgain(address) }
                }
            }
        }
    }

    func shutdown() -> EventLoopFuture<Void> {
        isShuttingDown = true
        let done = loop.makePromise(of: Void.self)
        allConnectionsClosed = done
        listener?.close(promise: nil)
        handle(.shutdown)
        // Doesn't wait longer for viewers that don't close their side.
        let timeout = loop.scheduleTask(in: .seconds(2)) { done.succeed() }
        let bound = NIOLoopBound(self, eventLoop: loop)
        completeShutdownIfDone()
        return done.futureResult.map {
            timeout.cancel()
            bound.value.timer.cancel()
            bound.value.handshakes.stop()
            bound.value.media?.close(promise: nil)
        }
    }

    private func completeShutdownIfDone() {
        guard connections.isEmpty, closing.isEmpty else { return }
        allConnectionsClosed?.succeed()
    }

    // MARK: Inputs

    func handle(_ input: HostSession.Input) {
        session.handle(input, now: .now)
        pump()
    }

    func submit(_ frame: EncodedFrame) {
        session.handleFrame(frame, now: .now)
        pump()
    }

    fileprivate func datagram(_ envelope: AddressedEnvelope<ByteBuffer>) {
        guard let from = NetworkAddress(envelope.remoteAddress) else { return }
        envelope.data.withUnsafeReadableBytes { session.handleDatagram($0, from: from, now: .now) }
    }

    fileprivate func datagramsRead() { pump() }

    // MARK: Control connections

    private func bindControl(_ addresses: ArraySlice<String>, port: UInt16) -> EventLoopFuture<any Channel> {
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
            return bound.value.bindControl(rest, port: port)
        }
    }

    private func addAcceptGate(_ channel: any Channel) throws {
        try channel.pipeline.syncOperations.addHandler(
            AcceptGate(
                AcceptGate.Events(
                    admits: { [unowned self] in self.admits($0) },
                    onExhausted: { [unowned self] in self.handlers.onEvent(.acceptingPaused(reason: $0)) },
                    onFailure: { [unowned self] in self.listenFailure = $0 })))
    }

    /// Asks the session whether an accepted connection may stay, before anything is allocated for it.
    private func admits(_ channel: any Channel) -> Bool {
        guard let remote = channel.remoteAddress.flatMap(IPAddress.init), !isShuttingDown else { return false }
        lastConnection += 1
        let id = ConnectionID(lastConnection)
        connections[id] = Connection(channel: channel, address: remote)
        handle(.connectionOpened(id, from: remote))
        guard connections[id] != nil else { return false }
        accepted[ObjectIdentifier(channel)] = id
        // Also for a connection that ends before its pipeline is made.
        let bound = NIOLoopBound(self, eventLoop: loop)
        channel.closeFuture.whenComplete { _ in
            bound.value.accepted.removeValue(forKey: ObjectIdentifier(channel))
            bound.value.ended(id)
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
                        onBytes: { [unowned self] bytes in self.handle(.connectionBytes(id, bytes)) },
                        onEnd: { [unowned self] _ in self.ended(id) })))
        case .tls:
            let gate = HandshakeGate(
                handshakes, id, from: connection.address, isKnownAddress: session.isKnownAddress(connection.address))
            connections[id]?.secure = try transport.add(
                .host, to: pipeline, gate: gate,
                events: SecureControl.Events(
                    onSecured: { [unowned self] device in
                        gate.open()
                        self.handle(.connectionSecured(id, device))
                    },
                    onMessage: { [unowned self] message in self.handle(.connectionMessage(id, message)) },
                    onViolation: { [unowned self] reason in
                        self.handle(.connectionViolated(id, reason: reason))
                    },
                    onEnd: { [unowned self] reason in
                        self.ended(id, tlsFailure: TLSFailure.isDeparture(reason) ? nil : reason)
                    }))
        }
    }

    private func ended(_ id: ConnectionID, tlsFailure: String? = nil) {
        guard connections.removeValue(forKey: id) != nil else { return }
        handle(.connectionClosed(id, tlsFailure: tlsFailure))
        completeShutdownIfDone()
    }

    private func send(_ bytes: [UInt8], on id: ConnectionID) {
        guard let connection = connections[id] else { return }
        let channel = connection.channel
        guard channel.isWritable else { return channel.reset() }
        if let secure = connection.secure {
            secure.send(bytes)
        } else {
            channel.writeAndFlush(channel.allocator.buffer(bytes: bytes), promise: nil)
        }
    }

    private func close(_ id: ConnectionID) {
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

    /// A question to the person ends when its viewer does: notices soon if the viewer's machine vanishes.
    private func watchAsker(_ event: HostEvent) {
        let id: ConnectionID
        switch event {
        case .viewerAsks(let asker, _, _), .comparisonAsked(let asker, _): id = asker
        default: return
        }
        guard let channel = connections[id]?.channel else { return }
        for (option, value) in SocketOptions.asking {
            // Fails only on a socket that is closed already.
            channel.setOption(option, value: value).whenFailure { _ in }
        }
    }

    // MARK: Media

    private func bindMedia(_ address: SocketAddress) -> EventLoopFuture<UInt16> {
        let bound = NIOLoopBound(self, eventLoop: loop)
        return makeMediaBootstrap(isV6: address.isV6).bind(to: address).flatMapError { error in
            guard (error as? IOError)?.errnoCode == EADDRINUSE else {
                return bound.eventLoop.makeFailedFuture(error)
            }
            return bound.value.makeMediaBootstrap(isV6: address.isV6).bind(to: address.with(port: 0))
        }.map { channel in
            bound.value.mediaBound(channel)
        }
    }

    private func makeMediaBootstrap(isV6: Bool) -> DatagramBootstrap {
        let bound = NIOLoopBound(self, eventLoop: loop)
        let bootstrap = SocketOptions.makeMediaBootstrap(on: loop) { channel in
            try channel.pipeline.syncOperations.addHandler(HostMediaHandler(bound.value))
        }
        guard isV6 else { return bootstrap }
        return bootstrap.channelOption(SocketOptions.onlyV6, value: 0)
    }

    private func mediaBound(_ channel: any Channel) -> UInt16 {
        media = channel
        sender = MediaSender(channel) { [weak self] address in self?.handle(.sendFailed(address)) }
        SocketOptions.enlargeBuffers(of: channel)
        let port = UInt16(clamping: channel.localAddress?.port ?? 0)
        handle(.mediaPort(port))
        return port
    }

    /// The media socket was closed, which happens only if the machine's network fails. Opens another one, at the same
    /// port if possible.
    fileprivate func mediaClosed(_ channel: any Channel) {
        guard !isShuttingDown, media === channel, let address = channel.localAddress ?? listener?.localAddress else {
            return
        }
        media = nil
        sender = nil
        rebindMedia(address)
    }

    private func rebindMedia(_ address: SocketAddress) {
        let bound = NIOLoopBound(self, eventLoop: loop)
        bindMedia(address).whenComplete { result in
            switch result {
            case .success:
                for layer in 0..<StreamDemand.layerCount { bound.value.handlers.requestKeyframe(layer) }
            case .failure:
                bound.eventLoop.scheduleTask(in: .milliseconds(500)) {
                    guard !bound.value.isShuttingDown else { return }
                    bound.value.rebindMedia(address)
                }
            }
        }
    }

    // MARK: Outputs of the session

    /// Carries out all that the session has decided, then sets the timer to its next deadline.
    ///
    /// Sockets aren't read in between, although a keyframe for 200 viewers takes tens of milliseconds: read every 64
    /// bursts, the requests of those who wait made some of them fall behind more often (`Scripts/bench crowd`).
    private func pump() {
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        while true {
            switch session.pollOutput(now: .now) {
            case .send(let id, let bytes): send(bytes, on: id)
            case .close(let id): close(id)
            case .transmit(let burst): sender?.send(burst)
            case .requestKeyframe(let layer): handlers.requestKeyframe(layer)
            case .demand(let demand, let layer): handlers.onDemand(demand, layer)
            case .event(let event):
                watchAsker(event)
                handlers.onEvent(event)
            case .wait(let deadline, _): return timer.arm(deadline)
            }
        }
    }
}

/// The last handler of the media socket's pipeline.
private final class HostMediaHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private unowned let driver: HostDriver

    init(_ driver: HostDriver) { self.driver = driver }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { driver.datagram(Self.unwrapInboundIn(data)) }

    func channelReadComplete(context: ChannelHandlerContext) { driver.datagramsRead() }

    func channelInactive(context: ChannelHandlerContext) { driver.mediaClosed(context.channel) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // ICMP errors for datagrams sent earlier: the stream's timeouts handle their cause.
    }
}
