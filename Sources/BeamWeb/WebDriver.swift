import BeamClock
import BeamMedia
import BeamSession
import BeamSockets
import BeamWire
import NIOCore
import NIOSSL

/// Carries out what pages, the door and the stream decide. Confined to its event loop.
final class WebDriver: LoopDriver {
    /// Ports that are tried one after another.
    static let portTries = 20
    private static let tick = TimeAmount.seconds(1)

    let loop: any EventLoop
    let options: WebServer.Options
    let handlers: WebServer.Handlers
    private let tls: NIOSSLContext
    private let times: WebListener.Times
    private(set) var listener: WebListener?
    /// Nil if packets can't be protected.
    private(set) var media: MediaPort?
    var stream: BrowserStream
    private let timer: DeadlineTimer
    private var isPumping = false
    private var ticking: RepeatedTask?
    private var asksPerson: Bool

    /// By the first connection of each.
    var pages: [ConnectionID: Page] = [:]
    /// Of the connections by which pages have come again: the first one.
    var firstConnections: [ConnectionID: ConnectionID] = [:]
    /// Those that can come again.
    var tokens: [String: ConnectionID] = [:]
    /// Of layer 0's pictures.
    var size: PixelSize?
    /// What holds until it is said otherwise, for pages that come later.
    var isIdle = false
    var isPaused = false
    var visibility = SourceVisibility.visible
    var caption = ""
    /// Those that carry the stream at present; with one of them the host serves only browsers that have no WebRTC.
    var gateways: [GatewayDoor] = []
    var gatewayTurn = 0

    init(
        loop: any EventLoop, _ options: WebServer.Options, tls: NIOSSLContext, times: WebListener.Times,
        handlers: WebServer.Handlers
    ) {
        self.loop = loop
        self.options = options
        self.handlers = handlers
        self.tls = tls
        self.times = times
        asksPerson = options.asksPerson
        stream = BrowserStream(configuration: options.stream, random: SystemRandomNumberGenerator())
        timer = DeadlineTimer(loop: loop)
        timer.onDeadline { [unowned self] _ in self.pump() }
    }

    // MARK: The ports

    /// Binds both ports.
    func start() -> EventLoopFuture<(port: UInt16, media: UInt16, packetsUnavailable: String?)> {
        var unavailable: String?
        do {
            media = MediaPort(loop: loop, identity: try DTLSIdentity(), events: mediaEvents)
        } catch {
            unavailable = error.reason
        }
        let router = WebRouter(
            page: webPage,
            names: OwnNames(hostName: options.hostName, others: options.names + WebTLS.names(options.certificate)),
            isHTTPSOnly: options.isHTTPSOnly)
        let listener = WebListener(loop: loop, router: router, tls: tls, times: times, events: listenerEvents)
        self.listener = listener
        let bound = NIOLoopBound(self, eventLoop: loop)
        let (reason, options) = (unavailable, options)
        return listener.start(options.bindAddress, port: options.port, tries: Self.portTries).flatMapErrorThrowing {
            throw WebError.binding(
                options.bindAddress ?? "all addresses", options.port, tries: Self.portTries, "TCP", $0)
        }.flatMap { local in
            bound.value.bindMedia(local).map { media in
                bound.value.startTicking()
                return (UInt16(clamping: local.port ?? 0), media, reason)
            }
        }.flatMapErrorThrowing { error in
            bound.value.listener?.beginShutdown()
            throw error
        }
    }

    private var webPage: WebPage {
        WebPage(
            hostName: options.shownName ?? options.hostName, asksPerson: asksPerson, code: options.code,
            hasPackets: media != nil, hasOwnCertificate: options.certificate.isOwn, gateways: options.gatewayOrigins)
    }

    func setAsksPerson(_ asksPerson: Bool) {
        self.asksPerson = asksPerson
        listener?.router.page = webPage
    }

    private func bindMedia(_ local: SocketAddress) -> EventLoopFuture<UInt16> {
        guard let media else { return loop.makeSucceededFuture(0) }
        let options = options
        return media.bind(local.with(port: options.mediaPort), tries: Self.portTries).flatMapErrorThrowing {
            throw WebError.binding(
                options.bindAddress ?? "all addresses", options.mediaPort, tries: Self.portTries, "UDP", $0)
        }
    }

