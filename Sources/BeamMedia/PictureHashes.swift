/// Hashes of some of a picture's rows of tiles (`ExactTiles`), one for each row: 16 rows of pixels over the whole width.
public struct PictureHashes: Hashable, Sendable {
    /// The picture's size in pixels.
    public var size: PixelSize
    /// When the screen looked like this, in µs of the host's clock, as frames and patches say it.
    public var time: UInt64
    /// It has looked like this since this time at the latest.
    public var since: UInt64
    /// The number of the first row of tiles, from the top.
    public var firstRow: Int
    public var rows: [UInt32]

    public init(size: PixelSize, time: UInt64, since: UInt64, firstRow: Int = 0, rows: [UInt32]) {
        self.size = size
        self.time = time
        self.since = since
        self.firstRow = firstRow
        self.rows = rows
    }
}

/// Hashes that have arrived at a viewer, of rows that their picture has.
public struct ReceivedHashes: Hashable, Sendable {
    public var hashes: PictureHashes
    /// As that of frames (`ReceivedFrame.session`).
    public var session: MediaTime

    public init(_ hashes: PictureHashes, session: MediaTime) {
        self.hashes = hashes
        self.session = session
    }
}
