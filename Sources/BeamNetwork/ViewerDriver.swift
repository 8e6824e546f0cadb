import BeamClock
import BeamMedia
import BeamSession
import BeamSockets
import CBeamSockets
import Glibc
import NIOCore
import NIOPosix

/// Carries out what a `ViewerSession` decides. Confined to its event loop.
final class ViewerDriver {
    private let loop: any EventLoop
    private let handlers: ViewerClient.Handlers
    private let timer: DeadlineTimer
    private var session: ViewerSession
    /// Nothing is carried out before `start`.
    private var hasBegun = false
    private var isPumping = false

    /// Set in `init`: its events need the driver.
    private var path: (any ControlPath)?
    /// The address of the last control connection: media comes from there, even after that is lost.
    private var hostAddress: SocketAddress?
    private var media: (any Channel)?
    /// Made with the first media socket, and reused for later ones.
    private var receiver: DatagramReceiver?
    private var mediaGeneration: UInt64 = 0
    /// The media socket's local IP address.
    private var mediaSource: String?
    /// Errors of sending from an address, or by an interface, that is gone.
    private static let missingAddress: Set<CInt> = [EINVAL, EADDRNOTAVAIL, ENETUNREACH, ENETDOWN, ENODEV]
    private let source: String?
    private let usesSystemTimes: Bool
    private var mediaSocket: ChannelSocket?
    /// The last datagram's time of arrival: times given to the session never go back.
    private var lastArrival = MediaTime.distantPast

    /// - Parameter makePath: makes the control connection, which tells what happens on it by these events.
    init(
        loop: any EventLoop, session: ViewerSession.Configuration, handlers: ViewerClient.Handlers,
        options: ViewerClient.Options, makePath: (ControlDialer.Events) -> any ControlPath
    ) {
        self.loop = loop
        self.handlers = handlers
        source = options.source
        usesSystemTimes = options.usesSystemTimes
        self.session = ViewerSession(configuration: session, random: SystemRandomNumberGenerator())
        timer = DeadlineTimer(loop: loop)
        path = makePath(
            ControlDialer.Events(
                onConnected: { [unowned self] address in
                    self.hostAddress = address
                    self.handle(.controlConnected)
                },
                onBytes: { [unowned self] in self.handle(.controlBytes($0)) },
                onSecured: { [unowned self] host, address in
                    self.hostAddress = address
                    let peer = self.media?.remoteAddress?.ipAddress
                    let hasMoved = peer != nil && peer != address?.ipAddress
                    self.handle(.controlSecured(host, hasMoved: hasMoved))
                },
                onMessage: { [unowned self] in self.handle(.controlMessage($0)) },
                onEnd: { [unowned self] reason, failure in
                    self.handle(.controlClosed(reason: reason, failure))
                },
                onOtherHost: { [unowned self] in self.handlers.onOtherHost($0) }))
        timer.onDeadline { [unowned self] _ in
            // What waits to be read isn't missing: a busy machine's process may run only after its deadline.
            self.readDatagrams()
            self.pump()
        }
    }

    var statistics: ViewerStatistics { session.statistics }
    var hasPatches: Bool { session.hasPatches }
    var relays: Int { session.relays }

    func start() {
        hasBegun = true
        wishesChanged()
    }

    func handle(_ input: ViewerSession.Input) {
        session.handle(input, now: .now)
        pump()
    }

    func wishesChanged() { handle(.wishes(handlers.wishes())) }

    /// Discovery has found the host, or it may be at another address.
    func hostAppeared(announcedVersion: Int?) {
        if let announcedVersion { handle(.announced(version: announcedVersion)) }
        // A dial that is under way takes the new addresses; otherwise one begins.
        path?.add()
        handle(.hostAppeared)
    }

