import BeamClock
import BeamIdentity
import BeamMedia
import BeamProtocol
import CBeamSockets
import NIOCore
import NIOPosix

/// Carries out what a `ViewerSession` decides. Confined to its event loop.
final class ViewerDriver {
    private let loop: any EventLoop
    private let handlers: ViewerClient.Handlers
    private let timer: DeadlineTimer
    /// Fails if this machine's identity can't be used, which doesn't happen with one that BeamRoom has made.
    private let transport: Result<SecureTransport, any Error>
    private var session: ViewerSession
    private var isPumping = false

    private var control: (any Channel)?
    /// Set while the connection uses version 2, or tries to.
    private var secure: SecureControl?
    /// Counts attempts, so that events of an abandoned attempt are recognised.
    private var attempt: UInt64 = 0
    /// The address of the last control connection: media comes from there, even after that is lost.
    private var hostAddress: SocketAddress?
    private var media: (any Channel)?
    /// Made with the first media socket, and reused for later ones.
    private var receiver: DatagramReceiver?
    private var mediaGeneration: UInt64 = 0
    private let source: String?
    private let usesSystemTimes: Bool
    /// The open media socket, if the system's times of arrival are used.
    private var timedSocket: CInt?
    /// The last datagram's time of arrival: times given to the session never go back.
    private var lastArrival = MediaTime.distantPast

    /// Bytes that may wait to be sent to a host. If more wait, the host isn't reading, and the connection is reset.
    private static let mostUnsent = 256 << 10
    /// Bytes that one read from the control connection takes: one TLS record.
    private static let bytesPerRead = 16 << 10
    private static let connectTimeout = TimeAmount.seconds(3)
    /// Where version 1 is allowed: how long a host may take for the TLS handshake before it is taken for a version 1
    /// host.
    private static let plainFallbackTimeout = TimeAmount.milliseconds(1500)
    private let handshakeTimeout: TimeAmount

    init(
        loop: any EventLoop, identity: LocalIdentity, session: ViewerSession.Configuration,
        handlers: ViewerClient.Handlers, options: ViewerClient.Options
    ) {
        self.loop = loop
        self.handlers = handlers
        source = options.source
        usesSystemTimes = options.usesSystemTimes
        transport = Result { try SecureTransport(identity) }
        handshakeTimeout = session.allowsUnencrypted ? Self.plainFallbackTimeout : SecureControl.handshakeTimeout
        self.session = ViewerSession(configuration: session, random: SystemRandomNumberGenerator())
        timer = DeadlineTimer(loop: loop)
        timer.onDeadline { [unowned self] in
            // What waits to be read isn't missing: a busy machine's process may run only after its deadline.
            self.readDatagrams()
            self.pump()
        }
    }

    var statistics: ViewerStatistics { session.statistics }

    func start() { pump() }

    func handle(_ input: ViewerSession.Input) {
        session.handle(input, now: .now)
        pump()
    }

    func shutdown() -> EventLoopFuture<Void> {
        handle(.shutdown)
        timer.cancel()
        closeControl()
        closeMedia()
        return loop.makeSucceededVoidFuture()
    }

    // MARK: Control connection

    private func connectControl(_ version: ViewerSession.Version) {
        closeControl()
        attempt += 1
        connect(
            to: handlers.locate()[...], version, attempt: attempt, failure: "it isn't on the network at the moment")
    }

