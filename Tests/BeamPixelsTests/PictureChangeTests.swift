import BeamMedia
import Testing

@testable import BeamPixels

@Suite struct PictureChangeTests {
    private static let sizes = [(1, 1), (64, 16), (65, 17), (127, 33), (200, 90), (641, 363)]
        .map { PixelSize(width: $0.0, height: $0.1) }

    private func copy(_ source: PixelBuffer) -> PixelBuffer {
        let copy = PixelBuffer(format: source.format, size: source.size)
        for index in 0..<source.format.planeCount {
            let (rowBytes, rows) = source.format.plane(index, of: source.size)
            for y in 0..<rows {
                for x in 0..<rowBytes { copy[plane: index, x, y] = source[plane: index, x, y] }
            }
        }
        return copy
    }

    /// The pixels of the picture that sample `(x, y)` of plane `index` covers.
    private func pixels(_ buffer: PixelBuffer, _ index: Int, _ x: Int, _ y: Int) -> PixelRect {
        let isHalved = buffer.format == .i420 && index > 0
        let rect =
            isHalved
            ? PixelRect(x: 2 * x, y: 2 * y, width: 2, height: 2) : PixelRect(x: x, y: y, width: 1, height: 1)
        return rect.intersection(PixelRect(buffer.size))
    }

    @Test(arguments: [PixelFormat.i420, .i444], sizes)
    func equalPicturesHaveNoDamage(format: PixelFormat, size: PixelSize) {
        let picture = PixelBuffer.noise(format, size, seed: 1)
        let other = copy(picture)
        // Padding after a row's end must be ignored.
        for plane in other.planes where plane.stride > size.width {
            plane.base.storeBytes(of: 99, toByteOffset: plane.stride - 1, as: UInt8.self)
        }
        var change = PictureChange()
        for kernel in [PixelConversion.Kernel.best, .portable] {
            #expect(change.damage(from: picture, to: other, kernel: kernel).isEmpty)
        }
    }

    @Test(arguments: [PixelFormat.i420, .i444], sizes)
    func aDifferenceInAnySampleIsFound(format: PixelFormat, size: PixelSize) {
        let older = PixelBuffer.noise(format, size, seed: 2)
        let newer = copy(older)
        var generator = SeededGenerator(seed: 3)
        var change = PictureChange()
        for index in 0..<3 {
            let (rowBytes, rows) = format.plane(index, of: size)
            var places = [(0, 0), (rowBytes - 1, 0), (0, rows - 1), (rowBytes - 1, rows - 1)]
            for _ in 0..<50 {
                places.append(
                    (Int.random(in: 0..<rowBytes, using: &generator), Int.random(in: 0..<rows, using: &generator)))
            }
            for (x, y) in places {
                newer[plane: index, x, y] ^= 1
                for kernel in [PixelConversion.Kernel.best, .portable] {
                    let damage = change.damage(from: older, to: newer, kernel: kernel)
                    #expect(damage.rects.count == 1)
                    #expect(damage.rects.first?.contains(pixels(newer, index, x, y)) == true)
                    #expect(PixelRect(size).contains(damage.rects.first ?? PixelRect(x: -1, y: 0, width: 1, height: 1)))
                    // One tile, if that is less than half of the picture.
                    #expect(damage.area <= max(64 * 16, size.area))
                    if size.area > 4 * 64 * 16 { #expect(damage.area <= 64 * 16) }
                }
                newer[plane: index, x, y] ^= 1
            }
        }
    }

    @Test("All changes are covered by a bounded number of rectangles", arguments: [3, 30, 300, 3000])
    func manyChanges(count: Int) {
        let size = PixelSize(width: 1366, height: 767)
        let older = PixelBuffer.noise(.i420, size, seed: 4)
        let newer = copy(older)
        var generator = SeededGenerator(seed: UInt64(count))
        var changed: [PixelRect] = []
        for _ in 0..<count {
            let index = Int.random(in: 0..<3, using: &generator)
            let (rowBytes, rows) = PixelFormat.i420.plane(index, of: size)
            let (x, y) = (Int.random(in: 0..<rowBytes, using: &generator), Int.random(in: 0..<rows, using: &generator))
            newer[plane: index, x, y] = older[plane: index, x, y] ^ 0x80
            changed.append(pixels(newer, index, x, y))
        }
        var change = PictureChange()
        let damage = change.damage(from: older, to: newer)
        #expect(damage.rects.count <= DamageRegion.limit)
        #expect(changed.allSatisfy { pixel in damage.rects.contains { $0.contains(pixel) } })
        if count == 3 { #expect(damage.area <= 3 * 64 * 16) }
        if count == 3000 { #expect(damage == DamageRegion(PixelRect(size))) }
    }

    @Test func adjacentTilesAreOneRectangle() {
        let size = PixelSize(width: 640, height: 360)
        let older = PixelBuffer.noise(.i420, size, seed: 5)
        let newer = copy(older)
        for y in 40..<100 {
            for x in 130..<250 { newer[plane: 0, x, y] ^= 0xff }
        }
        var change = PictureChange()
        #expect(
            change.damage(from: older, to: newer) == DamageRegion(PixelRect(x: 128, y: 32, width: 128, height: 80)))
    }

    @Test(arguments: sizes) func blockDifferencesAreTheSumsOfSampleDifferences(_ size: PixelSize) {
        var generator = SeededGenerator(seed: UInt64(size.width))
        let (a, b) = (PixelBuffer(format: .i420, size: size), PixelBuffer(format: .i420, size: size))
        let across = (size.width + 15) / 16
        var expected = [UInt32](repeating: 0, count: across * ((size.height + 15) / 16))
        for y in 0..<size.height {
            for x in 0..<size.width {
                // Include many extreme values.
                a[plane: 0, x, y] = generator.next() % 3 == 0 ? 255 : UInt8(truncatingIfNeeded: generator.next())
                b[plane: 0, x, y] = generator.next() % 3 == 0 ? 0 : UInt8(truncatingIfNeeded: generator.next())
                expected[y / 16 * across + x / 16] += UInt32(abs(Int(a[plane: 0, x, y]) - Int(b[plane: 0, x, y])))
            }
        }
        #expect(PictureQuality.blockDifferences(a.planes[0], b.planes[0], size) == expected)
        #expect(PictureQuality.blockDifferences(a.planes[0], a.planes[0], size).allSatisfy { $0 == 0 })
    }
}
