import BeamLog
import BeamMedia
import BeamWire

/// A control connection, numbered by the driver of the session.
public struct ConnectionID: Hashable, Sendable {
    public let value: UInt64
    public init(_ value: UInt64) { self.value = value }

    /// The first number of browsers' connections, which something else numbers than the others.
    public static let firstOfBrowsers: UInt64 = 1 << 62

    /// It is that of a browser's page.
    public var isBrowser: Bool { value >= Self.firstOfBrowsers && value < Self.firstOfBrowsers << 1 }
}

/// Datagrams to send in one system call.
public struct MediaBurst: Sendable {
    /// The datagrams, one after another, are `bytes[range]`. The bursts of a frame share its memory, which later frames
    /// reuse; keeping a burst forces them to allocate instead.
    public var bytes: [UInt8]
    public var range: Range<Int>
    /// The length in bytes of each datagram but the last, which may be shorter.
    public var segmentSize: Int
    public var address: NetworkAddress

    public init(bytes: [UInt8], range: Range<Int>, segmentSize: Int, address: NetworkAddress) {
        self.bytes = bytes
        self.range = range
        self.segmentSize = segmentSize
        self.address = address
    }

    public var datagramCount: Int { (range.count + segmentSize - 1) / segmentSize }
}

/// What happened in the session, for the person and the rest of the host.
public enum HostEvent: Sendable, Equatable {
    /// A version 1 viewer asks to be admitted (`Acceptance.ask`) and shows this code. Answer with `Door.Input.decision`. One
    /// question covers all its attempts with that code.
    case viewerAsks(ConnectionID, code: PairingCode, from: Visitor)
    /// A version 2 viewer asks to compare digits. Answer with `Door.Input.decision` whether the person agrees. There are no
    /// digits before that.
    case comparisonAsked(ConnectionID, from: Visitor)
    /// A browser asks to watch, without a code. Answer with `Door.Input.decision`.
    case browserAsks(ConnectionID, from: Visitor)
    /// Both screens show these digits now. Answer with `Door.Input.decision` whether they are the same.
    case digitsShown(ConnectionID, digits: PairingCode, from: Visitor)
    /// A comparison that the person had agreed to failed; `failures` have within a day. Somebody may be trying for
    /// digits that agree by chance.
    case comparisonFailed(from: Visitor, reason: String, failures: Int)
    /// In a room: another member, called `by`, has answered this question first.
    case askTaken(ConnectionID, by: String)
    /// The viewer has left or was refused: the question is void.
    case askWithdrawn(ConnectionID)
    /// A device was paired. To be stored if `isToBeRemembered`.
    case devicePaired(DeviceKey, name: String, isToBeRemembered: Bool)
    /// Unknown viewers have to type another code.
    case codeChanged(CodeChange)
    /// Browsers' persons have to type another code.
    case webCodeChanged(CodeChange)
    /// A viewer has typed the code and is paired. `isStillValid`: the code lets in others, too.
    case codeServed(to: Visitor, isStillValid: Bool)
    /// In a room: a newcomer's proof of the code has come. `Door.Input.codeVerdict` says whether it may be checked.
    case codeTried(ConnectionID)
    /// In a room: what came of it; nil: it wasn't checked.
    case codeChecked(ConnectionID, isRight: Bool?)
    /// A wrong code was typed. `pause`: how long no code is accepted from anybody.
    case wrongCode(from: Visitor, pause: Duration?)
    /// What was written in the room, here or elsewhere.
    case room(LogEvent)
    /// A viewer was admitted, or has reconnected.
    case viewerPaired(session: String, from: Visitor, isResumed: Bool)
    /// A viewer was refused; `reason` is what it was told.
    case viewerRefused(from: Visitor, reason: String)
    /// A connection was closed because of what the peer did or didn't do.
    case connectionRefused(from: IPAddress, reason: String)
    /// Refusals of the last 10 s that had no event of their own, because only the first few of a flood have one: how
    /// many, and from how many addresses (256 means at least 256).
    case connectionsRefused(count: Int, addresses: Int)
    /// Accepting has paused, because the system is out of descriptors or memory (`reason`: the system's words). At most
    /// one such event in 10 s.
    case acceptingPaused(reason: String)
    /// The listening socket was lost (`reason`: the system's words), and is opened again as soon as possible. At most
    /// one such event until `listeningAgain`.
    case listeningFailed(reason: String)
    case listeningAgain
    /// The stream to a viewer has started, or moved to a new address.
    case mediaStarted(session: String, to: NetworkAddress)
    /// The stream to a viewer has stopped, because its hellos ceased or sending failed. Its next hello restarts it.
    case mediaStopped(session: String, reason: String)
    /// A viewer's control connection was lost; its stream goes on.
    case controlLost(session: String)
    case viewerLeft(session: String, from: Visitor, reason: String)
    /// A device that was expected (`HostTrust.expected`) has come, or its last session has ended.
    case expectedGuest(DeviceKey, Presence)
    /// The number of viewers that get the stream has changed.
    case audience(Int)
    /// A viewer was moved to the reduced layer, because its path carries much less than the others', or back to the
    /// full one.
    case layerChanged(session: String, isReduced: Bool)
    /// The same, because of the size in which the viewer shows the picture, or `isForWish`, of the most that it wishes.
    case layerFitted(session: String, isReduced: Bool, isForWish: Bool)
    /// The full picture is more than the viewer takes, so that it gets a smaller one. Nil: it gets the full one again.
    case pictureLimited(session: String, PictureLimit?)
    /// The machine can't send everything to that many viewers, or can again: what it sends less of.
    case overloaded(Shedding, viewers: Int)
    /// Frames were dropped before sending, because the paths carry less than the encoder makes.
    case framesDropped(Int)
}

