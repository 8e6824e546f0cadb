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

/// What a patch does to a picture: first the move, then the rectangles.
public struct PatchPlan: Hashable, Sendable {
    /// What a change builds on. Ages are before the time at which the patch was captured, in µs.
    public struct Basis: Hashable, Sendable {
        /// The age of the picture before. The patch has all that has changed since then, and nothing else.
        public var previous: UInt32
        /// The age of the newest change that a viewer must have got already: of the pixels that move, and of the rest
        /// of each tile of which the patch has only a part.
        public var needed: UInt32

        public init(previous: UInt32, needed: UInt32) {
            self.previous = previous
            self.needed = needed
        }
    }

    /// They don't overlap, and the patch has their pixels.
    public var rects: [PixelRect]
    public var move: PixelMove?
    /// Nil: the patch has whole tiles only, and builds on nothing.
    public var basis: Basis?

    public init(rects: [PixelRect], move: PixelMove? = nil, basis: Basis? = nil) {
        self.rects = rects
        self.move = move
        self.basis = basis
    }
}

/// Pixels that have moved.
public struct PixelMove: Hashable, Sendable {
    /// Where they are now.
    public var target: PixelRect
    /// The pixel that is at (x, y) now was at (x + dx, y + dy).
    public var dx: Int
    public var dy: Int

    public init(target: PixelRect, dx: Int, dy: Int) {
        self.target = target
        self.dx = dx
        self.dy = dy
    }

    /// Where those pixels were that are in `rect` now.
    public func source(of rect: PixelRect) -> PixelRect {
        PixelRect(x: rect.x + dx, y: rect.y + dy, width: rect.width, height: rect.height)
    }

    /// Both places lie in a picture of that size, the target isn't empty, and something moves.
    public func isInside(_ size: PixelSize) -> Bool {
        !target.isEmpty && (dx != 0 || dy != 0) && PixelRect(size).contains(target)
            && PixelRect(size).contains(source(of: target))
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
    /// As `ExactPatch.isRepair`.
    public var isRepair: Bool

    public init(
        content: [UInt8], hostTime: UInt64, captureTime: MediaTime? = nil, arrival: MediaTime, pictureSize: PixelSize,
        session: MediaTime = .zero, isRepair: Bool = false
    ) {
        self.isRepair = isRepair
        self.session = session
        self.content = content
        self.hostTime = hostTime
        self.captureTime = captureTime
        self.arrival = arrival
        self.pictureSize = pictureSize
    }
}
