import BeamMedia
import BeamWire

/// The tiles that aren't exact here, or at those to whom the picture is passed on: all that is asked for in a short
/// time becomes one request to the host. A pure value.
struct ExactRequest: Sendable {
    /// Hosts ignore what comes within 50 ms after a request; the rest is for jitter.
    private static let interval = Duration.milliseconds(60)
    /// A tile that was asked for isn't asked for again within this time: the answer is under way, also for somebody
    /// who asks only now. A viewer repeats its own request later than that.
    private static let answerTime = Duration.milliseconds(100)
    /// More rectangles than this are joined.
    private static let most = 8 * Feedback.mostInexact
    /// If the rectangles together are larger than this many pictures, the whole picture is asked for: to look at each
    /// of their tiles would keep this machine busy.
    private static let mostPictures = 4

    /// Rectangles of tiles inside the picture.
    private var wanted: [PixelRect] = []
    /// The picture's tiles.
    private var grid = PixelRect(x: 0, y: 0, width: 0, height: 0)
    /// The last request.
    private var sent: MediaTime?
    private var asked: [PixelRect] = []

    /// Somebody lacks these rectangles of tiles of a picture of that size. Nothing is known of them: they may lie
    /// anywhere.
    mutating func add(_ tiles: [PixelRect], of size: PixelSize, now: MediaTime) {
        let grid = ExactTiles.grid(size)
        if grid != self.grid {
            self.grid = grid
            removeAll()
        }
        if let sent, now - sent >= Self.answerTime { asked.removeAll() }
        for tiles in tiles {
            let inside = tiles.intersection(grid)
            let isNews = !wanted.contains { $0.contains(inside) } && !asked.contains { $0.contains(inside) }
            if !inside.isEmpty, isNews { wanted.append(inside) }
        }
        if wanted.count > Self.most { join() }
    }

    /// When to ask; nil: nothing is lacking.
    func deadline(now: MediaTime) -> MediaTime? {
        guard !wanted.isEmpty else { return nil }
        return sent.map { max(now, $0 + Self.interval) } ?? now
    }

    /// The tiles to ask for now, as many as one request holds; none if it isn't time yet.
    mutating func take(now: MediaTime) -> [TileRect] {
        guard let deadline = deadline(now: now), deadline <= now else { return [] }
        if wanted.count > Feedback.mostInexact { join() }
        (sent, asked, wanted) = (now, wanted, [])
        return asked.map {
            TileRect(
                x: UInt16(clamping: $0.x), y: UInt16(clamping: $0.y), width: UInt16(clamping: $0.width),
                height: UInt16(clamping: $0.height))
        }
    }

    /// What was asked of an earlier session is of no use in the next one.
    mutating func removeAll() { (wanted, asked) = ([], []) }

    private mutating func join() {
        guard wanted.reduce(0, { $0 + $1.area }) <= Self.mostPictures * grid.area else { return wanted = [grid] }
        wanted = ExactTiles.joined(wanted, in: grid, most: Feedback.mostInexact)
    }
}
