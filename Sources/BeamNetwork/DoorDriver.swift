import BeamClock
import BeamLog
import BeamMedia
import BeamSession
import BeamWire
import NIOCore

/// Carries out what a `DoorSession` decides. It has no socket: connections come from its `HostControl`. Confined to its
/// event loop.
final class DoorDriver: GuestDriver {
    let loop: any EventLoop
    private let timer: DeadlineTimer
    private let onEvent: (HostEvent) -> Void
    private var session: DoorSession
    private var isPumping = false
    var isShuttingDown = false
    var control: (any HostControl)?

    init(loop: any EventLoop, configuration: Door.Configuration, onEvent: @escaping (HostEvent) -> Void) {
        self.loop = loop
        self.onEvent = onEvent
        session = DoorSession(configuration: configuration, random: SystemRandomNumberGenerator())
        timer = DeadlineTimer(loop: loop)
        timer.onDeadline { [unowned self] _ in self.pump() }
    }

    var guests: [Guest] { session.guests }

    func isKnownAddress(_ address: IPAddress) -> Bool { session.isKnownAddress(address) }

    func handle(_ input: Door.Input) {
        session.handle(input, now: .now)
        pump()
    }

    func sayFarewell() {
        session.shutdown()
        pump()
    }

    func end() { timer.cancel() }

    private func pump() {
        guard !isPumping else { return }
        isPumping = true
        defer { isPumping = false }
        while true {
            switch session.pollOutput(now: .now) {
            case .send(let id, let bytes): control?.send(bytes, on: id)
            case .close(let id): control?.close(id)
            case .event(let event):
                watchAsker(of: event)
                onEvent(event)
            case .wait(let deadline): return timer.arm(deadline)
            }
        }
    }
}
