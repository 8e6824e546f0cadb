import BeamMedia

@testable import BeamPixels

/// A reference for luma-guided chroma interpolation in floating point, straight from the definition: a fit of chroma to
/// luma over 3 × 3 samples after subtracting the least-squares plane.
struct ChromaReference {
    let buffer: PixelBuffer
    /// The slopes of Cb and Cr over luma at each sample, row by row.
    private let slopes: [(u: Double, v: Double)]
    private var size: (width: Int, height: Int) { buffer.format.chroma(of: buffer.size) }

    init(_ buffer: PixelBuffer) {
        self.buffer = buffer
        let (width, height) = buffer.format.chroma(of: buffer.size)
        slopes = (0..<width * height).map { Self.slope(buffer, $0 % width, $0 / width) }
    }

    /// Cb and Cr at pixel `(x, y)`.
    func chroma(x: Int, y: Int) -> (u: Double, v: Double) {
        let slope = slopes[y / 2 * size.width + x / 2]
        let detail = Double(buffer[plane: 0, x, y]) - Self.interpolated(x, y) { Self.luma(buffer, $0, $1) }
        func value(_ index: Int, _ slope: Double) -> Double {
            let soft = Self.interpolated(x, y) { Self.sample(buffer, index, $0, $1) }
            return min(255, max(0, soft + slope * detail))
        }
        return (value(1, slope.u), value(2, slope.v))
    }

    /// Plain interpolation without luma.
    static func bilinear(_ buffer: PixelBuffer, plane: Int, x: Int, y: Int) -> Double {
        interpolated(x, y) { sample(buffer, plane, $0, $1) }
    }

    /// Bilinear interpolation between samples.
    private static func interpolated(_ x: Int, _ y: Int, _ sample: (Int, Int) -> Double) -> Double {
        let column = (Double(x) + 0.5) / 2 - 0.5
        let row = (Double(y) + 0.5) / 2 - 0.5
        let (left, top) = (column.rounded(.down), row.rounded(.down))
        let (right, bottom) = (column - left, row - top)
        let (i, j) = (Int(left), Int(top))
        let upper = sample(i, j) * (1 - right) + sample(i + 1, j) * right
        let lower = sample(i, j + 1) * (1 - right) + sample(i + 1, j + 1) * right
        return upper * (1 - bottom) + lower * bottom
    }

    /// Outermost samples repeat beyond the edges.
    private static func sample(_ buffer: PixelBuffer, _ index: Int, _ column: Int, _ row: Int) -> Double {
        let (width, height) = buffer.format.plane(index, of: buffer.size)
        return Double(buffer[plane: index, min(max(column, 0), width - 1), min(max(row, 0), height - 1)])
    }

    /// The mean luma of a chroma sample's pixels.
    private static func luma(_ buffer: PixelBuffer, _ column: Int, _ row: Int) -> Double {
        let (width, height) = buffer.format.chroma(of: buffer.size)
        let (x, y) = (2 * min(max(column, 0), width - 1), 2 * min(max(row, 0), height - 1))
        let upper = sample(buffer, 0, x, y) + sample(buffer, 0, x + 1, y)
        return (upper + sample(buffer, 0, x, y + 1) + sample(buffer, 0, x + 1, y + 1)) / 4
    }

    private static func slope(_ buffer: PixelBuffer, _ column: Int, _ row: Int) -> (u: Double, v: Double) {
        let y = withoutPlane { luma(buffer, column + $0, row + $1) }
        let u = withoutPlane { sample(buffer, 1, column + $0, row + $1) }
        let v = withoutPlane { sample(buffer, 2, column + $0, row + $1) }
        func mean(_ a: [Double], _ b: [Double]) -> Double { zip(a, b).reduce(0) { $0 + $1.0 * $1.1 } / 9 }
        let (spread, colours, p, q) = (mean(y, y), mean(u, u) + mean(v, v), mean(y, u), mean(y, v))
        let explained = p * p + q * q
        guard explained > 1e-9 else { return (0, 0) }
        let share = max(0, 1.75 - (0.75 * colours + 2) * spread / explained)
        func limited(_ slope: Double) -> Double { min(2, max(-2, slope)) }
        return (limited(p / (spread + 10) * share), limited(q / (spread + 10) * share))
    }

    /// Nine samples minus their mean and gradient.
    private static func withoutPlane(_ sample: (Int, Int) -> Double) -> [Double] {
        let places = (0..<9).map { ($0 % 3 - 1, $0 / 3 - 1) }
        let samples = places.map(sample)
        let mean = samples.reduce(0, +) / 9
        let across = zip(samples, places).reduce(0) { $0 + $1.0 * Double($1.1.0) } / 6
        let down = zip(samples, places).reduce(0) { $0 + $1.0 * Double($1.1.1) } / 6
        return zip(samples, places).map { $0 - mean - across * Double($1.0) - down * Double($1.1) }
    }
}

extension PixelFormat {
    /// The size of the chroma planes.
    fileprivate func chroma(of size: PixelSize) -> (width: Int, height: Int) {
        let (width, height) = plane(1, of: size)
        return (width, height)
    }
}

extension PixelBuffer {
    /// bgrx strokes of one or two pixels' width in changing colours, similar to text.
    static func strokes(_ size: PixelSize, seed: UInt64) -> PixelBuffer {
        var generator = SeededGenerator(seed: seed)
        let buffer = PixelBuffer(format: .bgrx, size: size)
        let side = 32
        for top in stride(from: 0, to: size.height, by: side) {
            for left in stride(from: 0, to: size.width, by: side) {
                let colours = (0..<2).map { _ in (0..<3).map { _ in UInt8.random(in: 0...255, using: &generator) } }
                let marks = (0..<side).map { _ in UInt32.random(in: 0...(.max), using: &generator) }
                for y in top..<min(top + side, size.height) {
                    for x in left..<min(left + side, size.width) {
                        let isInk = (y - top) % 8 < 6 && marks[(y - top) / 2] >> UInt32(x - left) & 1 != 0
                        for channel in 0..<3 {
                            buffer[plane: 0, 4 * x + channel, y] = colours[isInk ? 1 : 0][channel]
                        }
                        buffer[plane: 0, 4 * x + 3, y] = 255
                    }
                }
            }
        }
        return buffer
    }

    /// The same picture as 4:2:0.
    var halved: PixelBuffer {
        let result = PixelBuffer(format: .i420, size: size)
        PixelConversion.bgrxToI420(self, into: result, rects: DamageRegion(PixelRect(size)))
        return result
    }
}
