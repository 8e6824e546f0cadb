import BeamClock
import BeamMedia
import BeamPixels
import BeamWire
import Synchronization

/// Sends small changes exactly, before the encoder is asked; and of a screen at rest what viewers haven't exactly.
///
/// Changes are compressed on the capture's thread, because that takes microseconds. Repairs have a thread of their own,
/// which gives way to each change.
final class PatchStage: Sendable {
    /// Larger changes are the video's.
    private static let mostPixels = 640 * 360
    /// The longest content of a change and of a repair, in bytes.
    private static let longestChange = 24 << 10
    private static let longestRepair = 12 << 10
    /// What a path's rate leaves for a change and for a repair, in seconds of it.
    private static let changeTime = 0.002
    private static let repairTime = 0.02
    /// Repairs take so many bits a second where no path bounds the rate.
    private static let repairRate = 100_000_000
    /// Time between two repairs, however many ask.
    private static let repairPause = Duration.milliseconds(20)
    /// The share of a path's rate that repairs take.
    private static let repairShare = 0.5
    /// Repairs are cut into rectangles of at most so many tiles.
    private static let repairTiles = PixelSize(width: 32, height: 4)
    /// What changes may take on average, in bits a second, and at once, in bytes: motion is the video's.
    private static let changeRate = 6_000_000
    private static let changeBurst = 96 << 10

    private let wanted: EncoderDemand
    private let submit: @Sendable (ExactPatch) -> Void
    private let changes = Mutex(Changes())
    private let repairs: Repairs
    private let thread: StageThread

    /// Used on the capture's thread.
    private struct Changes {
        var codec = PatchCodec()
        var budget = TokenBucket(capacity: PatchStage.changeBurst, bitsPerSecond: PatchStage.changeRate)
        /// Changes as large as one that was too long aren't tried for so many pictures.
        var tooLarge = (pixels: 0, pictures: 0)
    }

    init(_ wanted: EncoderDemand, submit: @escaping @Sendable (ExactPatch) -> Void) {
        self.wanted = wanted
        self.submit = submit
        let repairs = Repairs()
        self.repairs = repairs
        thread = StageThread("beam-exact") {
            var codec = PatchCodec()
            while let work = repairs.next() {
                Self.repair(work, repairs, &codec, rate: wanted.demand(layer: 0, at: .now).bitRate, submit)
                repairs.pause(Self.repairPause)
            }
        }
    }

    /// Frames of pictures of that size say what they change from now on; nil: frames don't.
    func framesSay(size: PixelSize?) { repairs.setSize(size) }

    /// Takes a picture before the encoder does. Returns whether its change was sent exactly.
    func offer(_ picture: Picture) -> Bool {
        let now = MediaTime.now
        let demand = wanted.demand(layer: 0, at: now)
        guard demand.wantsPatches, picture.format == .bgrx, repairs.take(picture) else { return false }
        let pixels = picture.damage.area
        guard pixels > 0, pixels <= Self.mostPixels else { return false }
        let limit = Self.length(Self.longestChange, for: Self.changeTime, at: demand.bitRate)
        let content: [UInt8]? = changes.withLock { changes in
            if changes.tooLarge.pictures > 0, pixels >= changes.tooLarge.pixels {
                changes.tooLarge.pictures -= 1
                return nil
            }
            let rects = PatchCodec.tileAligned(picture.damage, in: picture.size)
            guard let content = changes.codec.encode(rects, of: picture.buffer, atMost: limit) else {
                changes.tooLarge = (pixels / 2, 8)
                return nil
            }
            return changes.budget.take(content.count, now: now) == nil ? content : nil
        }
        guard let content else { return false }
        submit(
            ExactPatch(
                content: content, captureTime: picture.time, pictureSize: picture.size, isRepair: false))
        return true
    }

    /// A viewer lacks these rectangles of tiles. Nothing is known of them: they may lie anywhere.
    func repair(_ tiles: [PixelRect]) { repairs.want(tiles) }

    /// Returns when the stage's thread has ended.
    func stop() {
        repairs.close()
        thread.join()
    }

    private static func length(_ most: Int, for seconds: Double, at rate: Int?) -> Int {
        min(most, rate.map { Int(clamping: Double($0) * seconds / 8) } ?? .max)
    }

    // MARK: Repairs

    /// Compresses all that is wanted, then sends it: what is short for its size first, which is text, and photographs last.
    private static func repair(
        _ work: Repairs.Work, _ repairs: Repairs, _ codec: inout PatchCodec, rate: Int?,
        _ submit: @Sendable (ExactPatch) -> Void
    ) {
        let size = work.picture.size
        let limit = length(longestRepair, for: repairTime, at: rate)
        var made: [(content: [UInt8], perPixel: Double)] = []
        var waiting = work.tiles.flatMap { $0.pieces(repairTiles) }
        while let tiles = waiting.popLast() {
            guard repairs.isNewest(work.picture) else { return }
            let rect = ExactTiles.pixels(of: tiles, in: size)
            if let content = codec.encode([rect], of: work.picture.buffer, atMost: limit) {
                made.append((content, Double(content.count) / Double(rect.area)))
            } else {
                // A single tile that is too long is left to the video.
                waiting += tiles.halves
            }
        }
        let bits = rate.map { Double($0) * repairShare } ?? Double(repairRate)
        for piece in made.sorted(by: { $0.perPixel < $1.perPixel }) {
            guard repairs.isNewest(work.picture) else { return }
            submit(
                ExactPatch(
                    content: piece.content, captureTime: work.picture.time, pictureSize: size, isRepair: true))
            repairs.pause(.seconds(clamping: Double(piece.content.count * 8) / max(1, bits)))
        }
    }
}

extension PixelRect {
    /// Cut into pieces of at most that size.
    fileprivate func pieces(_ most: PixelSize) -> [PixelRect] {
        stride(from: y, to: maxY, by: most.height).flatMap { top in
            stride(from: x, to: maxX, by: most.width).map { left in
                PixelRect(
                    x: left, y: top, width: Swift.min(most.width, maxX - left),
                    height: Swift.min(most.height, maxY - top))
            }
        }
    }

    /// Two halves across the longer side; none of a single tile.
    fileprivate var halves: [PixelRect] {
        if width > 1, width >= height {
            let half = width / 2
            return [
                PixelRect(x: x, y: y, width: half, height: height),
                PixelRect(x: x + half, y: y, width: width - half, height: height),
            ]
        }
        guard height > 1 else { return [] }
        let half = height / 2
        return [
            PixelRect(x: x, y: y, width: width, height: half),
            PixelRect(x: x, y: y + half, width: width, height: height - half),
        ]
    }
}
