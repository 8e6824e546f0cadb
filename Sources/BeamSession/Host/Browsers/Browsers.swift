import BeamMedia
import BeamWire

/// What a browser says of itself when its person wants to watch.
public struct BrowserHello: Sendable, Hashable {
    /// What the person has typed; nil: the person at the host is to be asked.
    public var code: PairingCode?
    /// What kind of browser it is, such as “Chrome on Android”: made safe to show.
    public var kind: String

    public init(code: PairingCode?, kind: String) {
        self.code = code
        self.kind = kind
    }
}

/// What a door says to a browser. Everything is about the connection of its page.
public enum BrowserVerdict: Sendable, Hashable {
    /// The person at the host is being asked.
    case asking
    /// That isn't the code: the page may try again, after `pause` if there is one.
    case wrongCode(pause: Duration?)
    /// It may watch. `session` is its ID at the host.
    case admitted(session: String)
    /// Its connection is to be closed without a word.
    case closed
    /// It may not, or not any more; the connection ends once the page knows it. `reason`: a sentence without a full stop.
    case refused(BrowserRefusal, reason: String)
}

/// Why a browser may not watch.
public enum BrowserRefusal: String, Sendable, Hashable {
    /// The person said no.
    case declined
    /// Nobody has answered.
    case unanswered
    /// Nobody new is let in, or neither by a code nor by a question.
    case closed
    /// There are too many viewers, questions or connections: it may come again.
    case busy
    /// One address has as many browsers as it may have.
    case manyHere
    /// A browser of its address was sent away for now: it may come again in a minute.
    case away
    /// It was sent away.
    case sentAway
    /// The host ends.
    case ended
    /// It sent what the page doesn't send.
    case violation
}
