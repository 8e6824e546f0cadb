import BeamLog
import BeamMedia
import BeamNetwork
import BeamSession
import BeamWeb
import BeamWire

/// Browsers at a member of a room of equals: they watch what it shares, and wait while it shares nothing. They have a door
/// of their own, and nothing to do with the room's.
///
/// A `Host` serves them while it has them in its `HostOptions.browsers`; one host at a time.
public final class Browsers: Sendable {
    let sink: WebSink
    private let door: BrowserDoor
    private let link: WebSink.Link

    /// Opens the ports. `onNotice` is called on threads of its own: hand on, don't block.
    ///
    /// - Parameters:
    ///   - door: with a code for browsers; nobody is known.
    ///   - web: with the stream's configuration, but for its bit rate.
    public init(
        _ web: WebServer.Options, door: Door.Configuration, onNotice: @escaping @Sendable (HostNotice) -> Void
    ) throws {
        let link = WebSink.Link()
        let browserDoor = BrowserDoor(
            door, onEvent: { onNotice(.session($0)) }, onBrowser: { link.tell($0, $1) })
        do throws(WebError) {
            sink = try WebSink(web, door: browserDoor, link, isLasting: true, onNotice)
        } catch {
            browserDoor.shutdown()
            throw error
        }
        browserDoor.browser(.closedToNew(reason: "Nothing is shared here yet"))
        self.door = browserDoor
        self.link = link
        code = door.webCode?.current
    }

    /// Browsers are let in from now on. Before, they are refused.
    public func open() { door.browser(.closedToNew(reason: nil)) }

    /// The code at the start; nil: none is accepted.
    public let code: PairingCode?

    /// Where browsers come.
    public var description: HostDescription.Web { sink.description }

    /// What was written in the room: browsers are shown what this device itself has written.
    public func handle(_ event: LogEvent, own: DeviceKey) {
        switch event {
        case .partial(let author, _, _) where author != own: break
        case .lines(let lines): link.handle(.lines(lines.filter(\.isOwn)))
        default: link.handle(event)
        }
    }

    /// The person's answer to `HostEvent.browserAsks`.
    public func decide(_ connection: ConnectionID, accept: Bool) { door.decide(connection, accept: accept) }

    /// The browsers that are let in, in the order of admission.
    public var guests: [Guest] { door.guests }

    /// Ends a browser's stream. None comes from its address for a minute, or, `forGood`, before the program ends.
    public func sendAway(_ browser: Guest.Identity, forGood: Bool) {
        if case .browser(let session) = browser { door.sendAway(session, forGood: forGood) }
    }

    public func setCode(_ code: PairingCode) { door.setCode(code) }

    /// Replaces the code by a random one, if there is one.
    public func renewCode() { door.renewCode() }

    /// One for each browser.
    public var figures: [ViewerFigures] {
        var figures = door.figures
        sink.complete(&figures)
        return figures
    }

    /// Tells the pages that this is the end, and closes all connections.
    public func shutdown() {
        door.shutdown()
        sink.shutdown()
    }
}
