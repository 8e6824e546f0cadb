/// Which parts of the screen have changed, and when: what a frame says of its picture to viewers that have exact tiles,
/// so that they know which of them the frame outdates.
public struct FrameChanges: Hashable, Sendable {
    public struct Change: Hashable, Sendable {
        /// On the grid of tiles (`ExactTiles`).
        public var rect: PixelRect
        /// When it changed last, in µs of the host's clock.
        public var time: UInt64

        public init(rect: PixelRect, time: UInt64) {
            self.rect = rect
            self.time = time
        }
    }

    /// The most changes that a frame names.
    public static let most = 64

    /// When the screen looked like the frame's picture, in µs of the host's clock.
    public var captureTime: UInt64
    /// What isn't in one of them has not changed since the frame before. They may overlap; the latest time counts.
    public var changes: [Change]

    public init(captureTime: UInt64, changes: [Change]) {
        self.captureTime = captureTime
        self.changes = changes
    }

    /// All of the picture has changed, or may have.
    public static func all(of size: PixelSize, at time: UInt64) -> FrameChanges {
        FrameChanges(captureTime: time, changes: [Change(rect: PixelRect(size), time: time)])
    }

    /// What has changed by both of two frames, of which `older` isn't shown.
    public func following(_ older: FrameChanges, size: PixelSize) -> FrameChanges {
        let both = older.changes + changes
        // A time earlier than the older frame's is of another clock.
        guard both.count <= Self.most, older.captureTime <= captureTime else { return .all(of: size, at: captureTime) }
        return FrameChanges(captureTime: captureTime, changes: both)
    }
}
