import BeamMedia

/// Y′CbCr samples in BT.709 limited range.
struct PatternColour: Hashable, Sendable {
    var y: UInt8
    var cb: UInt8
    var cr: UInt8

    init(y: UInt8, cb: UInt8 = 128, cr: UInt8 = 128) {
        self.y = y
        self.cb = cb
        self.cr = cr
    }
}

/// The coverage of each pixel by a shape, 0…255.
struct Coverage: Sendable {
    let width: Int
    let height: Int
    let values: [UInt8]

    /// - Parameter distance: from the shape's edge to the point (x, y), in pixels, negative inside. Pixel centres lie
    ///   at halves. It must use only + - × ÷ and square roots, whose results IEEE 754 fixes, so that the shape is the
    ///   same on every machine.
    init(width: Int, height: Int, distance: (_ x: Double, _ y: Double) -> Double) {
        self.width = width
        self.height = height
        var values: [UInt8] = []
        values.reserveCapacity(width * height)
        for y in 0..<height {
            for x in 0..<width {
                let share = 0.5 - distance(Double(x) + 0.5, Double(y) + 0.5)
                values.append(UInt8((max(0, min(1, share)) * 255).rounded()))
            }
        }
        self.values = values
    }

    static func disc(diameter: Int) -> Coverage {
        let radius = Double(diameter) / 2
        return Coverage(width: diameter, height: diameter) { x, y in
            ((x - radius) * (x - radius) + (y - radius) * (y - radius)).squareRoot() - radius
        }
    }

    /// A circle's outline, `thickness` pixels wide, inside the diameter.
    static func ring(diameter: Int, thickness: Double) -> Coverage {
        let radius = Double(diameter) / 2
        let middle = radius - thickness / 2
        return Coverage(width: diameter, height: diameter) { x, y in
            let distance = ((x - radius) * (x - radius) + (y - radius) * (y - radius)).squareRoot()
            return abs(distance - middle) - thickness / 2
        }
    }
}

/// Opaque luma samples, rendered in advance.
struct LumaTile: Sendable {
    let width: Int
    let height: Int
    var samples: [UInt8]

    init(width: Int, height: Int, y: UInt8) {
        self.width = width
        self.height = height
        samples = [UInt8](repeating: y, count: width * height)
    }
}

/// Draws into an i420 buffer and clips to its bounds.
///
/// Whole rows are filled and copied at once, so that debug builds are fast enough too.
struct PatternCanvas {
    let buffer: PixelBuffer
    let bounds: PixelRect

    init(_ buffer: PixelBuffer) {
        precondition(buffer.format == .i420)
        self.buffer = buffer
        bounds = PixelRect(buffer.size)
    }

    private func row(_ plane: Int, _ y: Int) -> UnsafeMutablePointer<UInt8> {
        let plane = buffer.planes[plane]
        return (plane.base + y * plane.stride).assumingMemoryBound(to: UInt8.self)
    }

    /// The chroma samples of `rect`'s pixels.
    private static func chroma(_ rect: PixelRect) -> PixelRect {
        let (left, top) = (rect.x / 2, rect.y / 2)
        return PixelRect(x: left, y: top, width: (rect.maxX + 1) / 2 - left, height: (rect.maxY + 1) / 2 - top)
    }

    func fill(_ rect: PixelRect, _ colour: PatternColour) {
        let rect = rect.intersection(bounds)
        guard !rect.isEmpty else { return }
        fillLuma(rect, colour.y)
        let chroma = Self.chroma(rect)
        for y in chroma.y..<chroma.maxY {
            (row(1, y) + chroma.x).update(repeating: colour.cb, count: chroma.width)
            (row(2, y) + chroma.x).update(repeating: colour.cr, count: chroma.width)
        }
    }

    func fillLuma(_ rect: PixelRect, _ sample: UInt8) {
        let rect = rect.intersection(bounds)
        guard !rect.isEmpty else { return }
        for y in rect.y..<rect.maxY { (row(0, y) + rect.x).update(repeating: sample, count: rect.width) }
    }

    /// Copies `rect` from another buffer of the same size.
    func copy(_ rect: PixelRect, from source: PixelBuffer) {
        let rect = rect.intersection(bounds)
        guard !rect.isEmpty else { return }
        let other = PatternCanvas(source)
        for plane in 0..<3 {
            let part = plane == 0 ? rect : Self.chroma(rect)
            for y in part.y..<part.maxY {
                (row(plane, y) + part.x).update(from: other.row(plane, y) + part.x, count: part.width)
            }
        }
    }

