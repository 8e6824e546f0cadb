import BeamMedia

/// A control connection, numbered by whoever drives the session.
public struct ConnectionID: Hashable, Sendable {
    public let value: UInt64
    public init(_ value: UInt64) { self.value = value }
}

/// Datagrams that leave in one go.
public struct MediaBurst: Sendable {
    /// The datagrams one after the other are `bytes[range]`. The frame's bytes are shared by its bursts, not copied, and
    /// their memory serves another frame later: a burst that is kept makes that one take memory of its own.
    public var bytes: [UInt8]
    public var range: Range<Int>
    /// Each datagram but the burst's last is exactly this long (in bytes), the last at most.
    public var segmentSize: Int
    public var address: NetworkAddress

    public init(bytes: [UInt8], range: Range<Int>, segmentSize: Int, address: NetworkAddress) {
        self.bytes = bytes
        self.range = range
        self.segmentSize = segmentSize
        self.address = address
    }

    /// How many datagrams those are.
    public var datagramCount: Int { (range.count + segmentSize - 1) / segmentSize }
}

/// Who is at the door.
public struct Visitor: Sendable, Hashable, CustomStringConvertible {
    public var address: IPAddress
    /// The name that a known device is remembered by, or what an unknown one calls itself, fit to be shown (`PeerText`); nil for
    /// version 1, which has no names. Nobody vouches for an unknown device's name.
    public var name: String?
    public var isEncrypted: Bool { name != nil }
    /// What a known device calls itself now, where that isn't the name that it is remembered by.
    public var newName: String?
    /// Another device that is remembered has this name.
    public var isNamesake: Bool

    /// `name` and `newName` as the device gives them: they are made fit to be shown here.
    public init(address: IPAddress, name: String?, newName: String? = nil, isNamesake: Bool = false) {
        self.address = address
        self.name = name.map { PeerText.name($0) }
        self.newName = newName.map { PeerText.name($0) }
        self.isNamesake = isNamesake
    }

    /// `“desk” (192.0.2.7)`, or the address alone.
    public var description: String { name.map { "“\($0)” (\(address))" } ?? "\(address)" }
}

/// What a person, or the rest of the host, wants to know.
public enum HostEvent: Sendable, Equatable {
    /// A version 1 viewer asks to be let in (`Acceptance.ask`), and shows this code: answer with `Input.decision`. One question
    /// covers all of its attempts with that code.
    case viewerAsks(ConnectionID, code: PairingCode, from: Visitor)
    /// A version 2 viewer asks to be let in by comparing digits: answer with `Input.decision` whether the person agrees to that.
    /// There are no digits before.
    case comparisonAsked(ConnectionID, from: Visitor)
    /// The person has agreed, and both screens show these digits now: answer with `Input.decision` whether they are the same.
    case digitsShown(ConnectionID, digits: PairingCode, from: Visitor)
    /// A comparison that the person had agreed to came to nothing; `failures` have within a day. Somebody may be trying for digits
    /// that agree by chance.
    case comparisonFailed(from: Visitor, reason: String, failures: Int)
    /// Who asked has gone, or has been refused: the question is void.
    case askWithdrawn(ConnectionID)
    /// A device has proved who it is, and is let in from now on: to be stored if it `isToBeRemembered`.
    case devicePaired(DeviceKey, name: String, isToBeRemembered: Bool)
    /// The code has served, and is good no more; a viewer that isn't known types this one. Nil: none, until another is given.
    case codeChanged(PairingCode?)
    /// Somebody typed a wrong code. `pause`: nobody's code is looked at for so long.
    case wrongCode(from: Visitor, pause: Duration?)
    /// A viewer is let in, or back.
    case viewerPaired(session: String, from: Visitor, isResumed: Bool)
    /// A viewer was refused (`reason` is what it was told).
    case viewerRefused(from: Visitor, reason: String)
    /// A connection was closed for what it did or didn't do; nothing of it is used.
    case connectionRefused(from: IPAddress, reason: String)
    /// So many more connections and viewers were refused in the last 10 s, from so many addresses (256 stands for more, too), than
    /// had an event of their own: only the first few of a flood have.
    case connectionsRefused(count: Int, addresses: Int)
    /// No connection can be accepted for a moment: the system has no descriptors or memory left (`reason`: its words). Told every 10 s at
    /// most.
    case acceptingPaused(reason: String)
    /// A paired viewer's first hello, or the first from a new address: the stream goes there.
    case mediaStarted(session: String, to: NetworkAddress)
    /// It has been silent for too long, or sending failed; its next hello starts it again.
    case mediaStopped(session: String, reason: String)
    /// The control connection is gone; the stream goes on.
    case controlLost(session: String)
    case viewerLeft(session: String, from: Visitor, reason: String)
    /// The number of addresses that the stream goes to has changed.
    case audience(Int)
    /// A viewer's path carries so much less than the others' that it gets a stream of its own from here on; or it does no longer.
    case layerChanged(session: String, isReduced: Bool)
    /// Frames were thrown away before sending, because the network takes less than the encoder makes.
    case framesDropped(Int)
}

