import BeamClock
import BeamMedia
import BeamPixels
import BeamWire
import Synchronization

/// Sends small changes exactly, before the encoder is asked; and of a screen at rest what viewers haven't exactly.
///
/// Changes are compressed on the capture's thread, because that takes microseconds (`ChangePatches`). Repairs have a thread
/// of their own, and leave out what has changed meanwhile; it also makes the hashes by which viewers compare what they show.
final class PatchStage: Sendable {
    /// The longest content of a repair, in bytes.
    private static let longestRepair = 12 << 10
    /// What a path's rate leaves for a repair, in seconds of it.
    private static let repairTime = 0.02
    /// Repairs take so many bits a second where no path bounds the rate.
    private static let repairRate = 100_000_000
    /// Time between two repairs, however many ask.
    private static let repairPause = Duration.milliseconds(20)
    /// A repair is sent for so long at most while something else is wanted.
    private static let sendingTime = Duration.seconds(1)
    /// The share of a path's rate that repairs take.
    private static let repairShare = 0.5
    /// Repairs are cut into rectangles of at most so many tiles.
    private static let repairTiles = PixelSize(width: 32, height: 4)

    private let wanted: EncoderDemand
    private let wakeEncoder: @Sendable () -> Void
    private let submit: @Sendable (ExactPatch) -> Void
    private let changes: ChangePatches
    private let repairs: Repairs
    private let thread: StageThread
    private let lacked = Atomic(false)

    init(
        _ wanted: EncoderDemand, wakeEncoder: @escaping @Sendable () -> Void,
        submit: @escaping @Sendable (ExactPatch) -> Void, tell: @escaping @Sendable (PictureHashes) -> Void
    ) {
        self.wanted = wanted
        self.wakeEncoder = wakeEncoder
        self.submit = submit
        let repairs = Repairs()
        let changes = ChangePatches()
        self.repairs = repairs
        self.changes = changes
        thread = StageThread("beam-exact") {
            var codec = PatchCodec()
            while let work = repairs.next() {
                switch work.job {
                case .repair(let tiles):
                    let rate = wanted.demand(layer: 0, at: .now).bitRate
                    Self.repair(tiles, of: work.picture, repairs, &codec, rate: rate) { patch, tiles in
                        submit(patch)
                        changes.repaired(tiles, of: patch.pictureSize, at: patch.captureTime)
                    }
                    repairs.pause(Self.repairPause)
                case .hash(let since):
                    guard let hashes = Self.hashes(of: work.picture, since: since, repairs) else { break }
                    repairs.keep(hashes, of: work.picture.time)
                    tell(hashes)
                case .tell(let hashes): tell(hashes)
                }
            }
        }
    }

    /// Frames of pictures of that size say what they change from now on; nil: frames don't.
    func framesSay(size: PixelSize?) { repairs.setSize(size) }

    /// Some viewer has lacked something since the last frame, and sees it by the next one, if not before.
    var isLacked: Bool { lacked.load(ordering: .relaxed) }

    /// A frame was made.
    func frameMade() { lacked.store(false, ordering: .relaxed) }

    /// Takes a picture before the encoder does, and sends its change if that is small or has moved. Returns the picture; its
    /// damage is what has really changed, and `isSentExactly` says whether that was sent.
    func offer(_ picture: Picture) -> Picture {
        let now = MediaTime.now
        let demand = wanted.demand(layer: 0, at: now)
        guard picture.format == .bgrx else { return picture }
        guard repairs.take(picture), demand.wantsPatches else {
            changes.skip(picture)
            return picture
        }
        var (picture, content) = changes.take(picture, rate: demand.bitRate, now: now)
        if picture.damage.isEmpty { repairs.looksAsBefore(picture.time) }
        guard let content else { return picture }
        picture.isSentExactly = true
        if !content.isEmpty {
            submit(
                ExactPatch(content: content, captureTime: picture.time, pictureSize: picture.size, isRepair: false))
        }
        return picture
    }

    /// The picture that was offered is on its way to the encoder: does what the next ones need.
    func prepare() { changes.prepare() }

    /// A viewer lacks rectangles of tiles, of which nothing is known: they may lie anywhere. Or it wants hashes.
    func answer(_ wish: RepairWish.Wish) {
        switch wish {
        case .tiles(let tiles):
            // Once for each frame: the next one may be far.
            if !lacked.exchange(true, ordering: .relaxed) { wakeEncoder() }
            changes.lacking(tiles)
            repairs.want(tiles)
        case .hashes: repairs.wantHashes(now: .now)
        }
    }

    /// Returns when the stage's thread has ended.
    func stop() {
        repairs.close()
        thread.join()
    }

    // MARK: Repairs

    /// Compresses all that is wanted, then sends it: what is short for its size first, which is text, and photographs last.
    private static func repair(
        _ tiles: [PixelRect], of picture: Picture, _ repairs: Repairs, _ codec: inout PatchCodec, rate: Int?,
        _ submit: (ExactPatch, _ tiles: PixelRect) -> Void
    ) {
        let size = picture.size
        let limit = min(longestRepair, rate.map { Int(clamping: Double($0) * repairTime / 8) } ?? .max)
        var made: [(tiles: PixelRect, content: [UInt8], perPixel: Double)] = []
        var waiting = tiles.flatMap { $0.pieces(repairTiles) }
        while let tiles = waiting.popLast() {
            let rect = ExactTiles.pixels(of: tiles, in: size)
            guard repairs.isUnchanged(rect) else { continue }
            if let content = codec.encode([rect], of: picture.buffer, atMost: limit) {
                made.append((tiles, content, Double(content.count) / Double(rect.area)))
            } else {
                // A single tile that is too long is left to the video.
                waiting += tiles.halves
            }
        }
        let bits = rate.map { Double($0) * repairShare } ?? Double(repairRate)
        let end = MediaTime.now + sendingTime
        for piece in made.sorted(by: { $0.perPixel < $1.perPixel }) {
            guard repairs.isUnchanged(ExactTiles.pixels(of: piece.tiles, in: size)) else { continue }
            // The rest is asked for again.
            if MediaTime.now > end, repairs.isAwaited { return }
            submit(
                ExactPatch(
                    content: piece.content, captureTime: picture.time, pictureSize: size, isRepair: true),
                piece.tiles)
            repairs.pause(.seconds(clamping: Double(piece.content.count * 8) / max(1, bits)))
        }
    }

    // MARK: Hashes

    /// Nil: the screen has changed meanwhile.
    private static func hashes(of picture: Picture, since: MediaTime, _ repairs: Repairs) -> PictureHashes? {
        var hashes = PictureHashes(
            size: picture.size, time: picture.time.microseconds, since: since.microseconds, rows: [])
        for row in 0..<ExactTiles.down(picture.size) {
            guard repairs.isNewest(picture) else { return nil }
            hashes.rows.append(TileRowHash.of(row: row, in: picture.buffer))
        }
        return hashes
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
