import BeamMedia
import BeamWire

/// A control connection between two members, numbered by the driver.
public struct MeshLinkID: Hashable, Sendable {
    public let value: UInt64
    public init(_ value: UInt64) { self.value = value }
}

/// Why a link is closed, or somebody isn't let in.
public enum MeshRefusal: Error, Hashable, Sendable {
    case noRoom
    case notAMember
    case otherRoom
    /// The peer's version can't meet this one in a room.
    case otherVersion
    /// As many are here as a room takes.
    case full
    /// The room's membership has changed so often that it takes no further change.
    case tooManyChanges
    /// The member that is to be put out was here before.
    case wasHereBefore
    /// The two members have another link.
    case second
    /// The peer's links are refused for a while; it was told so.
    case paused(MeshPause.Reason)
    /// Nothing has come for a while.
    case silent
    case violation(String)
    /// This device leaves.
    case left
}

/// What a room of equals tells its program.
public enum MeshEvent: Sendable, Equatable {
    case entered(room: String)
    /// Who belongs to the room and is here, or was.
    case people([MeshPerson])
    /// About the log that all write. Its `began` comes before `entered`.
    case log(LogEvent)
    /// The code for newcomers, the same at all members, or what is counted of wrong tries.
    case code(MeshCodeState)
    /// The member has told different members different things; they have its signatures. Nothing more of that run of its
    /// program is taken.
    case forked(DeviceKey, name: String)
    /// A member's version of the program can't meet this one in a room.
    case otherVersion(DeviceKey)
    /// A member breaks the rules: a part of a sentence.
    case violated(DeviceKey, what: String)
    case putOut(by: String)
    /// That member refuses this device's links for a while.
    case refused(by: DeviceKey, MeshPause)
    /// Somebody was put out, who belonged to the room by the last `people`; comes before the next ones. `name`: of the
    /// member that has done it.
    case memberPutOut(DeviceKey, by: DeviceKey, name: String)
    /// More than a room takes have come together, and this device was among the last.
    case full
    /// What was kept of the room says that this device doesn't belong to it (any more).
    case notResumed
}

/// What a member keeps of its room, to come back after its program has ended.
public struct KeptRoom: Sendable, Hashable {
    public var id: [UInt8]
    public var name: String
    /// Who belongs to it, as it was signed.
    public var statements: [[UInt8]]
    /// Since the room began.
    public var age: Duration
    /// Where the other members were last.
    public var addresses: [DeviceKey: [NetworkAddress]]

    public init(
        id: [UInt8], name: String, statements: [[UInt8]], age: Duration, addresses: [DeviceKey: [NetworkAddress]] = [:]
    ) {
        self.id = id
        self.name = name
        self.statements = statements
        self.age = age
        self.addresses = addresses
    }
}

/// A member of the room, as it is shown.
public struct MeshPerson: Sendable, Hashable {
    public var device: DeviceKey
    public var name: String
    public var isHere: Bool
    public var isSharing: Bool
    public var isPaused: Bool
    /// The number of links to it; 0: this device. Nil: it isn't here.
    public var hops: Int?
    public var addresses: [NetworkAddress]
}

extension Mesh {
    package enum Output: Sendable {
        case send(MeshLinkID, SecureMessage)
        /// Closes the connection once everything sent so far has left.
        case close(MeshLinkID, MeshRefusal)
        /// The link, which wasn't read for a while, is read again.
        case resume(MeshLinkID)
        /// Connects to the member; answer with `opened` or `dialFailed`.
        case dial(DeviceKey)
        /// A member that is here has sent a part of a dialog about pictures.
        case carried(MeshLinkID, MeshMessage)
        /// The door may check that newcomer's proof, or has to send it away for so long.
        case codeVerdict(UInt64, pause: Duration?)
        case question(MeshQuestion)
        case event(MeshEvent)
    }
}
