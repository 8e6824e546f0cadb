import BeamMedia
import CX264

/// What is known of each macroblock (16 × 16 pixels, in raster order) of the coded picture: whether it has changed, for libx264,
/// and which quantiser its quality is worth.
///
/// A macroblock's quality is that of the frame in which it was coded last, or of a later and better one that looked at it and
/// found nothing to mend.
final class MacroblockMap {
    let count: Int
    /// One byte of libx264's flags for each.
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

    /// Marks what `damage` (in pixels) touches as changed and everything else as constant; returns how many have changed.
    func markDamaged(_ damage: DamageRegion) -> Int {
        info.update(repeating: Self.constant, count: count)
        var changed = 0
        let bounds = PixelRect(x: 0, y: 0, width: columns * Self.side, height: rows * Self.side)
        for rect in damage.clipped(to: bounds).rects {
            let across = rect.x / Self.side..<(rect.maxX + Self.side - 1) / Self.side
            let down = rect.y / Self.side..<(rect.maxY + Self.side - 1) / Self.side
            for row in down {
                let first = info + row * columns + across.lowerBound
                // Rectangles may overlap.
                for place in 0..<across.count { changed += Int(first[place] & Self.constant) }
                first.update(repeating: 0, count: across.count)
            }
        }
        return changed
    }

    /// Marks what isn't as good as `quantiser` makes it as changed, and the rest as constant.
    func markCoarser(than quantiser: Int) {
        let quantiser = UInt8(quantiser)
        for place in 0..<count { info[place] = quality[place] > quantiser ? 0 : Self.constant }
    }

    /// Marks what isn't as good as `quantiser` makes it as changed, if coding `residual` with that takes no more than `bound` bits,
    /// else a part that doesn't: the worst from the top. The rest is constant. Returns what the marked ones take.
    func markCoarser(than quantiser: Int, within bound: Double, _ residual: Residual) -> Double {
        markCoarser(than: quantiser)
        let all = bits(toMend: residual, to: quantiser, within: bound)
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

    /// What it takes to code `residual` of all that isn't as good as `quantiser` makes it with that; more than `bound` isn't counted.
    func bits(toMend residual: Residual, to quantiser: Int, within bound: Double) -> Double {
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

    /// All were coded with `quantiser`.
    func setQuality(_ quantiser: Int) { quality.update(repeating: UInt8(quantiser), count: count) }

    /// Those that are marked as changed were coded with `quantiser`; `lookedAtAll`: the others are at least as good now.
    func setQualityOfChanged(_ quantiser: Int, lookedAtAll: Bool) {
        let quantiser = UInt8(quantiser)
        let bound = lookedAtAll ? quantiser : .max
        for place in 0..<count {
            quality[place] = info[place] & Self.constant == 0 ? quantiser : min(quality[place], bound)
        }
    }

    /// All are at least as good as `quantiser` makes them.
    func improve(to quantiser: Int) {
        let quantiser = UInt8(quantiser)
        for place in 0..<count { quality[place] = min(quality[place], quantiser) }
    }

    /// The quantiser that the worst one's quality is worth.
    var coarsest: Int {
        var worst: UInt8 = 0
        for place in 0..<count { worst = max(worst, quality[place]) }
        return Int(worst)
    }

    /// How many there are of each quality, by quantiser.
    var histogram: [Int] {
        var histogram = [Int](repeating: 0, count: QuantiserControl.worst + 1)
        histogram.withUnsafeMutableBufferPointer { counts in
            for place in 0..<count { counts[Int(quality[place])] += 1 }
        }
        return histogram
    }
}
