import BeamIdentity
import BeamMedia
import BeamSession
import BeamSockets
import BeamWire
import NIOCore
import NIOPosix

/// A receiver on the network: a TCP port at which senders offer their screens, driven by a `StationSession` on one event
/// loop.
///
/// Its methods may be called from any thread but the event loop's own.
public final class StationServer: Sendable {
    public struct Options: Sendable {
        /// A numeric address or a name of this machine; nil: all addresses, IPv4 and IPv6.
        public var bindAddress: String?
        /// 0: the system chooses one.
        public var port: UInt16
        public var identity: LocalIdentity
        /// How senders are let in.
        public var door: Door.Configuration

        public init(bindAddress: String?, port: UInt16, identity: LocalIdentity, door: Door.Configuration) {
            (self.bindAddress, self.port, self.identity, self.door) = (bindAddress, port, identity, door)
        }
    }

    public enum Event: Sendable {
        case door(HostEvent)
        case state(StationSession.State)
        case ended(StationSession.Sender, StationSession.End)
        case busy(StationSession.Sender)
        /// Watch the screen of that number at this endpoint, and `report` on it.
        case watch(Int, StationSession.Sender, Endpoint)
        case unwatch(Int)
    }

    /// The port in use.
    public let port: UInt16

    private let handle: LoopHandle<StationDriver>

    /// Binds the port; senders can come once this returns.
    ///
    /// - Parameter onEvent: called on the event loop: must not block.
    public init(_ options: Options, onEvent: @escaping @Sendable (Event) -> Void) throws(NetworkError) {
        handle = LoopHandle(on: nil, statistics: ()) { loop in
            StationDriver(loop: loop, options: options, onEvent: onEvent)
        }
        do {
            port = try handle.start { $0.start(options) }
        } catch {
            handle.end()
            throw error as? NetworkError
                ?? NetworkError(binding: options.bindAddress ?? "any address", port: Int(options.port), error)
        }
    }

    /// What has become of the screen of that number.
    public func report(_ number: Int, _ report: StationSession.Report) {
        handle.perform { $0.handle(.report(number, report)) }
    }

    /// The person here wants nothing more of the present sender.
    public func endShowing() { handle.perform { $0.handle(.end) } }

    /// Sets the senders that are known, and their names.
    public func setRemembered(_ devices: [DeviceKey: String]) {
        handle.perform { $0.handle(.door(.remembered(devices))) }
    }

    /// The list of known senders has changed and can't be read: until it can, none counts as known.
    public func setRememberedUnreadable() { handle.perform { $0.handle(.door(.rememberedUnreadable)) } }

    /// Replaces the code.
    public func renewCode() { handle.perform { $0.handle(.door(.renewCode)) } }

    /// Waits until the event loop answers. False: it has ended.
    public var answers: Bool { handle.ask { _ in true } ?? false }

    /// Tells the senders and closes all connections; returns when that is done, after 2 s at the latest.
    public func shutdown() { handle.end() }
}

/// Carries out what a `StationSession` decides. Confined to its event loop.
final class StationDriver: GuestDriver, LoopDriver {
    typealias Statistics = Void

    let loop: any EventLoop
    private let timer: DeadlineTimer
    private let onEvent: @Sendable (StationServer.Event) -> Void
    private var session: StationSession
    /// Guests are told its port. Nothing is read from it: if nobody had it, what they send would come back as
    /// “unreachable”.
    private var media: (any Channel)?
    private var isPumping = false
    private var listener: ControlListener?
    var isShuttingDown = false
    var control: (any HostControl)?

    init(
        loop: any EventLoop, options: StationServer.Options, onEvent: @escaping @Sendable (StationServer.Event) -> Void
    ) {
        self.loop = loop
        self.onEvent = onEvent
        session = StationSession(configuration: options.door, random: SystemRandomNumberGenerator())
        timer = DeadlineTimer(loop: loop)
        timer.onDeadline { [unowned self] _ in self.pump() }
    }

