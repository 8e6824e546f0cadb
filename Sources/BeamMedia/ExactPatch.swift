/// Exact pixels of some rectangles of the screen, on their way to viewers, beside the video.
///
/// What `content` is says `PatchCodec`; the sessions pass it on.
public struct ExactPatch: Sendable, Equatable {
    public var content: [UInt8]
    /// When the screen looked like this, on this machine's clock.
    public var captureTime: MediaTime
    public var pictureSize: PixelSize
    /// For those who asked for it, of a screen at rest; else a change, for all.
    public var isRepair: Bool

    public init(content: [UInt8], captureTime: MediaTime, pictureSize: PixelSize, isRepair: Bool) {
        self.content = content
        self.captureTime = captureTime
        self.pictureSize = pictureSize
        self.isRepair = isRepair
    }
}

/// A patch that has arrived at a viewer, complete. Its content comes from a peer: `PatchCodec` checks it.
public struct ReceivedPatch: Sendable, Equatable {
    public var content: [UInt8]
    /// When the host's screen looked like this, in µs of its clock, as frames say it (`FrameChanges`).
    public var hostTime: UInt64
    /// The same on this machine's clock; nil until the host's clock is known.
    public var captureTime: MediaTime?
    /// When its last datagram arrived, on this machine's clock.
    public var arrival: MediaTime
    public var pictureSize: PixelSize
    /// As that of frames (`ReceivedFrame.session`).
    public var session: MediaTime

    public init(
        content: [UInt8], hostTime: UInt64, captureTime: MediaTime? = nil, arrival: MediaTime, pictureSize: PixelSize,
        session: MediaTime = .zero
    ) {
        self.session = session
        self.content = content
        self.hostTime = hostTime
        self.captureTime = captureTime
        self.arrival = arrival
        self.pictureSize = pictureSize
    }
}
