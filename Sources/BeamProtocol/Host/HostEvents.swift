import BeamMedia

/// A control connection, numbered by whoever drives the session.
public struct ConnectionID: Hashable, Sendable {
    public let value: UInt64
    public init(_ value: UInt64) { self.value = value }
}

/// Datagrams that leave in one go, the same to each address.
public struct MediaBurst: Sendable {
    /// The datagrams one after the other are `bytes[range]`. The frame's bytes are shared by its bursts, not copied.
    public var bytes: [UInt8]
    public var range: Range<Int>
    /// Each datagram but the burst's last is exactly this long (in bytes), the last at most.
    public var segmentSize: Int
    public var addresses: [NetworkAddress]

    public init(bytes: [UInt8], range: Range<Int>, segmentSize: Int, addresses: [NetworkAddress]) {
        self.bytes = bytes
        self.range = range
        self.segmentSize = segmentSize
        self.addresses = addresses
    }

    /// Datagrams to each address.
    public var datagramCount: Int { (range.count + segmentSize - 1) / segmentSize }
}

/// What a person, or the rest of the host, wants to know.
public enum HostEvent: Sendable, Equatable {
    /// A viewer asks to be let in (`Acceptance.ask`): show the code, and answer with `Input.decision`. One question
    /// covers all of the viewer's attempts with that code.
    case viewerAsks(ConnectionID, code: String, from: IPAddress)
    /// It has gone and not come back: the question is void.
    case askWithdrawn(ConnectionID)
    case viewerPaired(session: String, from: IPAddress, isResumed: Bool)
    /// A viewer was refused (`reason` is what it was told).
    case viewerRefused(from: IPAddress, reason: String)
    /// A connection was closed for what it did or didn't do; nothing of it is used.
    case connectionRefused(from: IPAddress, reason: String)
    /// A paired viewer's first hello, or the first from a new address: the stream goes there.
    case mediaStarted(session: String, to: NetworkAddress)
    /// It has been silent for too long, or sending failed; its next hello starts it again.
    case mediaStopped(session: String, reason: String)
    /// The control connection is gone; the stream goes on.
    case controlLost(session: String)
    case viewerLeft(session: String, from: IPAddress, reason: String)
    /// The number of addresses that the stream goes to has changed.
    case audience(Int)
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

    public init() {}
}
