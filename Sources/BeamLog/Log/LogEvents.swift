import BeamMedia
import BeamWire

/// What a room tells its program.
public enum LogEvent: Sendable, Equatable {
    /// A room was entered, or left for another one: a new transcript begins. `completeSince`: what was written before
    /// that time since the room's beginning is gone; zero: nothing is. Nil: that is told later, by `history`.
    case began(completeSince: Duration?, takesNotes: Bool)
    /// What was written before this device entered has come, as far as anybody has it. `completeSince`: something is missing
    /// of what was written before that time since the room's beginning; zero: nothing is. Comes again when that changes.
    case history(completeSince: Duration)
    /// This host's or viewer's version of the program has words of another form: none are exchanged with it.
    case otherVersion(of: String)
    /// A connection to the keeper begins: what was written before comes, in one or several events `lines`.
    case catchingUp
    /// Everything that the keeper had written when the connection began has come. `host`: the keeper's name.
    case caughtUp(host: String)
    /// Captions, notes and alerts, in the order in which they came here.
    case lines([LogLine])
    /// What an author is saying at the moment; nil: nothing any more.
    case partial(author: DeviceKey, name: String, LogPartial?)
    case message(LogIncomingMessage)
    /// `count` recipients have the message with this ID.
    case delivered(id: String, count: Int)
    case undelivered(id: String, reason: LogFailure)
    /// Something isn't written.
    case unwritten(LogContent, reason: LogFailure)
    /// This device writes more than is taken; false: not any more.
    case slowed(Bool)
}

/// An entry of the transcript.
public struct LogLine: Sendable, Hashable {
    public var author: DeviceKey
    public var name: String
    /// This device has written it.
    public var isOwn: Bool
    /// The room's keeper has written it: only its alerts are about the share.
    public var isKeepers: Bool
    /// A caption's speaker is only what the author says, and is shown with the author.
    public var isClaim = false
    public var content: LogContent
    /// Since the room began.
    public var time: Duration
    /// How long ago that was when it came.
    public var age: Duration
    /// It was in the room before this device entered it.
    public var isHistory = false
}

public struct LogPartial: Sendable, Hashable {
    public var text: String
    public var speaker: String?
    /// As in `LogLine`.
    public var isClaim = true
}

/// A message of another program.
public struct LogIncomingMessage: Sendable, Hashable {
    public var from: DeviceKey
    public var name: String
    public var id: String
    /// JSON as it was sent. It isn't validated.
    public var json: [UInt8]
    public var isForAll: Bool
}

/// Why something isn't written, or wasn't delivered.
public enum LogFailure: Error, Sendable, Hashable, CustomStringConvertible {
    case tooLong(limit: Int)
    /// A note without a visible character.
    case empty
    /// Too much waits to be sent.
    case full
    /// The host takes no notes.
    case notesOff
    /// The host speaks version 1 of the protocol.
    case notOffered
    case nobody
    case left
    /// The connection ended before the recipient had confirmed it.
    case unconfirmed
    /// It was written for another host than the one that is connected now.
    case otherHost

    public var description: String {
        switch self {
        case .tooLong(let limit): "it is longer than \(limit) bytes"
        case .empty: "it is empty"
        case .full: "too much waits to be sent"
        case .notesOff: "the host takes no notes"
        case .notOffered: "the host's version of the protocol has no notes and messages"
        case .nobody: "nobody is there to get it"
        case .left: "the recipient has left"
        case .unconfirmed: "the connection ended before it was confirmed"
        case .otherHost: "it was written for another host"
        }
    }
}
