import BeamMedia
import CX264

/// For each macroblock (16 × 16 pixels, in raster order) of the coded picture: whether it has changed, for libx264, and
/// its quality as a quantiser.
///
/// A macroblock's quality is the quantiser of the frame in which it was coded last, or of a later frame with a lower
/// quantiser that analysed it and found nothing to improve.
final class MacroblockMap {
    let count: Int
    /// libx264's flags, one byte for each macroblock.
    let info: UnsafeMutablePointer<UInt8>
    private let quality: UnsafeMutablePointer<UInt8>
    private let columns: Int
    private let rows: Int

    private static let constant = UInt8(X264_MBINFO_CONSTANT)
    private static let side = 16

    init(_ size: PixelSize) {
        columns = (size.width + Self.side - 1) / Self.side
        rows = (size.height + Self.side - 1) / Self.side
        count = columns * rows
        info = .allocate(capacity: count)
        quality = .allocate(capacity: count)
        info.initialize(repeating: 0, count: count)
        quality.initialize(repeating: UInt8(QuantiserControl.worst), count: count)
    }

    deinit {
        info.deallocate()
        quality.deallocate()
    }

    /// Marks the macroblocks that `damage` (in pixels) touches as changed, all others as constant. Returns the number
    /// of changed ones.
    func markDamaged(_ damage: DamageRegion) -> Int {
        info.update(repeating: Self.constant, count: count)
        var changed = 0
        let bounds = PixelRect(x: 0, y: 0, width: columns * Self.side, height: rows * Self.side)
        for rect in damage.clipped(to: bounds).rects {
            let across = rect.x / Self.side..<(rect.maxX + Self.side - 1) / Self.side
            let down = rect.y / Self.side..<(rect.maxY + Self.side - 1) / Self.side
            for row in down {
                let first = info + row * columns + across.lowerBound
                // Count each once: rectangles may overlap.
                for place in 0..<across.count { changed += Int(first[place] & Self.constant) }
                first.update(repeating: 0, count: across.count)
            }
        }
        return changed
    }

    /// Marks the macroblocks coarser than `quantiser` as changed, all others as constant.
    func markCoarser(than quantiser: Int) {
        let quantiser = UInt8(quantiser)
        for place in 0..<count { info[place] = quality[place] > quantiser ? 0 : Self.constant }
    }

    /// Marks the macroblocks coarser than `quantiser` as changed if coding `residual` takes at most `bound` bits; else
    /// only a part that does: the coarsest ones, from the top. All others are constant. Returns the bits of the marked
    /// ones.
    func markCoarser(than quantiser: Int, within bound: Double, _ residual: Residual) -> Double {
        markCoarser(than: quantiser)
        let all = bits(toImprove: residual, to: quantiser, within: bound)
        guard all > bound else { return all }
        let coarsest = UInt8(self.coarsest)
        var used = 0.0
        var isFull = false
        for place in 0..<count where info[place] & Self.constant == 0 {
            if quality[place] == coarsest, !isFull {
                let bits = residual.bits(place, at: quantiser)
                isFull = used > 0 && used + bits > bound
                if !isFull {
                    used += bits
                    continue
                }
            }
            info[place] = Self.constant
        }
        return used
    }

    /// The bits to code `residual` of all macroblocks coarser than `quantiser`. Stops counting beyond `bound`.
    func bits(toImprove residual: Residual, to quantiser: Int, within bound: Double) -> Double {
        var bits = 0.0
        for place in 0..<count where quality[place] > quantiser {
            bits += residual.bits(place, at: quantiser)
            if bits > bound { break }
        }
        return bits
    }

    /// Calls `body` with each run of changed macroblocks in a row, in samples of the coded picture.
    func forEachChangedRun(_ body: (PixelRect) -> Void) {
        for row in 0..<rows {
            var column = 0
            while column < columns {
                let first = column
                while column < columns, info[row * columns + column] & Self.constant == 0 { column += 1 }
                if column > first {
                    body(
                        PixelRect(
                            x: first * Self.side, y: row * Self.side, width: (column - first) * Self.side,
                            height: Self.side))
                }
                column += 1
            }
        }
    }

    /// All macroblocks were coded with `quantiser`.
    func setQuality(_ quantiser: Int) { quality.update(repeating: UInt8(quantiser), count: count) }

    /// The macroblocks marked as changed were coded with `quantiser`. `analysedAll`: the others were analysed, too, so
    /// they are at least as good now.
    func setQualityOfChanged(_ quantiser: Int, analysedAll: Bool) {
        let quantiser = UInt8(quantiser)
        let bound = analysedAll ? quantiser : .max
        for place in 0..<count {
            quality[place] = info[place] & Self.constant == 0 ? quantiser : min(quality[place], bound)
        }
    }

    /// All macroblocks are at least as good as `quantiser`.
    func improve(to quantiser: Int) {
        let quantiser = UInt8(quantiser)
        for place in 0..<count { quality[place] = min(quality[place], quantiser) }
    }

    /// The worst macroblock's quality.
    var coarsest: Int {
        var worst: UInt8 = 0
        for place in 0..<count { worst = max(worst, quality[place]) }
        return Int(worst)
    }

    /// The number of macroblocks of each quality, by quantiser.
    var histogram: [Int] {
        var histogram = [Int](repeating: 0, count: QuantiserControl.worst + 1)
        histogram.withUnsafeMutableBufferPointer { counts in
            for place in 0..<count { counts[Int(quality[place])] += 1 }
        }
        return histogram
    }
}