/// Totals since the session began.
public struct HostStatistics: Sendable, Equatable {
    /// Paired viewers at present, and those of them that the stream goes to.
    public var viewers = 0
    public var watching = 0
    /// Frames, keyframes, datagrams and bytes sent (a datagram to two viewers counts twice, a frame once).
    public var frames: UInt64 = 0
    public var keyframes: UInt64 = 0
    public var datagrams: UInt64 = 0
    public var bytes: UInt64 = 0
    /// Frames thrown away before sending.
    public var dropped: UInt64 = 0
    /// Of the datagrams, those that were sent once more because a viewer had asked, and those of parity.
    public var retransmissions: UInt64 = 0
    public var parity: UInt64 = 0
    /// How often a viewer has asked for a keyframe that wasn't on its way.
    public var keyframeRequests: UInt64 = 0
    /// The slowest viewer's path, in bits a second, where the paths and not the options bound the rate.
    public var pathRate: Int?
    /// Datagrams that came to the media port and were no viewer's: forged, damaged, repeated, or astray.
    public var refusedDatagrams: UInt64 = 0

    public init() {}
}

/// One viewer's stream.
public struct ViewerFigures: Sendable, Equatable {
    /// What both sides call the session.
    public var session: String
    /// Fit to be shown (`PeerText`); nil for version 1, which has no names.
    public var name: String?
    public var address: IPAddress
    public var isEncrypted: Bool
    /// It gets the reduced layer.
    public var isReduced: Bool
    /// The stream goes to it.
    public var isWatching: Bool
    /// Since when it has been here.
    public var since: MediaTime
    /// Totals: frames begun, keyframes among them, frames left out because they were late, datagrams and bytes sent, and those of the
    /// datagrams that were sent again.
    public var frames: UInt64
    public var keyframes: UInt64
    public var skipped: UInt64
    public var datagrams: UInt64
    public var bytes: UInt64
    public var retransmissions: UInt64
    /// Of its datagrams, the share that is lost before recovery, about the last second; nil for version 1, which doesn't tell.
    public var loss: Double?
    /// Smoothed; nil before the first report.
    public var roundTrip: Duration?
    /// What its path carries, in bits a second, where that is less than the options ask for.
    public var pathRate: Int?

    init(_ member: Member, _ sender: Sender) {
        session = member.session.description
        name = member.peer.name
        address = member.address
        isEncrypted = member.peer.isSecure
        isReduced = sender.layer == SimulcastLayer.reduced
        isWatching = sender.destination.isSet
        since = member.admitted
        frames = sender.totals.frames
        keyframes = sender.totals.keyframes
        skipped = sender.totals.skipped
        datagrams = sender.totals.datagrams
        bytes = sender.totals.bytes
        retransmissions = sender.totals.retransmissions
        loss = sender.delivery?.path.loss
        roundTrip = sender.delivery?.path.roundTrip
        pathRate = sender.delivery.flatMap { $0.path.isBound ? $0.path.rate : nil }
    }
}