    private var listenerEvents: WebListener.Events {
        WebListener.Events(
            onPage: { [unowned self] in self.opened($0) },
            onExhausted: { [unowned self] in self.handlers.onEvent(.acceptingPaused(reason: $0)) },
            onListeningFailed: { [unowned self] in self.handlers.onEvent(.listeningFailed(reason: $0)) },
            onListeningAgain: { [unowned self] in self.handlers.onEvent(.listeningAgain) })
    }

    private var mediaEvents: MediaPort.Events {
        MediaPort.Events(
            onReady: { [unowned self] in self.pathReady($0) },
            onControl: { [unowned self] id, bytes in self.stream.handleControl(bytes, from: id, now: .now) },
            onOver: { [unowned self] id, reason in self.fail(id, reason) },
            onRead: { [unowned self] in self.pump() })
    }

    // MARK: The stream

    func submit(_ frame: EncodedFrame) {
        if frame.layer == 0, frame.unit.size != size {
            size = frame.unit.size
            for page in pages.values { tellSize(page) }
        }
        stream.handleFrame(frame, now: .now)
        pump()
    }

    func submit(_ sound: EncodedSound) {
        stream.handleSound(sound, now: .now)
        pump()
    }

    func restart(bitRate: Int) {
        stream.restart(bitRate: bitRate, now: .now)
        pump()
    }

    /// Carries out all that the stream has decided, then sets the timer to its next deadline.
    func pump() {
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        while true {
            switch stream.pollOutput(now: .now) {
            case .packets(let id, let packets): media?.send(packets, to: id)
            case .control(let id, let bytes): media?.sendControl(bytes, to: id)
            case .unit(let id, let unit): send(unit, to: id)
            case .requestKeyframe(let layer): handlers.requestKeyframe(layer)
            case .demand(let demand, let layer): handlers.onDemand(demand, layer)
            case .soundDemand(let demand): handlers.onSoundDemand(demand)
            case .event(.evict(let id, let reason)):
                handlers.onEvent(.stream(.evict(id, reason: reason)))
                fail(id, reason.words)
            case .event(let event): handlers.onEvent(.stream(event))
            case .wait(let deadline): return timer.arm(deadline)
            }
        }
    }

    private func send(_ unit: BrowserUnit, to id: ConnectionID) {
        guard let socket = pages[id]?.connection?.socket else { return }
        if case .keyframe(let description?) = unit.kind {
            socket.send(
                .stream(
                    codec: description.codec, description: description.record, description.size,
                    sound: options.stream.hasSound))
        }
        var buffer = ByteBufferAllocator().buffer(capacity: BrowserUnit.headLength + unit.range.count)
        buffer.writeBytes(unit.head)
        buffer.writeBytes(unit.bytes[unit.range])
        socket.send(binary: buffer)
    }

    // MARK: Time

    private func startTicking() {
        let bound = NIOLoopBound(self, eventLoop: loop)
        ticking = loop.scheduleRepeatedTask(initialDelay: Self.tick, delay: Self.tick) { _ in bound.value.checkTimes() }
    }

    private func checkTimes() {
        let now = MediaTime.now
        for page in Array(pages.values) { checkTimes(of: page, now: now) }
        media?.checkTimes(now: now)
        pump()
    }

    // MARK: The end

    func shutdown() -> EventLoopFuture<Void> {
        listener?.beginShutdown()
        for page in Array(pages.values) { refuse(page, .ended, "the host has ended") }
        ticking?.cancel()
        timer.cancel()
        let closed = media?.close() ?? loop.makeSucceededVoidFuture()
        let listening = listener?.finishShutdown() ?? loop.makeSucceededVoidFuture()
        return listening.and(closed).map { _ in }
    }
}

extension BrowserEviction {
    /// Without a full stop.
    fileprivate var words: String {
        switch self {
        case .noReports: "the browser hasn't reported for 30 s"
        case .noAcknowledgements: "the browser hasn't shown anything for 30 s"
        }
    }
}
