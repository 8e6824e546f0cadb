import BeamMedia
import Testing

@testable import BeamPixels

/// Packing and unpacking the pixels of patches: both variants, every width and stride.
@Suite struct PatchPackingTests {
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

    private static func bytes(_ buffer: PixelBuffer) -> [UInt8] {
        let count = buffer.planes[0].stride * buffer.size.height
        return [UInt8](UnsafeRawBufferPointer(start: buffer.planes[0].base, count: count))
    }

    /// The last tile's columns at the edge, alone and behind whole ones: more and fewer than a step of the kernels.
    @Test(arguments: [0, 1, 12]) func everyWidthAndStrideComesBack(padding: Int) throws {
        for width in 1...70 {
            let size = PixelSize(width: width, height: 19)
            let source = Self.picture(size, padding: padding, seed: UInt64(width))
            let left = (width - 1) / 16 * 16
            for rects in [[PixelRect(size)], [PixelRect(x: left, y: 16, width: width - left, height: 3)]] {
                var contents: [[UInt8]] = []
                for kernel in [PixelConversion.Kernel.best, .portable] {
                    var codec = PatchCodec(kernel: kernel)
                    let made = codec.encode(rects, of: source, atMost: 1 << 16)
                    let content = try #require(made)
                    contents.append(content)
                    let target = Self.picture(size, padding: padding, seed: 7)
                    var expected = Self.bytes(target)
                    for rect in rects {
                        for y in rect.y..<rect.maxY {
                            for x in rect.x..<rect.maxX {
                                let place = y * source.planes[0].stride + 4 * x
                                expected[place] = source[plane: 0, 4 * x, y]
                                expected[place + 1] = source[plane: 0, 4 * x + 1, y]
                                expected[place + 2] = source[plane: 0, 4 * x + 2, y]
                                expected[place + 3] = 0xff
                            }
                        }
                    }
                    let patch = try codec.decode(content, pictureSize: size)
                    for (index, rect) in rects.enumerated() { patch.copy(index, part: rect, into: target.planes[0]) }
                    // All other bytes, padding included, are as they were.
                    #expect(Self.bytes(target) == expected, "width \(width), \(kernel)")
                }
                #expect(contents[0] == contents[1], "width \(width)")
            }
        }
    }

    /// Memory is used again for the next patch, but not while the last one is in use.
    @Test func aPatchKeepsItsPixelsWhileTheNextIsRead() throws {
        let size = PixelSize(width: 48, height: 32)
        var codec = PatchCodec()
        var patches: [(source: PixelBuffer, patch: DecodedPatch)] = []
        for seed in 0..<4 {
            let source = PixelBuffer.noise(.bgrx, size, seed: UInt64(seed))
            let made = codec.encode([PixelRect(size)], of: source, atMost: 1 << 16)
            let content = try #require(made)
            // One that is let go at once, and one that is kept.
            _ = try codec.decode(content, pictureSize: size)
            patches.append((source, try codec.decode(content, pictureSize: size)))
        }
        for (source, patch) in patches {
            let target = PixelBuffer(format: .bgrx, size: size)
            patch.copy(0, part: PixelRect(size), into: target.planes[0])
            let isEqual = (0..<size.height).allSatisfy { y in
                (0..<4 * size.width).allSatisfy { x in
                    target[plane: 0, x, y] == (x % 4 == 3 ? 0xff : source[plane: 0, x, y])
                }
            }
            #expect(isEqual)
        }
    }

    /// Noise and flat colour, of less and more than the 128 kB that Zstandard compresses at a time.
    @Test func theLimitIsTheContentsLength() throws {
        let size = PixelSize(width: 320, height: 240)
        let picture = PixelBuffer.noise(.bgrx, size, seed: 3)
        for y in 0..<100 {
            for x in 0..<4 * size.width { picture[plane: 0, x, y] = UInt8(x / 400) }
        }
        var codec = PatchCodec()
        for height in stride(from: 16, through: 240, by: 16) {
            for width in [16, 64, 320] {
                let rects = [PixelRect(x: 0, y: 240 - height, width: width, height: height)]
                let made = codec.encode(rects, of: picture, atMost: 1 << 20)
                let content = try #require(made)
                let same = codec.encode(rects, of: picture, atMost: content.count)
                let shorter = codec.encode(rects, of: picture, atMost: content.count - 1)
                #expect(same == content && shorter == nil, "\(width)x\(height)")
            }
        }
    }

    @Test func framesThatAreNotThePixelsAreRefused() throws {
        let size = PixelSize(width: 64, height: 64)
        let rect = [PixelRect(x: 16, y: 16, width: 32, height: 32)]
        var codec = PatchCodec()
        let made = codec.encode(rect, of: .noise(.bgrx, size, seed: 1), atMost: 1 << 16)
        let good = try #require(made)
        _ = try codec.decode(good, pictureSize: size)
        // A frame that is skipped (RFC 8878, 3.1.2), in front of the pixels, behind them and in their place.
        let skipped: [UInt8] = [0x50, 0x2A, 0x4D, 0x18, 2, 0, 0, 0, 9, 9]
        for content in [good[..<12] + skipped + good[12...], good + skipped, good[..<12] + skipped, good + [0]] {
            #expect(throws: PatchError.pixels) { try codec.decode(Array(content), pictureSize: size) }
        }
        // Of another picture: too small for it, or cut otherwise at its edge.
        for other in [
            PixelSize(width: 40, height: 64), PixelSize(width: 47, height: 64), PixelSize(width: 1, height: 1),
        ] {
            #expect(throws: PatchError.rectangle(rect[0])) { try codec.decode(good, pictureSize: other) }
        }
    }
}
