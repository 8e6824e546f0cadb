import BeamClock
import BeamMedia
import BeamSession
import BeamSockets
import BeamWire
import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// Carries out what a gateway's control and stream decide. Confined to its event loop.
final class GatewayDriver: LoopDriver {
    let loop: any EventLoop
    private let options: WebGateway.Options
    private let handlers: WebGateway.Handlers
    private let tls: NIOSSLContext?
    private let resolver: (any Resolver & Sendable)?
    private var control: GatewayControl
    private var stream: GatewayStream
    private let timer: DeadlineTimer
    private var isPumping = false
    private var socket: GatewaySocket?
    /// Counts connections: what an earlier one says has no effect.
    private var connection = 0
    private var remote: IPAddress?
    private var path: Path?
    private(set) var media: (channel: any Channel, sender: MediaSender)?
    private var isBinding = false
    /// The stream begins as soon as there is a socket for it.
    private var isBeginning = false
    private var burst = PacketBuffer()
    private(set) var viewers = 0
    private(set) var isReady = false
    private var ending: EventLoopPromise<Void>?
    /// Nil before the end.
    private var ended: EventLoopFuture<Void>?

    /// Of a mountpoint.
    private struct Path {
        let ports: GatewayPorts
        let session: SRTPSession
        var remote: IPAddress
    }

    /// 127.0.0.1: a mountpoint that is made from there takes packets at that address only.
    private static let ownMachine = IPAddress.v4(0x7F00_0001)

    init(
        loop: any EventLoop, _ options: WebGateway.Options, tls: NIOSSLContext?,
        resolver: (any Resolver & Sendable)? = nil, handlers: WebGateway.Handlers
    ) {
        self.loop = loop
        self.options = options
        self.handlers = handlers
        self.tls = tls
        self.resolver = resolver
        control = GatewayControl(
            GatewayControl.Configuration(
                mountpoint: options.mountpoint, hasSound: options.stream.hasSound, leftovers: options.leftovers,
                hasToken: options.credentials.hasToken, hasAdminKey: options.credentials.adminKey != nil),
            random: SystemRandomNumberGenerator(), now: .now)
        stream = GatewayStream(configuration: options.stream, random: SystemRandomNumberGenerator())
        timer = DeadlineTimer(loop: loop)
        timer.onDeadline { [unowned self] _ in self.pump() }
    }

    func start() -> EventLoopFuture<Void> {
        pump()
        return loop.makeSucceededVoidFuture()
    }

    /// Destroys the mountpoint, and closes all. A second call waits for the first one's end.
    func shutdown() -> EventLoopFuture<Void> {
        if let ended { return ended }
        let promise = loop.makePromise(of: Void.self)
        (ending, ended) = (promise, promise.futureResult)
        control.end(now: .now)
        pump()
        return promise.futureResult
    }

    // MARK: The stream

    func submit(_ frame: EncodedFrame) {
        stream.handleFrame(frame, now: .now)
        pump()
    }

    func submit(_ sound: EncodedSound) {
        stream.handleSound(sound, now: .now)
        pump()
    }

    var statistics: GatewayFigures {
        var figures = GatewayFigures(options.address)
        (figures.viewers, figures.isReady) = (viewers, isReady)
        (figures.frames, figures.keyframes) = (stream.figures.frames, stream.figures.keyframes)
        (figures.packets, figures.bytes) = (stream.figures.packets, stream.figures.bytes)
        return figures
    }

    // MARK: Outputs

    /// Carries out all that was decided, then sets the timer to the next deadline.
    private func pump() {
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        var deadline = MediaTime.distantFuture
        // Control first: it begins and ends what the stream sends.
        control: while true {
            switch control.pollOutput(now: .now) {
            case .wait(let until):
                deadline = until
                break control
            case .ended:
                closeAll()
                return
            case let output: carryOut(output)
            }
        }
        stream: while true {
            switch stream.pollOutput(now: .now) {
            case .packets(let packets): send(packets)
            case .control(let bytes, let isSound): send(bytes, isSound: isSound)
            case .requestKeyframe(let layer): handlers.requestKeyframe(layer)
            case .demand(let demand, let layer): handlers.onDemand(demand, layer)
            case .soundDemand(let demand): handlers.onSoundDemand(demand)
            case .wait(let until):
                deadline = min(deadline, until)
                break stream
            }
        }
        timer.arm(deadline)
    }