    /// Tries the endpoints one after another.
    private func connect(
        to endpoints: ArraySlice<Endpoint>, _ version: ViewerSession.Version, attempt: UInt64, failure: String
    ) {
        guard attempt == self.attempt else { return }
        guard let endpoint = endpoints.first else {
            // Later: the session can't take an event while it is being polled.
            let bound = NIOLoopBound(self, eventLoop: loop)
            return loop.execute { bound.value.controlEnded(attempt: attempt, reason: failure, .network) }
        }
        let bound = NIOLoopBound(self, eventLoop: loop)
        var bootstrap = ClientBootstrap(group: loop)
            .connectTimeout(Self.connectTimeout)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelOption(.writeBufferWaterMark, value: .init(low: 16 << 10, high: Self.mostUnsent))
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.bytesPerRead))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try bound.value.prepare(channel, version, attempt: attempt) }
            }
        for (option, value) in SocketOptions.control {
            bootstrap = bootstrap.channelOption(option, value: value)
        }
        if let source, let address = try? SocketAddress(ipAddress: source, port: 0) {
            bootstrap = bootstrap.bind(to: address)
        }
        bootstrap.connect(host: endpoint.host, port: Int(endpoint.port)).whenComplete { result in
            switch result {
            case .success(let channel):
                bound.value.connected(channel, version, attempt: attempt)
            case .failure(let error):
                let rest = endpoints.dropFirst()
                bound.value.connect(
                    to: rest, version, attempt: attempt, failure: "\(endpoint): \(networkReason(error))")
            }
        }
    }

    private func prepare(_ channel: any Channel, _ version: ViewerSession.Version, attempt: UInt64) throws {
        let pipeline = channel.pipeline.syncOperations
        switch version {
        case .version1:
            try pipeline.addHandler(
                ControlConnection(
                    ControlConnection.Events(
                        onBytes: { [weak self] bytes in
                            guard let self, attempt == self.attempt else { return }
                            self.handle(.controlBytes(bytes))
                        },
                        onEnd: { [weak self] reason in
                            // Failed attempts to connect are reported by the bootstrap.
                            guard let self, attempt == self.attempt, self.control != nil else { return }
                            self.controlEnded(attempt: attempt, reason: reason, .network)
                        })))
        case .version2:
            let secure = try transport.get().add(
                .viewer, to: pipeline, timeout: handshakeTimeout,
                events: SecureControl.Events(
                    onSecured: { [weak self] host in self?.secured(host, channel, attempt: attempt) },
                    onMessage: { [weak self] message in
                        guard let self, attempt == self.attempt else { return }
                        self.handle(.controlMessage(message))
                    },
                    onEnd: { [weak self] reason in self?.secureEnded(attempt: attempt, reason: reason) }))
            self.secure = secure
        }
    }

    private func connected(_ channel: any Channel, _ version: ViewerSession.Version, attempt: UInt64) {
        guard attempt == self.attempt else { return channel.close(promise: nil) }
        control = channel
        hostAddress = channel.remoteAddress
        guard version == .version1 else { return }
        handle(.controlConnected)
        // The connection may have ended already.
        if !channel.isActive {
            controlEnded(attempt: attempt, reason: "the other side has closed the connection", .network)
        }
    }

    private func secured(_ host: DeviceKey, _ channel: any Channel, attempt: UInt64) {
        guard attempt == self.attempt else { return channel.close(promise: nil) }
        control = channel
        hostAddress = channel.remoteAddress
        handle(.controlSecured(host))
    }

    private func secureEnded(attempt: UInt64, reason: String) {
        guard attempt == self.attempt, let secure, control != nil else { return }
        let failure: ViewerSession.ControlFailure =
            switch secure.certificate {
            case .failure: .refusedCertificate
            case .success: TLSFailure.isFinal(reason) ? .refusedCertificate : .network
            case nil: .notSecure
            }
        controlEnded(attempt: attempt, reason: reason, failure)
    }

    private func controlEnded(attempt: UInt64, reason: String, _ failure: ViewerSession.ControlFailure) {
        guard attempt == self.attempt else { return }
        control = nil
        secure = nil
        self.attempt += 1
        handle(.controlClosed(reason: reason, failure))
    }

    private func closeControl() {
        attempt += 1
        control?.closeAfterFlushing()
        control = nil
        secure = nil
    }

    private func sendControl(_ bytes: [UInt8]) {
        guard let control else { return }
        guard control.isWritable else {
            // Later: the session can't take an event while it is being polled.
            let bound = NIOLoopBound(self, eventLoop: loop)
            let attempt = attempt
            control.reset()
            return loop.execute {
                bound.value.controlEnded(attempt: attempt, reason: "it doesn't read what it is sent", .network)
            }
        }
        if let secure { return secure.send(bytes) }
        control.writeAndFlush(control.allocator.buffer(bytes: bytes), promise: nil)
    }

    // MARK: Media

    private func openMedia(port: UInt16) {
        closeMedia()
        mediaGeneration += 1
        let generation = mediaGeneration
        let bound = NIOLoopBound(self, eventLoop: loop)
        guard let address = hostAddress?.with(port: port) else { return }
        let bootstrap = SocketOptions.makeBurstBootstrap(on: loop) { channel in
            try channel.pipeline.syncOperations.addHandler(ViewerMediaHandler(bound.value, generation: generation))
        }
        // The socket is connected, so the system drops datagrams from other addresses.
        let opened: EventLoopFuture<any Channel> =
            if let source, let local = try? SocketAddress(ipAddress: source, port: 0) {
                bootstrap.bind(to: local).flatMap { channel in channel.connect(to: address).map { channel } }
            } else {
                bootstrap.connect(to: address)
            }
        opened.whenComplete { result in
            switch result {
            case .success(let channel): bound.value.mediaOpened(channel, generation: generation)
            case .failure(let error): bound.value.mediaFailed(error, generation: generation)
            }
        }
    }

    private func mediaOpened(_ channel: any Channel, generation: UInt64) {
        guard generation == mediaGeneration else { return channel.close(promise: nil) }
        media = channel
        receiver = receiver ?? DatagramReceiver()
        SocketOptions.enlargeBuffers(of: channel)
        if usesSystemTimes {
            timedSocket = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                of: NIOBSDSocket.Handle.self
            ) { $0 }
            // The first call makes the system record times of arrival.
            _ = arrival()
        }
        handle(.mediaOpened(localPort: UInt16(clamping: channel.localAddress?.port ?? 0)))
    }

    fileprivate func mediaFailed(_ error: any Error, generation: UInt64) {
        guard generation == mediaGeneration else { return }
        // Later: sending may fail at once, and the session can't take an event while it is being polled.
        let bound = NIOLoopBound(self, eventLoop: loop)
        let reason = networkReason(error)
        loop.execute {
            guard generation == bound.value.mediaGeneration else { return }
            bound.value.handle(.mediaFailed(reason: reason))
        }
    }

    private func closeMedia() {
        mediaGeneration += 1
        timedSocket = nil
        media?.close(promise: nil)
        media = nil
    }

    /// When the datagram read last arrived.
    private func arrival() -> MediaTime {
        guard let timedSocket else { return .now }
        let nanoseconds = beam_arrival_time(timedSocket)
        lastArrival = max(lastArrival, nanoseconds > 0 ? MediaTime(nanoseconds: nanoseconds) : .now)
        return lastArrival
    }

    private func sendMedia(_ bytes: [UInt8]) {
        guard let media else { return }
        media.writeAndFlush(media.allocator.buffer(bytes: bytes), promise: nil)
    }

    /// Takes the first datagram of a burst, or several that the system has merged (UDP_GRO).
    fileprivate func datagrams(_ data: ByteBuffer, segmentSize: Int?, generation: UInt64) {
        guard generation == mediaGeneration else { return }
        let now = arrival()
        data.withUnsafeReadableBytes { bytes in
            Segments.forEach(in: bytes, size: segmentSize ?? 0) { session.handleDatagram($0, now: now) }
        }
    }

    /// Reads the remaining datagrams without NIO, which allocates for each read; then carries out what the session
    /// decides.
    fileprivate func datagramsRead(generation: UInt64) {
        if generation == mediaGeneration { readDatagrams() }
        pump()
    }

    private func readDatagrams() {
        // Such a read has one time of arrival for all its datagrams. If the system's times are used, NIO reads them one
        // by one.
        guard timedSocket == nil, let receiver, let media else { return }
        let error = try? media.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { socket in
            let now = MediaTime.now
            return receiver.receive(from: socket) { session.handleDatagram($0, now: now) }
        }
        if let error, error != 0 {
            mediaFailed(IOError(errnoCode: error, reason: "recvmmsg"), generation: mediaGeneration)
        }
    }

    // MARK: Outputs of the session

    /// Carries out all that the session has decided, then sets the timer to its next deadline.
    private func pump() {
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        while true {
            switch session.pollOutput(now: .now) {
            case .connectControl(let version): connectControl(version)
            case .sendControl(let bytes): sendControl(bytes)
            case .closeControl: closeControl()
            case .openMedia(let port): openMedia(port: port)
            case .closeMedia: closeMedia()
            case .sendMedia(let bytes): sendMedia(bytes)
            case .deliver(let frame): handlers.onFrame(frame)
            case .event(let event): handlers.onEvent(event)
            case .wait(let deadline, _): return timer.arm(deadline)
            }
        }
    }
}

/// The last handler of the media socket's pipeline.
private final class ViewerMediaHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    // Weak: the driver may be released before the channel has closed.
    private weak var driver: ViewerDriver?
    private let generation: UInt64

    init(_ driver: ViewerDriver, generation: UInt64) {
        self.driver = driver
        self.generation = generation
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let envelope = Self.unwrapInboundIn(data)
        driver?.datagrams(envelope.data, segmentSize: envelope.metadata?.segmentSize, generation: generation)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        driver?.datagramsRead(generation: generation)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        driver?.mediaFailed(error, generation: generation)
    }
}