    func start(_ options: StationServer.Options) -> EventLoopFuture<UInt16> {
        let listener: ControlListener
        do {
            listener = ControlListener(
                loop: loop, transport: try SecureTransport(options.identity), events: connections)
        } catch {
            return loop.makeFailedFuture(error)
        }
        self.listener = listener
        control = listener
        return listener.start(options.bindAddress, port: options.port).assumeIsolated().flatMap { [self] local in
            bindMedia(local.with(port: 0)).map { UInt16(clamping: local.port ?? 0) }
        }.flatMapErrorThrowing { [self] error in
            cancel()
            listener.cancel()
            throw error
        }.nonisolated()
    }

    private func bindMedia(_ address: SocketAddress) -> EventLoopFuture<Void> {
        DatagramBootstrap(group: loop).channelOption(.autoRead, value: false).bind(to: address).assumeIsolated().map {
            [self] channel in
            media = channel
            session.mediaPortChanged(UInt16(clamping: channel.localAddress?.port ?? 0))
            // The first state is told.
            pump()
        }.nonisolated()
    }

    private var connections: ControlListener.Events {
        ControlListener.Events(
            admits: { [unowned self] in self.admits($0, from: $1) },
            isKnownAddress: { [unowned self] in self.session.isKnownAddress($0) },
            onBytes: { [unowned self] in self.handle(.connectionBytes($0, $1)) },
            onSecured: { [unowned self] in self.handle(.connectionSecured($0, $1.device)) },
            onMessage: { [unowned self] in self.handle(.connectionMessage($0, $1)) },
            onViolation: { [unowned self] in self.handle(.connectionViolated($0, reason: $1)) },
            onEnd: { [unowned self] in self.handle(.connectionClosed($0, tlsFailure: $1)) },
            onExhausted: { [unowned self] in self.onEvent(.door(.acceptingPaused(reason: $0))) },
            onListeningFailed: { [unowned self] in self.onEvent(.door(.listeningFailed(reason: $0))) },
            onListeningAgain: { [unowned self] in self.onEvent(.door(.listeningAgain)) })
    }

    func handle(_ input: Door.Input) { handle(StationSession.Input.door(input)) }

    func handle(_ input: StationSession.Input) {
        session.handle(input, now: .now)
        pump()
    }

    func sayFarewell() {
        session.shutdown(now: .now)
        pump()
    }

    func end() {
        timer.cancel()
        media?.close(promise: nil)
        media = nil
    }

    private func pump() {
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        while true {
            switch session.pollOutput(now: .now) {
            case .send(let id, let bytes): control?.send(bytes, on: id)
            case .close(let id): control?.close(id)
            case .event(let event): onEvent(.door(event))
            case .state(let state): onEvent(.state(state))
            case .ended(let sender, let end): onEvent(.ended(sender, end))
            case .busy(let sender): onEvent(.busy(sender))
            case .watch(let number, let sender, let id, let port): watch(number, sender, id, port)
            case .unwatch(let number): onEvent(.unwatch(number))
            case .wait(let deadline): return timer.arm(deadline)
            }
        }
    }

    private func watch(_ number: Int, _ sender: StationSession.Sender, _ id: ConnectionID, _ port: UInt16) {
        guard let remote = listener?.remoteAddress(of: id), let endpoint = Self.endpoint(of: remote, port) else {
            // The connection has ended just now, which the session learns next.
            return
        }
        onEvent(.watch(number, sender, endpoint))
    }

    /// The sender's share is where its connection comes from. An IPv4 address that has come to an IPv6 socket is written as
    /// one of IPv4.
    static func endpoint(of remote: SocketAddress, _ port: UInt16) -> Endpoint? {
        if let ip = IPAddress(remote), case .v4 = ip { return Endpoint(host: "\(ip)", port: port) }
        return Endpoint(remote).map { Endpoint(host: $0.host, port: port) }
    }
}