    private func carryOut(_ output: GatewayControl.Output) {
        switch output {
        case .connect: connect()
        case .disconnect:
            socket?.close()
            socket = nil
        case .send(let request, let transaction):
            let date = Int(Date().timeIntervalSince1970)
            socket?.send(
                request.text(
                    transaction: transaction,
                    token: options.credentials.token(at: date, lasting: options.credentials.times.own),
                    adminKey: options.credentials.adminKey))
        case .begin(let ports, let key): begin(ports, key)
        case .stop:
            path = nil
            isBeginning = false
            stream.stop(now: .now)
        case .event(let event): tell(event)
        case .cleared(let point): handlers.onCleared(point)
        case .ended, .wait: break
        }
    }

    private func tell(_ event: GatewayEvent) {
        switch event {
        case .ready: isReady = true
        case .problem: isReady = false
        case .viewers(let count):
            viewers = count
            stream.setWatched(count > 0, now: .now)
        }
        handlers.onEvent(event)
    }

    private func closeAll() {
        timer.cancel()
        stream.stop(now: .now)
        path = nil
        socket?.close()
        socket = nil
        let promise = ending
        ending = nil
        guard let channel = media?.channel else {
            promise?.succeed()
            return
        }
        closeMedia()
        if let promise { channel.closeFuture.cascade(to: promise) }
    }

    // MARK: The API's connection

    private func connect() {
        connection += 1
        let number = connection
        let isCurrent = { [unowned self] in self.connection == number && self.socket != nil }
        let socket = GatewaySocket(
            options.address,
            GatewaySocket.Events(
                onOpen: { [unowned self] remote in if isCurrent() { self.opened(remote) } },
                onMessage: { [unowned self] text in
                    guard isCurrent() else { return }
                    self.control.received(text, now: .now)
                    self.pump()
                },
                onEnd: { [unowned self] problem in
                    guard isCurrent() else { return }
                    self.socket = nil
                    self.control.failed(problem, now: .now)
                    self.pump()
                }))
        self.socket = socket
        socket.connect(on: loop, tls: tls, timeout: WebGateway.connectTimeout, resolver: resolver)
    }

    private func opened(_ address: SocketAddress) {
        let ip = IPAddress(address)
        guard let ip, options.address.isSecure || ip.isLoopback else {
            socket?.close()
            socket = nil
            control.failed(.unreachable(reason: "without encryption only this machine itself is reached"), now: .now)
            return pump()
        }
        remote = ip
        follow(ip)
        control.connected(isLocal: ip == Self.ownMachine, now: .now)
        pump()
    }

    /// The gateway is reached at another address than before: so is the mountpoint of the connection before, if the gateway
    /// still has it.
    private func follow(_ ip: IPAddress) {
        guard let old = path?.remote, old != ip, old != Self.ownMachine else { return }
        path?.remote = ip
        bind(for: ip)
    }

    // MARK: Media

    private func begin(_ ports: GatewayPorts, _ key: GatewayKey) {
        guard let remote else { return }
        do {
            path = Path(ports: ports, session: try SRTPSession(sending: key), remote: remote)
        } catch {
            return control.sendingFailed(.unprotected(reason: error.reason), now: .now)
        }
        stream.stop(now: .now)
        isBeginning = true
        bind(for: remote)
    }