    /// Copies `count` rows of the picture's width from row `sourceRow` and column `column` of `source`, which has to be
    /// large enough. All numbers are even, because chroma is subsampled; only the picture's last row may be odd.
    func copyRows(_ count: Int, from source: PixelBuffer, row sourceRow: Int, column: Int = 0, to y: Int) {
        let count = min(count, bounds.height - y)
        guard count > 0 else { return }
        let other = PatternCanvas(source)
        for plane in 0..<3 {
            let step = plane == 0 ? 1 : 2
            let width = (bounds.width + step - 1) / step
            for line in 0..<(count + step - 1) / step {
                row(plane, y / step + line)
                    .update(from: other.row(plane, sourceRow / step + line) + column / step, count: width)
            }
        }
    }

    /// Adds `samples` to the first `count` samples of luma row `y`. No sum may exceed 255.
    func add(_ samples: UnsafePointer<UInt8>, to y: Int, count: Int) {
        let target = row(0, y)
        for x in 0..<min(count, bounds.width) { target[x] &+= samples[x] }
    }

    /// Copies `width` columns of `tile`, starting at `column`, to (x, y).
    func copyLuma(_ tile: LumaTile, column: Int = 0, width: Int? = nil, x: Int, y: Int) {
        let whole = PixelRect(x: x, y: y, width: min(width ?? tile.width, tile.width - column), height: tile.height)
        let rect = whole.intersection(bounds)
        guard !rect.isEmpty else { return }
        tile.samples.withUnsafeBufferPointer { samples in
            guard let base = samples.baseAddress else { return }
            for line in rect.y..<rect.maxY {
                (row(0, line) + rect.x)
                    .update(from: base + (line - y) * tile.width + column + rect.x - x, count: rect.width)
            }
        }
    }

    /// Repeats one row of luma down `rect`; `samples` has at least `rect.width` entries.
    func repeatLuma(_ samples: [UInt8], in rect: PixelRect) {
        let part = rect.intersection(bounds)
        guard !part.isEmpty else { return }
        samples.withUnsafeBufferPointer { samples in
            guard let base = samples.baseAddress else { return }
            for y in part.y..<part.maxY { (row(0, y) + part.x).update(from: base + part.x - rect.x, count: part.width) }
        }
    }

    /// Paints `shape` in `colour` with its top left pixel at (x, y).
    func paint(_ shape: Coverage, x: Int, y: Int, _ colour: PatternColour) {
        paintLuma(shape, x: x, y: y, colour.y)
        let whole = PixelRect(x: x, y: y, width: shape.width, height: shape.height)
        let visible = whole.intersection(bounds)
        // At an odd position an empty rectangle still maps to a chroma sample, possibly outside the buffer.
        guard !visible.isEmpty else { return }
        let chroma = Self.chroma(visible)
        shape.values.withUnsafeBufferPointer { values in
            for line in chroma.y..<chroma.maxY {
                let (cb, cr) = (row(1, line), row(2, line))
                // A chroma sample's coverage is the mean of its four pixels'.
                let top = line * 2 - y
                for sample in chroma.x..<chroma.maxX {
                    let left = sample * 2 - x
                    var sum = 0
                    for row in max(0, top)..<max(0, min(shape.height, top + 2)) where row >= 0 {
                        for column in max(0, left)..<max(0, min(shape.width, left + 2)) {
                            sum += Int(values[row * shape.width + column])
                        }
                    }
                    guard sum > 0 else { continue }
                    cb[sample] = Self.mix(cb[sample], colour.cb, sum, of: 4 * 255)
                    cr[sample] = Self.mix(cr[sample], colour.cr, sum, of: 4 * 255)
                }
            }
        }
    }

    /// Paints `shape` into luma only; chroma stays.
    func paintLuma(_ shape: Coverage, x: Int, y: Int, _ sample: UInt8) {
        let rect = PixelRect(x: x, y: y, width: shape.width, height: shape.height).intersection(bounds)
        guard !rect.isEmpty else { return }
        shape.values.withUnsafeBufferPointer { values in
            for line in rect.y..<rect.maxY {
                let target = row(0, line)
                var index = (line - y) * shape.width + rect.x - x
                for column in rect.x..<rect.maxX {
                    let cover = values[index]
                    index += 1
                    if cover == 255 {
                        target[column] = sample
                    } else if cover > 0 {
                        target[column] = Self.mix(target[column], sample, Int(cover), of: 255)
                    }
                }
            }
        }
    }

    private static func mix(_ old: UInt8, _ new: UInt8, _ share: Int, of whole: Int) -> UInt8 {
        UInt8((Int(old) * (whole - share) + Int(new) * share + whole / 2) / whole)
    }
}
