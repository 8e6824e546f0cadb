import BeamClock
import BeamMedia
import BeamProtocol
import NIOCore

/// Carries out what a `DoorSession` decides. It has no socket: connections come from its `HostControl`. Confined to its
/// event loop.
final class DoorDriver {
    private let loop: any EventLoop
    private let timer: DeadlineTimer
    private let onEvent: (HostEvent) -> Void
    private var session: DoorSession
    private var isPumping = false
    private var isShuttingDown = false
    /// Set at once by whoever makes the driver: it tells the driver of connections.
    private var control: (any HostControl)?

    init(loop: any EventLoop, configuration: Door.Configuration, onEvent: @escaping (HostEvent) -> Void) {
        self.loop = loop
        self.onEvent = onEvent
        session = DoorSession(configuration: configuration, random: SystemRandomNumberGenerator())
        timer = DeadlineTimer(loop: loop)
        timer.onDeadline { [unowned self] _ in self.pump() }
    }

    var guests: [Guest] { session.guests }

    func isKnownAddress(_ address: IPAddress) -> Bool { session.isKnownAddress(address) }

    /// Sets where control connections come from.
    func setControl(_ control: any HostControl) { self.control = control }

    func handle(_ input: Door.Input) {
        session.handle(input, now: .now)
        pump()
    }

    /// Takes a new control connection. False: it is to be closed.
    func admits(_ id: ConnectionID, from address: IPAddress) -> Bool {
        guard !isShuttingDown else { return false }
        handle(.connectionOpened(id, from: address))
        return true
    }

    func shutdown() -> EventLoopFuture<Void> {
        isShuttingDown = true
        control?.beginShutdown()
        session.shutdown()
        pump()
        let bound = NIOLoopBound(self, eventLoop: loop)
        return (control?.finishShutdown() ?? loop.makeSucceededVoidFuture()).map {
            bound.value.timer.cancel()
            bound.value.control = nil
        }
    }

    /// Nothing could be started.
    func cancel() { isShuttingDown = true }

    private func pump() {
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        while true {
            switch session.pollOutput(now: .now) {
            case .send(let id, let bytes): control?.send(bytes, on: id)
            case .close(let id): control?.close(id)
            case .event(let event):
                if let asker = event.asker { control?.watchAsker(on: asker) }
                onEvent(event)
            case .wait(let deadline): return timer.arm(deadline)
            }
        }
    }
}

extension HostEvent {
    /// The connection whose viewer the person is being asked about from now on.
    var asker: ConnectionID? {
        switch self {
        case .viewerAsks(let asker, _, _), .comparisonAsked(let asker, _): asker
        default: nil
        }
    }
}
