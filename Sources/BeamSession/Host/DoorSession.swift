import BeamLog
import BeamMedia
import BeamWire

/// A door without a stream, such as that of a room of equals: newcomers are let in, and nothing is sent to them.
///
/// Call `handle` for each event, then `pollOutput` until it returns `.wait`.
public struct DoorSession: Sendable {
    public enum Output: Sendable {
        /// Bytes of a version 1 connection, or a whole message of a version 2 connection.
        case send(ConnectionID, [UInt8])
        /// Close once everything sent so far has left.
        case close(ConnectionID)
        /// For a browser's page.
        case browser(ConnectionID, BrowserVerdict)
        case event(HostEvent)
        /// Nothing to do until this deadline or the next event.
        case wait(until: MediaTime)
    }

    private var door: Door
    private var isEnded = false

    /// `random` makes keys, nonces and session IDs: has to be the system's generator, except in tests.
    public init(configuration: Door.Configuration, random: any RandomNumberGenerator & Sendable) {
        var random = random
        // Guests get a key as everywhere. Nothing is sealed with it.
        let key = SealingKey(number: 0, random: &random)
        door = Door(configuration: configuration, mediaKey: key, random: random)
    }

    public mutating func handle(_ input: Door.Input, now: MediaTime) {
        if !isEnded { door.handle(input, now: now) }
    }

    /// Where guests may send datagrams, which nobody reads. They have to be told a port, though nothing comes from it.
    public mutating func mediaPortChanged(_ port: UInt16) { door.mediaPortChanged(port) }

    /// Announces the end, and closes all connections.
    public mutating func shutdown() {
        guard !isEnded else { return }
        isEnded = true
        door.shutdown()
    }

    /// The next thing to do; `.wait` when there is nothing more for now.
    public mutating func pollOutput(now: MediaTime) -> Output {
        while true {
            if let output = door.popOutput() {
                switch output {
                case .send(let id, let bytes): return .send(id, bytes)
                case .close(let id): return id.isBrowser ? .browser(id, .closed) : .close(id)
                case .browser(let id, let verdict): return .browser(id, verdict)
                case .event(let event): return .event(event)
                case .quiet(let id): door.quiet(id, heardElsewhere: nil, now: now)
                // Here guests have nothing to watch, and what they say is about that.
                case .admitted, .left, .disconnected, .message: break
                }
            } else if isEnded {
                return .wait(until: .distantFuture)
            } else if !door.performDue(now: now) {
                return .wait(until: door.deadline)
            }
        }
    }

    /// A known device was admitted from this address, so its connections go before unknown ones.
    public func isKnownAddress(_ address: IPAddress) -> Bool { door.isKnownAddress(address) }

    /// One for each admitted guest, in the order of admission. Of their streams it says nothing.
    public var figures: [ViewerFigures] { door.members.map { ViewerFigures($0) } }

    /// The admitted guests, in the order of admission.
    public var guests: [Guest] { door.guests }
}
