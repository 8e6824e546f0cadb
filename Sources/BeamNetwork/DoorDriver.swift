import BeamClock
import BeamLog
import BeamMedia
import BeamSession
import BeamSockets
import BeamWire
import NIOCore
import NIOPosix

/// Carries out what a `DoorSession` decides. Connections come from its `HostControl`, and its one socket is never read.
/// Confined to its event loop.
final class DoorDriver: GuestDriver {
    let loop: any EventLoop
    private let timer: DeadlineTimer
    private let onEvent: (HostEvent) -> Void
    private let onBrowser: (ConnectionID, BrowserVerdict) -> Void
    private var session: DoorSession
    private var media: (any Channel)?
    private var isPumping = false
    var isShuttingDown = false
    var control: (any HostControl)?

    /// - Parameter onBrowser: what the door says to a browser, by its connection.
    init(
        loop: any EventLoop, configuration: Door.Configuration, onEvent: @escaping (HostEvent) -> Void,
        onBrowser: @escaping (ConnectionID, BrowserVerdict) -> Void = { _, _ in }
    ) {
        self.onBrowser = onBrowser
        self.loop = loop
        self.onEvent = onEvent
        session = DoorSession(configuration: configuration, random: SystemRandomNumberGenerator())
        timer = DeadlineTimer(loop: loop)
        timer.onDeadline { [unowned self] _ in self.pump() }
    }

    var guests: [Guest] { session.guests }

    var figures: [ViewerFigures] { session.figures }

    func isKnownAddress(_ address: IPAddress) -> Bool { session.isKnownAddress(address) }

    func handle(_ input: Door.Input) {
        session.handle(input, now: .now)
        pump()
    }

    /// Opens the port that guests are told for their datagrams. If nobody had it, each of these would come back as
    /// “unreachable”, and the guest would open its own socket again and again.
    func bindMedia(_ address: SocketAddress) -> EventLoopFuture<Void> {
        DatagramBootstrap(group: loop).channelOption(.autoRead, value: false).bind(to: address).assumeIsolated().map {
            [self] channel in
            media = channel
            session.mediaPortChanged(UInt16(clamping: channel.localAddress?.port ?? 0))
            pump()
        }.nonisolated()
    }

    func sayFarewell() {
        session.shutdown()
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
            case .browser(let id, let verdict): onBrowser(id, verdict)
            case .event(let event):
                watchAsker(of: event)
                onEvent(event)
            case .wait(let deadline): return timer.arm(deadline)
            }
        }
    }
}