    /// Opens the socket that it is sent from, anew for another family of addresses.
    private func bind(for remote: IPAddress) {
        if let media, media.channel.localAddress?.isV6 == remote.isV6 { return beginSending() }
        closeMedia()
        guard !isBinding else { return }
        isBinding = true
        let bound = NIOLoopBound(self, eventLoop: loop)
        // Not by a name: the system resolves even 0.0.0.0 to an IPv6 address where no other than loopback's is IPv4.
        let any: IPAddress = remote.isV6 ? .v6(high: 0, low: 0, scope: 0) : .v4(0)
        SocketOptions.makeMediaBootstrap(on: loop) { channel in
            try channel.pipeline.syncOperations.addHandler(GatewayMediaHandler(bound.value))
        }.bind(to: any.socketAddress(port: 0, onV6Socket: remote.isV6)).whenComplete { result in
            bound.value.isBinding = false
            switch result {
            case .success(let channel): bound.value.bound(channel)
            case .failure(let error): bound.value.bindFailed(networkReason(error))
            }
        }
    }

    private func closeMedia() {
        let channel = media?.channel
        // First, so that its end isn't taken for a fault.
        media = nil
        channel?.close(promise: nil)
    }

    private func bindFailed(_ reason: String) {
        control.sendingFailed(.unreachable(reason: reason), now: .now)
        pump()
    }

    /// A socket has gone. If it is the one in use, the mountpoint is made anew, with another socket.
    fileprivate func mediaEnded(_ channel: any Channel) {
        guard let media, media.channel === channel else { return }
        self.media = nil
        control.sendingFailed(.unreachable(reason: "the system has closed the socket to it"), now: .now)
        // It may have gone while something was sent there.
        let bound = NIOLoopBound(self, eventLoop: loop)
        loop.execute { bound.value.pump() }
    }

    private func beginSending() {
        guard isBeginning else { return }
        isBeginning = false
        stream.begin(now: .now)
        if viewers > 0 { stream.setWatched(true, now: .now) }
        control.sendingBegan(now: .now)
    }

    private func bound(_ channel: any Channel) {
        guard let path, ending == nil || media == nil else {
            channel.close(promise: nil)
            return
        }
        SocketOptions.enlargeBuffers(of: channel)
        // What can't be sent is lost, as on the path.
        media = (channel, MediaSender(channel, onFailure: { _ in }))
        guard path.remote.isV6 == channel.localAddress?.isV6 else { return bind(for: path.remote) }
        beginSending()
        pump()
    }

    private func send(_ packets: BrowserBurst) {
        guard let path, let sender = media?.sender, let port = packets.isSound ? path.ports.sound : path.ports.video
        else { return }
        let address = NetworkAddress(ip: path.remote, port: port)
        for index in 0..<packets.count {
            burst.add(write: { packets.write(index, to: $0) }, path.session) { bytes, size in
                sender.send(bytes, segmentSize: size, to: address)
            }
        }
        burst.flush { bytes, size in sender.send(bytes, segmentSize: size, to: address) }
    }

    private func send(_ control: [UInt8], isSound: Bool) {
        guard let path, let port = isSound ? path.ports.soundControl : path.ports.videoControl else { return }
        control.withUnsafeBytes {
            media?.sender.send($0, segmentSize: $0.count, to: NetworkAddress(ip: path.remote, port: port))
        }
    }

    fileprivate func datagram(_ envelope: AddressedEnvelope<ByteBuffer>) {
        guard let path, let from = NetworkAddress(envelope.remoteAddress), from.ip == path.remote,
            from.port == path.ports.videoControl
        else { return }
        envelope.data.withUnsafeReadableBytes { stream.handleControl($0, now: .now) }
    }

    fileprivate func allRead() { pump() }
}

extension IPAddress {
    fileprivate var isV6: Bool { if case .v6 = self { true } else { false } }
}

/// The last handler of the pipeline to a gateway's UDP ports.
private final class GatewayMediaHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private weak var driver: GatewayDriver?

    init(_ driver: GatewayDriver) { self.driver = driver }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { driver?.datagram(Self.unwrapInboundIn(data)) }

    func channelReadComplete(context: ChannelHandlerContext) { driver?.allRead() }

    func channelInactive(context: ChannelHandlerContext) { driver?.mediaEnded(context.channel) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // ICMP errors: the gateway was stopped, which its WebSocket says, too.
    }
}
