import BeamMedia
import Testing

@testable import BeamPixels

/// BGRX pixels in memory of any stride, with a margin that nobody may read into the result or write.
private final class Canvas {
    let size: PixelSize
    private let bytes: UnsafeMutableRawPointer
    private let stride: Int
    private let isUpsideDown: Bool

    init(_ size: PixelSize, padding: Int, isUpsideDown: Bool = false) {
        self.size = size
        self.isUpsideDown = isUpsideDown
        stride = size.width * 4 + padding
        bytes = .allocate(byteCount: stride * size.height + 1, alignment: 1)
        bytes.initializeMemory(as: UInt8.self, repeating: 0xa5, count: stride * size.height + 1)
    }

    deinit { bytes.deallocate() }

    var plane: Plane {
        // At an odd address.
        isUpsideDown
            ? Plane(base: bytes + 1 + (size.height - 1) * stride, stride: -stride)
            : Plane(base: bytes + 1, stride: stride)
    }

    subscript(x: Int, y: Int) -> UInt32 {
        get { plane.base.loadUnaligned(fromByteOffset: y * plane.stride + 4 * x, as: UInt32.self) }
        set { plane.base.storeBytes(of: newValue, toByteOffset: y * plane.stride + 4 * x, as: UInt32.self) }
    }

    func fill(_ colour: (_ x: Int, _ y: Int) -> UInt32) {
        for y in 0..<size.height {
            for x in 0..<size.width { self[x, y] = colour(x, y) }
        }
    }

    /// The bytes between the rows have their first value.
    var hasItsPadding: Bool {
        let padding = stride - size.width * 4
        return (0..<max(0, size.height - 1)).allSatisfy { row in
            (0..<padding).allSatisfy {
                bytes.load(fromByteOffset: 1 + row * stride + size.width * 4 + $0, as: UInt8.self) == 0xa5
            }
        }
    }
}

@Suite struct PictureComparisonTests {
    private static let sizes = [
        (1, 1), (63, 15), (64, 16), (65, 17), (130, 33), (257, 100), (16384, 3), (3, 200),
    ].map { PixelSize(width: $0.0, height: $0.1) }
    private static let kernels = [PixelConversion.Kernel.best, .portable]

    private static func tile(_ x: Int, _ y: Int, in size: PixelSize) -> PixelRect {
        PixelRect(x: x / 64 * 64, y: y / 16 * 16, width: 64, height: 16).intersection(PixelRect(size))
    }

    /// The tiles that differ, pixel by pixel, and that `hint` touches.
    private static func reference(_ newer: Canvas, _ older: Canvas, _ hint: DamageRegion?) -> Set<PixelRect> {
        var tiles: Set<PixelRect> = []
        for y in 0..<newer.size.height {
            for x in 0..<newer.size.width where (newer[x, y] ^ older[x, y]) & 0xff_ffff != 0 {
                let tile = tile(x, y, in: newer.size)
                if hint?.rects.contains(where: { !$0.intersection(tile).isEmpty }) != false { tiles.insert(tile) }
            }
        }
        return tiles
    }

    @Test(
        "A picture is wholly changed at first, after a reset and in another size, and then equal to itself",
        arguments: sizes)
    func equalPictures(size: PixelSize) {
        let (older, newer) = (Canvas(size, padding: 7), Canvas(size, padding: 0))
        older.fill { x, y in UInt32(truncatingIfNeeded: x &* 2_654_435_761 ^ y) }
        // Only the unused byte differs.
        newer.fill { x, y in older[x, y] ^ 0xff00_0000 }
        let whole = DamageRegion(PixelRect(size))
        for kernel in Self.kernels {
            var comparison = PictureComparison()
            func damage(_ picture: Canvas, _ size: PixelSize, _ hint: DamageRegion? = nil) -> DamageRegion {
                comparison.damage(of: picture.plane, size: size, within: hint, copyingTo: nil, kernel: kernel)
            }
            #expect(damage(older, size, DamageRegion()) == whole)
            #expect(damage(newer, size).isEmpty)
            comparison.reset()
            #expect(damage(newer, size) == whole)
            let smaller = PixelSize(width: size.width, height: max(1, size.height - 1))
            #expect(damage(newer, smaller) == (smaller == size ? DamageRegion() : DamageRegion(PixelRect(smaller))))
            #expect(damage(newer, size) == (smaller == size ? DamageRegion() : whole))
        }
    }

    @Test func blackIsFoundAtFirstToo() {
        let size = PixelSize(width: 100, height: 20)
        let black = Canvas(size, padding: 0)
        black.fill { _, _ in 0 }
        var comparison = PictureComparison()
        #expect(comparison.damage(of: black.plane, size: size) == DamageRegion(PixelRect(size)))
    }

