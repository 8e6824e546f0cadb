import BeamClock
import BeamLog
import BeamMedia
import BeamSession
import BeamSockets
import BeamWire
import Glibc
import NIOCore
import NIOPosix

/// Carries out what a `HostSession` decides. Confined to its event loop.
final class HostDriver: GuestDriver {
    let loop: any EventLoop
    private let handlers: HostServer.Handlers
    private let timer: DeadlineTimer
    private var session: HostSession
    private var isPumping = false
    var isShuttingDown = false
    private var meter = LoadMeter()

    var control: (any HostControl)?
    private var media: (any Channel)?
    /// Where the media socket was to be bound.
    private var mediaAddress: SocketAddress?
    private var sender: MediaSender?

    init(loop: any EventLoop, session: HostSession.Configuration, handlers: HostServer.Handlers) {
        self.loop = loop
        self.handlers = handlers
        self.session = HostSession(configuration: session, random: SystemRandomNumberGenerator())
        timer = DeadlineTimer(loop: loop)
        timer.onDeadline { [unowned self] deadline in
            self.meter.due(deadline, now: .now)
            self.pump()
        }
    }

    var statistics: HostStatistics { session.statistics }
    var viewers: [ViewerFigures] { session.viewerStatistics }
    var guests: [Guest] { session.guests }

    func isKnownAddress(_ address: IPAddress) -> Bool { session.isKnownAddress(address) }

    // MARK: Shutting down

    func sayFarewell() { handle(HostSession.Input.shutdown) }

    func end() {
        timer.cancel()
        media?.close(promise: nil)
    }

    // MARK: Inputs

    func handle(_ input: Door.Input) {
        session.handle(input, now: .now)
        pump()
    }

    func handle(_ input: HostSession.Input) {
        session.handle(input, now: .now)
        pump()
    }

    /// `handedOver`: when the frame was given to the loop; nil: on the loop.
    func submit(_ frame: EncodedFrame, handedOver: MediaTime? = nil) {
        let now = MediaTime.now
        if let handedOver { meter.due(handedOver, now: now) }
        meter.begin(now: now)
        session.handleFrame(frame, now: .now)
        pump()
    }

    func submit(_ sound: EncodedSound, number: UInt32? = nil) {
        session.handleSound(sound, number: number, now: .now)
        pump()
    }

    func submit(_ patch: ExactPatch) {
        session.handlePatch(patch, now: .now)
        pump()
    }

    func submit(_ hashes: PictureHashes) {
        session.handleHashes(hashes, now: .now)
        pump()
    }

    func submit(_ pointer: ScreenPointer) {
        session.handlePointer(pointer, now: .now)
        pump()
    }

    fileprivate func datagram(_ envelope: AddressedEnvelope<ByteBuffer>) {
        guard let from = NetworkAddress(envelope.remoteAddress) else { return }
        meter.beginReading(now: .now)
        envelope.data.withUnsafeReadableBytes { session.handleDatagram($0, from: from, now: .now) }
    }

    fileprivate func datagramsRead() { pump() }

    // MARK: Media

    /// Opens the media socket; the port may be another one if this is in use.
    func bindMedia(_ address: SocketAddress) -> EventLoopFuture<UInt16> {
        mediaAddress = address
        let bootstrap = makeMediaBootstrap(isV6: address.isV6)
        return bootstrap.bind(to: address).assumeIsolated().flatMapError { error -> EventLoopFuture<any Channel> in
            guard (error as? IOError)?.errnoCode == EADDRINUSE else {
                return self.loop.makeFailedFuture(error)
            }
            return bootstrap.bind(to: address.with(port: 0))
        }.map { [self] channel in
            mediaBound(channel)
        }.nonisolated()
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
        guard !isShuttingDown, media === channel, let address = channel.localAddress ?? mediaAddress else {
            return
        }
        media = nil
        sender = nil
        rebindMedia(address)
    }

    private func rebindMedia(_ address: SocketAddress) {
        bindMedia(address).assumeIsolated().whenComplete { [self] result in
            switch result {
            case .success: for layer in 0..<StreamDemand.layerCount { handlers.requestKeyframe(layer) }
            case .failure:
                loop.assumeIsolated().scheduleTask(in: .milliseconds(500)) { [self] in
                    if !isShuttingDown { rebindMedia(address) }
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
        meter.begin(now: .now)
        var deadline = carryOut()
        if let load = meter.end(now: .now) {
            session.handle(.machineLoad(load), now: .now)
            deadline = carryOut()
        }
        timer.arm(deadline)
    }

    /// Answers with the session's next deadline.
    private func carryOut() -> MediaTime {
        while true {
            switch session.pollOutput(now: .now) {
            case .send(let id, let bytes): control?.send(bytes, on: id)
            case .close(let id): control?.close(id)
            case .browser(let id, let verdict): handlers.onBrowser(id, verdict)
            case .transmit(let burst): sender?.send(burst)
            case .requestKeyframe(let layer): handlers.requestKeyframe(layer)
            case .demand(let demand, let layer): handlers.onDemand(demand, layer)
            case .soundDemand(let demand): handlers.onSoundDemand(demand)
            case .exactWanted(let tiles): handlers.onExactWanted(tiles)
            case .hashesWanted: handlers.onHashesWanted()
            case .event(let event):
                watchAsker(of: event)
                handlers.onEvent(event)
            case .wait(let deadline, _): return deadline
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
