import BeamMedia
import CBeamPixels

/// What differs between two pictures: cells whose pixels are new, and pixels that have moved.
///
/// Keep one for each stream of pictures, on one thread: what moves mostly goes on by the same steps, which are tried first.
/// After some large changes in which nothing has moved it takes what comes for a film: then no picture waits for a search,
/// and the caller looks again from time to time, when a picture is on its way (`isLookDue`, `lookAgain`).
public struct PictureDifference {
    public struct Difference: Sendable {
        /// The cells that have changed.
        public var changed: ChangedCells
        /// Pixels that were elsewhere before.
        public var move: PixelMove?
        /// The cells whose pixels are needed beside the move; without one, those that have changed.
        public var new: ChangedCells
    }

    /// How far pixels are followed, in each direction.
    private static let reach = beam_size(width: 320, height: 240)
    /// With fewer changed cells (8,192 pixels) no move is looked for: sending them takes less time.
    private static let leastCells = 512
    /// A move is worth it if it saves so much of what has changed.
    private static let leastSaved = 0.25
    /// After so many searches in a row without a move it is a film, of which each eighth large change is searched.
    private static let mostFailures = 4
    private static let changesPerLook = 8
    private static let rowsTogether = 32

    private let kernel: PixelConversion.Kernel
    private var motion = beam_motion(dx: 0, dy: 0)
    private var failures = 0
    /// Large changes of a film that weren't searched, since the last one that was.
    private var unsearched = 0

    public init() { self.init(kernel: .best) }

    package init(kernel: PixelConversion.Kernel) { self.kernel = kernel }

    /// What has changed in `damage` since `before`, both pictures (bgrx) of one size, pixel for pixel; their fourth bytes
    /// don't count.
    ///
    /// - Parameter mostPixels: larger damage is compared only if a part of it has moved (`leastSaved`).
    /// - Returns: nil if there is more, and it hasn't moved.
    public mutating func find(
        in picture: PixelBuffer, since before: PixelBuffer, damage: DamageRegion, mostPixels: Int
    ) -> Difference? {
        precondition(picture.size == before.size && picture.format == .bgrx && before.format == .bgrx)
        let rects = damage.clipped(to: PixelRect(picture.size)).rects
        guard let first = rects.first else { return nil }
        let bounds = rects.reduce(first) { $0.union($1) }
        let isLarge = damage.area > mostPixels
        guard !isLarge || !isFilm else {
            unsearched += 1
            return nil
        }
        let early = isLarge ? search(picture, before, bounds) : nil
        if isLarge, early == nil { return nil }
        let (changed, differing) = compare(picture, before, rects, bounds, movedBy: early)
        let still = Difference(changed: changed, move: nil, new: changed)
        let count = changed.count
        guard count >= Self.leastCells else { return isLarge ? nil : still }
        guard !isFilm else {
            unsearched += 1
            return still
        }
        guard let motion = early ?? search(picture, before, bounds) else { return isLarge ? nil : still }
        let moved = self.moved(
            changed, count, by: motion,
            differing: differing ?? compare(picture, before, [], bounds, movedBy: motion).differing, picture.size)
        if moved == nil {
            self.motion = beam_motion(dx: 0, dy: 0)
            failures += 1
        } else {
            failures = 0
        }
        return moved ?? (isLarge ? nil : still)
    }

    private var isFilm: Bool { failures >= Self.mostFailures }

    /// It is time to look whether what was taken for a film moves now.
    public var isLookDue: Bool { unsearched >= Self.changesPerLook }

    /// Searches two pictures, of which `find` has said what it says in a film. If much has moved, it is none any more.
    public mutating func lookAgain(
        in picture: PixelBuffer, since before: PixelBuffer, damage: DamageRegion, mostPixels: Int
    ) {
        endFilm()
        if find(in: picture, since: before, damage: damage, mostPixels: mostPixels)?.move == nil {
            failures = Self.mostFailures
        }
    }

    /// What comes next is searched again: there was a pause.
    public mutating func endFilm() { (failures, unsearched) = (0, 0) }

    private mutating func search(_ picture: PixelBuffer, _ before: PixelBuffer, _ bounds: PixelRect) -> beam_motion? {
        var found = beam_motion(dx: 0, dy: 0)
        guard
            beam_find_motion(
                picture.planes[0].constant, before.planes[0].constant, picture.size.raw, bounds.raw, Self.reach, motion,
                &found, kernel.raw) != 0
        else {
            failures += 1
            return nil
        }
        motion = found
        return found
    }

    /// Which cells of `rects` have changed; and which of all within `bounds` differ from where they were before a motion, as
    /// far as that was inside the picture. Both are compared some rows at a time: those are in the processor's caches then.
    private func compare(
        _ picture: PixelBuffer, _ before: PixelBuffer, _ rects: [PixelRect], _ bounds: PixelRect,
        movedBy motion: beam_motion?
    ) -> (changed: ChangedCells, differing: ChangedCells?) {
        var changed = ChangedCells(bounds, in: picture.size)
        var differing = motion == nil ? nil : changed
        let all = changed.bounds
        let part = motion.map { Self.movable(by: $0, in: picture.size).intersection(all) }
        for top in stride(from: all.y, to: all.maxY, by: Self.rowsTogether) {
            let band = PixelRect(
                x: all.x, y: top, width: all.width, height: min(Self.rowsTogether, all.maxY - top))
            for rect in rects {
                changed.compare(
                    picture, with: before, in: rect.intersection(band), movedBy: beam_motion(dx: 0, dy: 0),
                    kernel: kernel)
            }
            if let motion, let part {
                differing?.compare(
                    picture, with: before, in: part.intersection(band), movedBy: motion, kernel: kernel)
            }
        }
        return (changed, differing)
    }

    /// Nil: the motion explains too little.
    ///
    /// - Parameter differing: the cells that aren't as before at their places before the motion.
    private func moved(
        _ changed: ChangedCells, _ count: Int, by motion: beam_motion, differing: ChangedCells?, _ size: PixelSize
    ) -> Difference? {
        let part = Self.movable(by: motion, in: size).intersection(changed.bounds)
        guard !part.isEmpty, let differing else { return nil }
        // Elsewhere nothing can have been moved to.
        var unexplained = ChangedCells(changed.bounds, in: size)
        unexplained.mark(changed.bounds)
        unexplained = unexplained.replacing(part, by: differing)
        let target = changed.subtracting(unexplained).extent
        guard !target.isEmpty else { return nil }
        let new = changed.replacing(target, by: unexplained)
        guard Double(new.count) <= Double(count) * (1 - Self.leastSaved) else { return nil }
        let move = PixelMove(target: target, dx: Int(motion.dx), dy: Int(motion.dy))
        return move.isInside(size) ? Difference(changed: changed, move: move, new: new) : nil
    }

    /// Where pixels of the picture can have come to by that motion, in whole cells.
    private static func movable(by motion: beam_motion, in size: PixelSize) -> PixelRect {
        let (dx, dy) = (Int(motion.dx), Int(motion.dy))
        let left = (max(0, -dx) + ExactTiles.side - 1) / ExactTiles.side * ExactTiles.side
        var right = size.width - max(0, dx)
        if right < size.width { right = right / ExactTiles.side * ExactTiles.side }
        let (top, bottom) = (max(0, -dy), size.height - max(0, dy))
        return PixelRect(x: left, y: top, width: max(0, right - left), height: max(0, bottom - top))
    }
}