    @Test("A changed bit of any colour in any place is found", arguments: sizes)
    func anyBit(size: PixelSize) {
        let picture = Canvas(size, padding: 4)
        picture.fill { x, y in UInt32(truncatingIfNeeded: x ^ y &* 40503) }
        var generator = SeededGenerator(seed: 1)
        var places = [(0, 0), (size.width - 1, 0), (0, size.height - 1), (size.width - 1, size.height - 1)]
        for _ in 0..<60 {
            places.append(
                (Int.random(in: 0..<size.width, using: &generator), Int.random(in: 0..<size.height, using: &generator)))
        }
        for kernel in Self.kernels {
            var comparison = PictureComparison()
            _ = comparison.damage(
                of: picture.plane, size: size, within: nil, copyingTo: nil, kernel: kernel)
            for (x, y) in places {
                picture[x, y] ^= UInt32(1) << UInt32.random(in: 0..<24, using: &generator)
                let damage = comparison.damage(
                    of: picture.plane, size: size, within: nil, copyingTo: nil, kernel: kernel)
                let tile = Self.tile(x, y, in: size)
                #expect(damage.rects == [tile.area * 2 >= size.area ? PixelRect(size) : tile])
            }
        }
    }

    @Test("Random changes, hints and strides against a plain reference", arguments: sizes, kernels)
    func randomChanges(size: PixelSize, kernel: PixelConversion.Kernel) {
        var generator = SeededGenerator(seed: UInt64(size.width))
        var comparison = PictureComparison()
        var older = Canvas(size, padding: 3)
        older.fill { _, _ in UInt32(truncatingIfNeeded: generator.next()) }
        _ = comparison.damage(of: older.plane, size: size, within: nil, copyingTo: nil, kernel: kernel)
        for round in 0..<12 {
            let newer = Canvas(size, padding: Int.random(in: 0...9, using: &generator), isUpsideDown: round % 2 == 1)
            newer.fill { x, y in older[x, y] }
            for _ in 0..<[1, 5, 0, 300][round % 4] {
                let x = Int.random(in: 0..<size.width, using: &generator)
                newer[x, Int.random(in: 0..<size.height, using: &generator)] = UInt32(
                    truncatingIfNeeded: generator.next())
            }
            var hint: DamageRegion?
            if round % 3 != 0 {
                hint = DamageRegion()
                for _ in 0..<Int.random(in: 0...4, using: &generator) {
                    // Beyond the edges, too.
                    hint?.insert(
                        PixelRect(
                            x: Int.random(in: -9...size.width, using: &generator),
                            y: Int.random(in: -9...size.height, using: &generator),
                            width: Int.random(in: 0...size.width + 20, using: &generator),
                            height: Int.random(in: 0...40, using: &generator)))
                }
            }
            let expected = Self.reference(newer, older, hint)
            let copy = Canvas(size, padding: 5, isUpsideDown: round % 3 == 2)
            copy.fill { _, _ in 0x1234_5678 }
            let damage = comparison.damage(
                of: newer.plane, size: size, within: hint, copyingTo: copy.plane, kernel: kernel)
            check(damage, expected, newer, copy)
            // What the hint has kept from being looked at is found later.
            let rest = comparison.damage(of: newer.plane, size: size, within: nil, copyingTo: nil, kernel: kernel)
            let missed = Self.reference(newer, older, nil).subtracting(expected)
            #expect(missed.allSatisfy { tile in rest.rects.contains { $0.contains(tile) } })
            if missed.isEmpty { #expect(rest.isEmpty) }
            older = newer
        }
    }

    private func check(_ damage: DamageRegion, _ expected: Set<PixelRect>, _ newer: Canvas, _ copy: Canvas) {
        let size = newer.size
        #expect(damage.rects.count <= DamageRegion.limit)
        #expect(expected.allSatisfy { tile in damage.rects.contains { $0.contains(tile) } })
        #expect(damage.rects.allSatisfy { PixelRect(size).contains($0) })
        if expected.isEmpty { #expect(damage.isEmpty) }
        var wrong = 0
        for y in 0..<size.height {
            for x in 0..<size.width {
                let isCopied = expected.contains(Self.tile(x, y, in: size))
                if copy[x, y] != (isCopied ? newer[x, y] : 0x1234_5678) { wrong += 1 }
            }
        }
        #expect(wrong == 0)
        #expect(copy.hasItsPadding)
    }

    @Test("Changes that keep sums and exchange pixels are found: a tile is turned, moved and permuted")
    func rearranged() {
        let size = PixelSize(width: 64, height: 16)
        let picture = Canvas(size, padding: 0)
        var generator = SeededGenerator(seed: 7)
        let colours = (0..<1024).map { _ in UInt32(truncatingIfNeeded: generator.next()) & 0xff_ffff }
        let arrangements: [(Int, Int) -> Int] = [
            { x, y in y * 64 + x }, { x, y in y * 64 + (x ^ 1) }, { x, y in y * 64 + (x ^ 8) },
            { x, y in (y ^ 1) * 64 + x }, { x, y in (15 - y) * 64 + 63 - x }, { x, y in y * 64 + (x + 8) % 64 },
        ]
        for kernel in Self.kernels {
            var comparison = PictureComparison()
            for arrangement in arrangements {
                picture.fill { x, y in colours[arrangement(x, y)] }
                #expect(
                    !comparison.damage(of: picture.plane, size: size, within: nil, copyingTo: nil, kernel: kernel)
                        .isEmpty)
            }
        }
    }
}
