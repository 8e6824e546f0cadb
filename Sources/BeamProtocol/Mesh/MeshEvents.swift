import BeamMedia

/// A control connection between two members, numbered by the driver.
struct MeshLinkID: Hashable, Sendable {
    var value: UInt64
    init(_ value: UInt64) { self.value = value }
}

/// Why a link is closed, or somebody isn't let in.
enum MeshRefusal: Error, Hashable, Sendable {
    case noRoom
    case notAMember
    case otherRoom
    /// As many are here as a room takes.
    case full
    /// The room's membership has changed so often that it takes no further change.
    case tooManyChanges
    /// Who is to be put out was here before.
    case wasHereBefore
    /// The two members have another link.
    case second
    /// Nothing has come for a while.
    case silent
    case violation(String)
    /// This device leaves.
    case left
}

/// What a room of equals tells its program.
enum MeshEvent: Sendable, Equatable {
    case entered(room: String)
    /// Who belongs to the room and is here, or was.
    case people([MeshPerson])
    /// Captions, notes and alerts, in the order in which they came here.
    case lines([RoomLine])
    case partial(author: DeviceKey, name: String, RoomPartial?)
    case message(RoomIncomingMessage)
    /// `count` recipients have the message with this ID.
    case delivered(id: String, count: Int)
    case undelivered(id: String, reason: RoomFailure)
    case unwritten(RoomContent, reason: RoomFailure)
    /// This device writes more than is taken; false: not any more.
    case slowed(Bool)
    /// A member breaks the rules: a part of a sentence.
    case violated(DeviceKey, what: String)
    case putOut(by: String)
    /// More than a room takes have come together, and this device was among the last.
    case full
}

/// A member of the room, as it is shown.
struct MeshPerson: Sendable, Hashable {
    var device: DeviceKey
    var name: String
    var isHere: Bool
    var isSharing: Bool
    var isPaused: Bool
    /// The number of links to it; 0: this device. Nil: it isn't here.
    var hops: Int?
    var addresses: [NetworkAddress]
}

extension Mesh {
    enum Output: Sendable {
        case send(MeshLinkID, SecureMessage)
        /// Closes the connection once everything sent so far has left.
        case close(MeshLinkID, MeshRefusal)
        /// Connects to the member; answer with `opened` or `dialFailed`.
        case dial(DeviceKey)
        case event(MeshEvent)
    }
}
