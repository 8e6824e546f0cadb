import BeamMedia
import BeamPixels

/// Test pictures.
enum TestPictures {
    /// Noise in every plane: the sharpest edges possible.
    static func noise(
        _ format: PixelFormat, _ size: PixelSize, colour: ColourDescription = .bt709Limited, seed: UInt64 = 1,
        number: UInt64 = 0
    ) -> Picture {
        var state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
        return make(format, size, colour, number) { _, _, _ in
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return UInt8(truncatingIfNeeded: state >> 32)
        }
    }

    /// Eight bars with the corners of the RGB cube, approximately, in BT.709 limited range.
    static func bars(_ size: PixelSize, colour: ColourDescription = .bt709Limited) -> Picture {
        let bars: [(UInt8, UInt8, UInt8)] = [
            (235, 128, 128), (219, 16, 138), (188, 154, 16), (173, 42, 26), (78, 214, 230), (63, 102, 240),
            (32, 240, 118), (16, 128, 128),
        ]
        return make(.i420, size, colour, 0) { plane, x, _ in
            let width = plane == 0 ? size.width : (size.width + 1) / 2
            let bar = bars[x * 8 / width]
            return plane == 0 ? bar.0 : plane == 1 ? bar.1 : bar.2
        }
    }

    /// A picture of one colour.
    static func plain(_ size: PixelSize, y: UInt8, format: PixelFormat = .i420, number: UInt64 = 0) -> Picture {
        make(format, size, .bt709Limited, number) { plane, _, _ in plane == 0 ? y : 128 }
    }

    /// A picture with the samples `sample(plane, x, y)`, generated row by row.
    static func make(
        _ format: PixelFormat, _ size: PixelSize, _ colour: ColourDescription, _ number: UInt64,
        _ sample: (Int, Int, Int) -> UInt8
    ) -> Picture {
        let buffer = PixelBuffer(format: format, size: size)
        for index in 0..<format.planeCount {
            let (rowBytes, rows) = format.plane(index, of: size)
            let plane = buffer.planes[index]
            for y in 0..<rows {
                for x in 0..<rowBytes { plane[x, y] = sample(index, x, y) }
            }
        }
        return Picture(buffer: buffer, colour: colour, time: .zero, number: number)
    }

    /// Red, green and blue of a pixel by the exact formulas; for 4:2:0 by the conversion, which has its own tests
    /// against the formulas.
    static func reference(_ picture: Picture, x: Int, y: Int) -> [Double] {
        let buffer = picture.buffer
        guard picture.format != .i420 else {
            var pixel: [UInt8] = [0, 0, 0, 0]
            pixel.withUnsafeMutableBytes { bytes in
                guard let base = bytes.baseAddress else { return }
                let rect = PixelRect(x: x, y: y, width: 1, height: 1)
                PixelConversion.toBGRX(buffer, colour: picture.colour, into: base, stride: 4, rect: rect)
            }
            return [2, 1, 0].map { Double(pixel[$0]) }
        }
        let (luma, cb, cr) = (
            Double(buffer.planes[0][x, y]), Double(buffer.planes[1][x, y]), Double(buffer.planes[2][x, y])
        )
        let matrix = ColourMatrix(picture.colour)
        let offsets = [matrix.offsets.red, matrix.offsets.green, matrix.offsets.blue]
        return zip([matrix.red, matrix.green, matrix.blue], offsets).map { row, offset in
            min(max(0, row.y * luma + row.cb * cb + row.cr * cr + offset * 255), 255)
        }
    }
}

extension Plane {
    subscript(x: Int, y: Int) -> UInt8 {
        get { base.load(fromByteOffset: y * stride + x, as: UInt8.self) }
        nonmutating set { base.storeBytes(of: newValue, toByteOffset: y * stride + x, as: UInt8.self) }
    }
}

extension PixelBuffer {
    /// Red, green and blue of a bgrx picture.
    func rgb(_ x: Int, _ y: Int) -> [Int] { [2, 1, 0].map { Int(planes[0][x * 4 + $0, y]) } }

    /// A row of a bgrx picture as one word per pixel, because unoptimised tests compare millions of them.
    private func colours(_ y: Int) -> UnsafePointer<UInt32> {
        let row = planes[0].base + y * planes[0].stride
        return UnsafePointer(row.assumingMemoryBound(to: UInt32.self))
    }

    /// The largest difference of any colour component; nil if the sizes differ.
    func largestDifference(_ other: PixelBuffer) -> Int? {
        guard size == other.size else { return nil }
        var largest = 0
        for y in 0..<size.height {
            let (row, otherRow) = (colours(y), other.colours(y))
            for x in 0..<size.width where (row[x] ^ otherRow[x]) & 0xff_ffff != 0 {
                for byte in 4 * x..<4 * x + 3 {
                    largest = max(largest, abs(Int(planes[0][byte, y]) - Int(other.planes[0][byte, y])))
                }
            }
        }
        return largest
    }

    /// The number of pixels that differ. The sizes must be equal.
    func differingPixels(from other: PixelBuffer) -> Int {
        var count = 0
        for y in 0..<size.height {
            let (row, otherRow) = (colours(y), other.colours(y))
            for x in 0..<size.width where (row[x] ^ otherRow[x]) & 0xff_ffff != 0 { count += 1 }
        }
        return count
    }

    /// The number of pixels that differ from the upper left corner's.
    var paintedPixels: Int {
        let corner = colours(0)[0]
        var count = 0
        for y in 0..<size.height {
            let row = colours(y)
            for x in 0..<size.width where (row[x] ^ corner) & 0xff_ffff != 0 { count += 1 }
        }
        return count
    }
}