    func shutdown() -> EventLoopFuture<Void> {
        handle(.shutdown)
        timer.cancel()
        path?.end()
        closeMedia()
        return loop.makeSucceededVoidFuture()
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
        mediaSource = channel.localAddress?.ipAddress
        receiver = receiver ?? DatagramReceiver()
        SocketOptions.enlargeBuffers(of: channel)
        mediaSocket = ChannelSocket(channel)
        // The first call makes the system record times of arrival.
        if usesSystemTimes { _ = arrival() }
        handle(.mediaOpened(localPort: UInt16(clamping: channel.localAddress?.port ?? 0)))
    }

    fileprivate func mediaFailed(_ error: any Error, generation: UInt64, hasNoAddress: Bool = false) {
        guard generation == mediaGeneration else { return }
        // Later: sending may fail at once, and the session can't take an event while it is being polled.
        loop.assumeIsolated().execute { [self] in
            guard generation == mediaGeneration else { return }
            handle(.mediaFailed(reason: networkReason(error), hasNoAddress: hasNoAddress))
        }
    }

    private func closeMedia() {
        mediaGeneration += 1
        mediaSocket = nil
        media?.close(promise: nil)
        media = nil
    }

    /// When the datagram read last arrived.
    private func arrival() -> MediaTime {
        guard usesSystemTimes, let socket = mediaSocket?.handle else { return .now }
        let nanoseconds = beam_arrival_time(socket)
        lastArrival = max(lastArrival, nanoseconds > 0 ? MediaTime(nanoseconds: nanoseconds) : .now)
        return lastArrival
    }

    private func sendMedia(_ bytes: [UInt8]) {
        guard let media else { return }
        let generation = mediaGeneration
        let sent = media.writeAndFlush(media.allocator.buffer(bytes: bytes)).assumeIsolated()
        sent.whenFailure { [self] error in sendFailed(error, generation: generation) }
    }

    /// A datagram couldn't be sent. Most errors pass, or concern the datagram before; but if this machine's address or
    /// interface is gone, neither this socket nor the control connection can be used any more.
    private func sendFailed(_ error: any Error, generation: UInt64) {
        guard generation == mediaGeneration, let media else { return }
        let code = (error as? IOError)?.errnoCode
        let hasNoAddress = code.map { Self.missingAddress.contains($0) } ?? false
        // SwiftNIO closes the socket after some errors.
        guard hasNoAddress || !media.isActive else { return }
        mediaFailed(error, generation: generation, hasNoAddress: true)
        if hasNoAddress, mediaSource != nil, mediaSource == path?.localAddress?.ipAddress {
            path?.drop("this machine's address has changed")
        }
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
        guard !usesSystemTimes, let receiver, let socket = mediaSocket?.handle else { return }
        let now = MediaTime.now
        let error = receiver.receive(from: socket) { session.handleDatagram($0, now: now) }
        if error != 0 {
            mediaFailed(IOError(errnoCode: error, reason: "recvmmsg"), generation: mediaGeneration)
        }
    }

    // MARK: Outputs of the session

    /// Carries out all that the session has decided, then sets the timer to its next deadline.
    private func pump() {
        guard hasBegun, !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        while true {
            switch session.pollOutput(now: .now) {
            case .connectControl(let version):
                path?.dial(version, expecting: session.expectedHosts)
            case .sendControl(let bytes): path?.send(bytes)
            case .closeControl: path?.close()
            case .openMedia(let port): openMedia(port: port)
            case .closeMedia: closeMedia()
            case .sendMedia(let bytes): sendMedia(bytes)
            case .deliver(let frame): for sink in handlers.sinks { sink.push(frame) }
            case .sound(let sound): for sink in handlers.sinks { sink.push(sound) }
            case .patch(let patch): for sink in handlers.sinks { sink.push(patch) }
            case .hashes(let hashes): for sink in handlers.sinks { sink.push(hashes) }
            case .pointer(let pointer): for sink in handlers.sinks { sink.push(pointer) }
            case .event(let event):
                if case .hostReached(let host) = event, let endpoint = hostAddress.flatMap({ Endpoint($0) }) {
                    handlers.onReached(host, endpoint)
                }
                handlers.onEvent(event)
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
