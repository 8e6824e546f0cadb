import BeamLog
import BeamMedia
import BeamSession
import BeamSockets
import BeamWire
import NIOCore

/// A door for browsers alone, as at a member of a room of equals: nobody else can connect to it. Somebody else serves their
/// pages, and has the stream.
///
/// Its methods may be called from any thread but the event loop's own.
public final class BrowserDoor: Sendable {
    private let handle: LoopHandle<DoorDriver>

    /// The handlers are called on the event loop: they must not block.
    ///
    /// - Parameters:
    ///   - door: with `webCode`; nobody is known.
    ///   - onBrowser: what the door says to a browser, by its connection.
    public init(
        _ door: Door.Configuration, onEvent: @escaping @Sendable (HostEvent) -> Void,
        onBrowser: @escaping @Sendable (ConnectionID, BrowserVerdict) -> Void
    ) {
        handle = LoopHandle(on: nil, statistics: ()) { loop in
            DoorDriver(loop: loop, configuration: door, onEvent: onEvent, onBrowser: onBrowser)
        }
    }

    /// What a browser's page does: `.browserOpened`, `.browserHello` or `.browserClosed`; or `.closedToNew`.
    public func browser(_ input: Door.Input) { handle.perform { $0.handle(input) } }

    /// The person's answer to `HostEvent.browserAsks`.
    public func decide(_ connection: ConnectionID, accept: Bool) {
        handle.perform { $0.handle(.decision(connection, accept: accept)) }
    }

    /// Evicts this browser. None is let in from its address for a minute, or, `forGood`, before the door ends.
    public func sendAway(_ session: String, forGood: Bool) {
        handle.perform { $0.handle(forGood ? .blockBrowser(session: session) : .sendAway(.browser(session: session))) }
    }

    /// Replaces the code.
    public func setCode(_ code: PairingCode) { handle.perform { $0.handle(.webCode(code)) } }

    /// Replaces it by a random one, if there is one.
    public func renewCode() { handle.perform { $0.handle(.renewWebCode) } }

    /// The admitted browsers, in the order of admission; none once the door is shut down. Waits for the event loop.
    public var guests: [Guest] { handle.ask { $0.guests } ?? [] }

    /// One for each of them, without what their streams say. Waits for the event loop.
    public var figures: [ViewerFigures] { handle.ask { $0.figures } ?? [] }

    /// Tells all browsers that this is the end; returns when that is done.
    public func shutdown() { handle.end() }
}

extension DoorDriver: LoopDriver {}
