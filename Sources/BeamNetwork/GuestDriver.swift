import BeamSession
import BeamWire
import NIOCore

/// The driver of a session that has a door: what happens on its control connections goes there. Confined to its event loop.
protocol GuestDriver: AnyObject {
    var loop: any EventLoop { get }
    /// Where control connections come from. Set as soon as the driver is made: it tells the driver of connections.
    var control: (any HostControl)? { get set }
    var isShuttingDown: Bool { get set }

    func handle(_ input: Door.Input)
    /// The session says farewell to its guests.
    func sayFarewell()
    /// The connections are closed.
    func end()
}

extension GuestDriver {
    /// Takes a new control connection. False: it is to be closed.
    func admits(_ id: ConnectionID, from address: IPAddress) -> Bool {
        guard !isShuttingDown else { return false }
        handle(.connectionOpened(id, from: address))
        return true
    }

    /// A question to the person is withdrawn as soon as its viewer's machine vanishes.
    func watchAsker(of event: HostEvent) {
        switch event {
        case .viewerAsks(let asker, _, _), .comparisonAsked(let asker, _): control?.watchAsker(on: asker)
        default: break
        }
    }

    func shutdown() -> EventLoopFuture<Void> {
        isShuttingDown = true
        control?.beginShutdown()
        sayFarewell()
        let closed = control?.finishShutdown() ?? loop.makeSucceededVoidFuture()
        return closed.assumeIsolated().map { [self] in
            end()
            control = nil
        }.nonisolated()
    }

    /// Nothing could be started.
    func cancel() { isShuttingDown = true }
}