extension HostEvent {
    public enum Presence: Sendable, Equatable {
        case here
        /// It has said goodbye.
        case gone
        case lost
    }
}

/// What a viewer gets that doesn't take the full picture.
public struct PictureLimit: Sendable, Equatable {
    public var full: PixelSize
    /// The largest picture that it gets.
    public var sent: PixelSize
    public var bounds: PictureBounds
}

/// Totals since the session began.
public struct HostStatistics: Sendable, Equatable {
    /// Admitted viewers at present, and how many of them get the stream.
    public var viewers = 0
    public var watching = 0
    /// Frames, keyframes, datagrams and bytes sent. A frame to two viewers counts once, its datagrams and bytes twice.
    public var frames: UInt64 = 0
    public var keyframes: UInt64 = 0
    public var datagrams: UInt64 = 0
    public var bytes: UInt64 = 0
    /// Frames dropped before sending.
    public var dropped: UInt64 = 0
    /// Of the datagrams, retransmissions and parity.
    public var retransmissions: UInt64 = 0
    public var parity: UInt64 = 0
    /// Packets of sound sent, and sent again. A packet to two viewers counts twice.
    public var soundPackets: UInt64 = 0
    public var soundRetransmissions: UInt64 = 0
    /// Exact patches sent. A patch to two viewers counts twice.
    public var patches: UInt64 = 0
    /// How many of them were sent again because a viewer had requested them. For tests.
    public var patchesAgain: UInt64 = 0
    /// Datagrams with the pointer's place, and looks, sent. One to two viewers counts twice.
    public var pointers: UInt64 = 0
    /// Keyframe requests of viewers while no keyframe was in flight to them.
    public var keyframeRequests: UInt64 = 0
    /// The lowest bandwidth estimate in bits a second; nil while no path bounds the rate.
    public var pathRate: Int?
    /// What is sent less of because the machine can't send everything.
    public var sheds = Shedding.nothing
    /// Datagrams at the media port that no viewer had sealed, or that were replayed or damaged.
    public var refusedDatagrams: UInt64 = 0

    public init() {}
}

/// Figures of one viewer's stream.
public struct ViewerFigures: Sendable, Equatable {
    /// The session's ID at both ends.
    public var session: String
    /// Made safe to show (`PeerText`); nil for version 1, which has no names.
    public var name: String?
    public var address: IPAddress
    public var isEncrypted: Bool
    /// It is a browser, of whose stream the session doesn't know (`BrowserStream`).
    public var isBrowser: Bool
    /// The address of the gateway by which this browser gets the stream; nil: the host sends it.
    public var gateway: String?
    /// The viewer gets the reduced layer.
    public var isReduced = false
    /// The viewer gets the stream.
    public var isWatching = false
    /// When it was admitted.
    public var since: MediaTime
    /// Totals: frames begun, keyframes among them, frames left out for being late, datagrams and bytes sent, and
    /// datagrams sent again.
    public var frames: UInt64 = 0
    public var keyframes: UInt64 = 0
    public var skipped: UInt64 = 0
    public var datagrams: UInt64 = 0
    public var bytes: UInt64 = 0
    public var retransmissions: UInt64 = 0
    /// The share of its datagrams lost before recovery, over about a second; nil for version 1, which doesn't report.
    public var loss: Double?
    /// Smoothed; nil before the first report.
    public var roundTrip: Duration?
    /// The bandwidth estimate in bits a second; nil if it isn't less than the options' rate.
    public var pathRate: Int?
}

extension ViewerFigures {
    /// Without its stream's.
    init(_ member: Member) {
        self.init(
            session: member.session.description, name: member.peer.name, address: member.address,
            isEncrypted: !member.peer.isVersion1, isBrowser: member.peer.isBrowser, since: member.admitted)
    }
}
