import BeamMedia
import Testing

@testable import BeamPixels

/// The hash of a row of tiles: both variants against the definition on the page “Version 2 on the wire”.
@Suite struct TileRowHashTests {
    /// A picture in memory of its own, whose rows are `padding` bytes longer than its pixels and begin at any address.
    private static func picture(_ size: PixelSize, padding: Int, seed: UInt64) -> PixelBuffer {
        let stride = 4 * size.width + padding
        nonisolated(unsafe) let memory = UnsafeMutableRawPointer.allocate(
            byteCount: stride * size.height + 1, alignment: 16)
        let bytes = UnsafeMutableRawBufferPointer(start: memory, count: stride * size.height + 1)
        var random = SeededGenerator(seed: seed)
        for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: random.next()) }
        return PixelBuffer(
            format: .bgrx, size: size, planes: [Plane(base: memory + 1, stride: stride)],
            release: { memory.deallocate() })
    }

    private static func turned(_ value: UInt32, _ bits: UInt32) -> UInt32 { value << bits | value >> (32 - bits) }

    private static func defined(row: Int, of picture: PixelBuffer) -> UInt32 {
        let rect = TileRowHash.pixels(of: row, in: picture.size)
        var lanes = (0..<16).map { UInt32($0 + 1) &* 0x9E37_79B1 }
        for y in rect.y..<rect.maxY {
            for x in 0..<rect.width {
                let colours = (0..<3).reduce(UInt32(0)) { $0 | UInt32(picture[plane: 0, 4 * x + $1, y]) << (8 * $1) }
                lanes[x % 16] = turned(lanes[x % 16] &+ colours &* 0x85EB_CA77, 13) &* 0x9E37_79B1
            }
        }
        var hash = UInt32(rect.area)
        for lane in lanes { hash = turned(hash &+ lane &* 0xC2B2_AE3D, 17) &* 0x27D4_EB2F }
        hash = (hash ^ hash >> 15) &* 0x85EB_CA77
        hash = (hash ^ hash >> 13) &* 0xC2B2_AE3D
        return hash ^ hash >> 16
    }

    @Test(arguments: [0, 1, 12]) func everyWidthAndStrideIsAsDefined(padding: Int) {
        for width in Array(1...70) + [641] {
            let picture = Self.picture(PixelSize(width: width, height: 37), padding: padding, seed: UInt64(width))
            for row in 0..<3 {
                let defined = Self.defined(row: row, of: picture)
                for kernel in [PixelConversion.Kernel.best, .portable] {
                    #expect(TileRowHash.of(row: row, in: picture, kernel: kernel) == defined, "\(width), \(kernel)")
                }
            }
        }
    }

    /// The other end has another program: the numbers must not change.
    @Test func blackAndWhiteHaveTheirNumbers() {
        let size = PixelSize(width: 100, height: 20)
        let picture = PixelBuffer(format: .bgrx, size: size)
        func fill(_ value: UInt8) {
            for y in 0..<size.height { for x in 0..<4 * size.width { picture[plane: 0, x, y] = value } }
        }
        fill(0)
        #expect([0, 1].map { TileRowHash.of(row: $0, in: picture) } == [0xEF18_4608, 0xD750_40E4])
        fill(255)
        #expect([0, 1].map { TileRowHash.of(row: $0, in: picture) } == [0x72CC_7095, 0xC895_E1AA])
    }

    /// Of each pixel each bit of each colour counts, in its own row alone; the fourth byte doesn't.
    @Test func eachBitOfAColourCounts() {
        let size = PixelSize(width: 50, height: 32)
        let picture = Self.picture(size, padding: 3, seed: 9)
        let before = [0, 1].map { TileRowHash.of(row: $0, in: picture) }
        for y in 0..<16 {
            for x in 0..<4 * size.width {
                for bit in 0..<8 where x % 4 < 3 || bit == 0 {
                    picture[plane: 0, x, y] ^= 1 << bit
                    let isEqual = TileRowHash.of(row: 0, in: picture) == before[0]
                    #expect(isEqual == (x % 4 == 3), "(\(x), \(y)), bit \(bit)")
                    picture[plane: 0, x, y] ^= 1 << bit
                }
            }
        }
        picture[plane: 0, 5, 3] ^= 1
        #expect(TileRowHash.of(row: 1, in: picture) == before[1])
        // Two pixels, or two rows, that exchange their places.
        picture[plane: 0, 5, 3] ^= 1
        for (x, y) in [(0, 1), (64, 0), (16, 2)] {
            let (one, other) = (picture[plane: 0, x, y], picture[plane: 0, 0, 0])
            (picture[plane: 0, 0, 0], picture[plane: 0, x, y]) = (one, other)
            #expect(one == other || TileRowHash.of(row: 0, in: picture) != before[0])
            (picture[plane: 0, 0, 0], picture[plane: 0, x, y]) = (other, one)
        }
    }
}
