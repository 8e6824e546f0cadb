import BeamMedia
import BeamPixels
import BeamWire
import Synchronization

/// Makes patches of small changes, and of what has moved. Used by the capture's thread; what others tell it waits for the
/// next picture.
final class ChangePatches: Sendable {
    /// The most pixels of a change without a move. Larger ones go by video, unless a quarter or more has moved.
    private static let mostPixels = 640 * 360
    /// The longest content of a change, and of one with a move, in bytes.
    private static let longestChange = 48 << 10
    private static let longestMove = 96 << 10
    /// The longest content in bytes if what moves has to be sent whole, because viewers may not have it exactly, and the
    /// least time between two such changes. After one of them it can be moved.
    private static let longestWhole = 224 << 10
    private static let wholePause = Duration.seconds(1)
    /// What a path's rate leaves for a change, in seconds of it.
    private static let changeTime = 0.002
    /// What changes may take on average, in bits a second, and at once, in bytes: motion is the video's.
    private static let changeRate = 6_000_000
    private static let changeBurst = 128 << 10
    /// The same for changes with a move, where no path bounds the rate: the video would mostly take more.
    private static let moveRate = 40_000_000
    private static let moveBurst = 256 << 10
    /// After a change that was too long, so many changes of half its pixels or more aren't tried.
    private static let pausePictures = 8
    /// The most rectangles of tiles that are noted between two pictures. A viewer that lacks more asks again.
    private static let mostLacking = 1024

    private struct Changes {
        var planner = ChangePlanner()
        var codec = PatchCodec()
        var budget = TokenBucket(capacity: changeBurst, bitsPerSecond: changeRate)
        var moveBudget = TokenBucket(capacity: moveBurst, bitsPerSecond: moveRate)
        var tooLarge = (pixels: 0, pictures: 0)
        var wholeSentAt: MediaTime?
    }

    /// What others have told since the last picture.
    private struct News {
        var lacking: [PixelRect] = []
        var repaired: [(tiles: PixelRect, size: PixelSize, time: MediaTime)] = []
    }

    /// Locked by the capture's thread only.
    private let changes = Mutex(Changes())
    private let news = Mutex(News())

    /// A viewer lacks these rectangles of tiles. Nothing is known of them: they may lie anywhere.
    func lacking(_ tiles: [PixelRect]) {
        news.withLock { news in
            if news.lacking.count + tiles.count <= Self.mostLacking { news.lacking += tiles }
        }
    }

    /// These tiles of the picture that was captured at `time` were sent whole.
    func repaired(_ tiles: PixelRect, of size: PixelSize, at time: MediaTime) {
        news.withLock { news in
            if news.repaired.count < Self.mostLacking { news.repaired.append((tiles, size, time)) }
        }
    }

    /// Nobody takes patches of this picture, but may of the next one.
    func skip(_ picture: Picture) { changes.withLock { $0.planner.skip(picture) } }

    /// Takes the next picture, and returns it with what has really changed as its damage, and what to send of it: nil if
    /// the change is the video's, empty if there is none.
    ///
    /// - Parameter rate: what paths carry, in bits a second; nil: they bound nothing.
    func take(_ picture: Picture, rate: Int?, now: MediaTime) -> (picture: Picture, content: [UInt8]?) {
        let news = self.news.withLock { news in
            defer { news = News() }
            return news
        }
        return changes.withLock { changes in
            for repair in news.repaired { changes.planner.repaired(repair.tiles, of: repair.size, at: repair.time) }
            changes.planner.lacking(news.lacking)
            guard let change = changes.planner.plan(picture, mostPixels: Self.mostPixels) else { return (picture, nil) }
            var picture = picture
            picture.damage = change.damage
            // If the encoder skips this picture, the next one still says when these parts have changed.
            let time = picture.time.microseconds
            picture.changes = FrameChanges(
                captureTime: time, changes: change.parts.map { FrameChanges.Change(rect: $0, time: time) })
            // What was drawn looks as before.
            guard !change.damage.isEmpty else { return (picture, []) }
            return (picture, Self.content(of: change, picture, &changes, rate: rate, now: now))
        }
    }

    /// The last picture is on its way: does what the next ones need.
    func prepare() { changes.withLock { $0.planner.prepare() } }

    private static func content(
        of change: ChangePlanner.Change, _ picture: Picture, _ changes: inout Changes, rate: Int?, now: MediaTime
    ) -> [UInt8]? {
        let moves = change.plan.move != nil && rate == nil
        let pixels = change.plan.rects.reduce(0) { $0 + $1.area }
        let isWhole =
            moves && change.hasUnsent && changes.wholeSentAt.map { now - $0 >= wholePause } ?? true
        if isWhole { changes.wholeSentAt = now }
        guard isWhole || pixels <= mostPixels else { return nil }
        if !moves, changes.tooLarge.pictures > 0, pixels >= changes.tooLarge.pixels {
            changes.tooLarge.pictures -= 1
            return nil
        }
        let most = isWhole ? longestWhole : moves ? longestMove : longestChange
        let limit = min(most, rate.map { Int(clamping: Double($0) * changeTime / 8) } ?? .max)
        guard let content = changes.codec.encode(change.plan, of: picture.buffer, atMost: limit) else {
            if !moves { changes.tooLarge = (pixels / 2, pausePictures) }
            return nil
        }
        let isPaid =
            moves
            ? changes.moveBudget.take(content.count, now: now) == nil
            : changes.budget.take(content.count, now: now) == nil
        guard isPaid else { return nil }
        changes.planner.sent(change)
        return content
    }
}
