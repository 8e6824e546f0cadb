import BeamMedia
import Testing

@testable import BeamPixels

/// The content of exact patches: every pixel comes back, and nothing malformed is taken.
@Suite struct PatchCodecTests {
    private static let size = PixelSize(width: 100, height: 70)

    private static func picture(_ size: PixelSize = size, seed: Int = 1) -> PixelBuffer {
        let buffer = PixelBuffer(format: .bgrx, size: size)
        let plane = buffer.planes[0]
        for y in 0..<size.height {
            for x in 0..<size.width {
                // Text-like in one half, noise in the other.
                let value = x < size.width / 2 ? (x / 3 + y / 5) % 2 * 200 : (x &* 7919 &+ y &* 104_729 &+ seed) % 251
                (plane.base + y * plane.stride + x * 4).storeBytes(
                    of: UInt32(truncatingIfNeeded: value &* 0x01_0305), as: UInt32.self)
            }
        }
        return buffer
    }

    private static func pixel(_ buffer: PixelBuffer, _ x: Int, _ y: Int) -> UInt32 {
        let plane = buffer.planes[0]
        return (plane.base + y * plane.stride + x * 4).load(as: UInt32.self) & 0xff_ffff
    }

    @Test(arguments: [
        PixelSize(width: 100, height: 70), PixelSize(width: 64, height: 48), PixelSize(width: 17, height: 1),
    ])
    func everyPixelComesBack(size: PixelSize) throws {
        var codec = PatchCodec()
        let picture = Self.picture(size)
        let (across, down) = (ExactTiles.across(size), ExactTiles.down(size))
        for seed in 0..<60 {
            // Up to three rectangles that don't overlap.
            var marked = [Bool](repeating: false, count: across * down)
            for tile in marked.indices { marked[tile] = (tile &* 31 &+ seed &* 17) % 5 < 2 }
            let rects = ExactTiles.rectangles(marked, across: across, most: PatchCodec.mostRectangles).map {
                ExactTiles.pixels(of: $0, in: size)
            }
            guard !rects.isEmpty else { continue }
            let made = codec.encode(rects, of: picture, atMost: 1 << 20)
            let content = try #require(made)
            let decoded = try codec.decode(content, pictureSize: size)
            #expect(decoded.rects == rects)
            let target = PixelBuffer(format: .bgrx, size: size)
            for (index, rect) in rects.enumerated() {
                // In two parts, as if one were outdated.
                let upper = PixelRect(x: rect.x, y: rect.y, width: rect.width, height: (rect.height + 1) / 2)
                decoded.copy(index, part: upper, into: target.planes[0])
                decoded.copy(
                    index,
                    part: PixelRect(x: rect.x, y: upper.maxY, width: rect.width, height: rect.maxY - upper.maxY),
                    into: target.planes[0])
                for y in rect.y..<rect.maxY {
                    for x in rect.x..<rect.maxX {
                        guard Self.pixel(target, x, y) == Self.pixel(picture, x, y) else {
                            Issue.record("pixel \(x), \(y) of seed \(seed)")
                            return
                        }
                    }
                }
            }
        }
    }

    @Test func whatIsTooLongIsNotMade() throws {
        var codec = PatchCodec()
        let picture = Self.picture()
        let whole = [PixelRect(Self.size)]
        let made = codec.encode(whole, of: picture, atMost: 1 << 20)
        let content = try #require(made)
        let shorter = codec.encode(whole, of: picture, atMost: content.count - 1)
        #expect(shorter == nil)
        let same = codec.encode(whole, of: picture, atMost: content.count)
        #expect(same == content)
        let nothing = codec.encode([], of: picture, atMost: 1000)
        #expect(nothing == nil)
    }

    @Test func whatIsMalformedIsRefused() throws {
        var codec = PatchCodec()
        let rects = [
            PixelRect(x: 0, y: 0, width: 32, height: 16), PixelRect(x: 96, y: 64, width: 4, height: 6),
        ]
        let made = codec.encode(rects, of: Self.picture(), atMost: 1 << 20)
        let good = try #require(made)
        func refusal(_ change: (inout [UInt8]) -> Void) -> PatchError? {
            var bytes = good
            change(&bytes)
            do throws(PatchError) {
                _ = try codec.decode(bytes, pictureSize: Self.size)
                return nil
            } catch {
                return error
            }
        }
        #expect(refusal { _ in } == nil)
        for length in 0..<good.count { #expect(refusal { $0 = Array($0.prefix(length)) } != nil, "\(length)") }
        #expect(refusal { $0[0] = 1 } == .format(1))
        #expect(refusal { ($0[2], $0[3]) = (0, 0) } == .rectangleCount(0))
        #expect(refusal { $0[2] = 255 } == .rectangleCount(0xFF02))
        #expect(refusal { $0[5] = 8 } == .rectangle(PixelRect(x: 8, y: 0, width: 32, height: 16)))
        #expect(refusal { $0[8] = 255 } == .rectangle(PixelRect(x: 0, y: 0, width: 0xFF20, height: 16)))
        #expect(refusal { ($0[8], $0[9]) = (0, 0) } == .rectangle(PixelRect(x: 0, y: 0, width: 0, height: 16)))
        #expect(refusal { $0.replaceSubrange(12..<20, with: [0, 16, 0, 0, 0, 16, 0, 16]) } != nil)
        // More, or fewer, pixels than the rectangles have.
        #expect(refusal { $0[9] = 16 } == .pixels)
        #expect(refusal { $0[9] = 64 } == .pixels)
        #expect(refusal { $0 += good[20...] } == .pixels)
        #expect(refusal { $0[20] ^= 0xff } == .pixels)
    }

    /// Golden bytes of a change with a move, and what is wrong with others.
    @Test func aMoveIsInsideThePicture() throws {
        var codec = PatchCodec()
        let size = PixelSize(width: 100, height: 70)
        let move = PixelMove(target: PixelRect(x: 3, y: 0, width: 90, height: 50), dx: -3, dy: 17)
        let plan = PatchPlan(rects: [], move: move, basis: .init(previous: 16_000, needed: 0x0102_0304))
        let made = codec.encode(plan, of: Self.picture(), atMost: 1000)
        let good = try #require(made)
        #expect(
            good == [
                2, 3, 0, 0, 0, 0, 0x3E, 0x80, 1, 2, 3, 4, 0, 3, 0, 0, 0, 90, 0, 50, 0xFF, 0xFD, 0, 17,
            ])
        #expect(try PatchCodec.plan(of: good, pictureSize: size) == plan)
        func refusal(_ change: (inout [UInt8]) -> Void) -> PatchError? {
            var bytes = good
            change(&bytes)
            do throws(PatchError) {
                _ = try PatchCodec.plan(of: bytes, pictureSize: size)
                return nil
            } catch {
                return error
            }
        }
        for length in 0..<good.count { #expect(refusal { $0 = Array($0.prefix(length)) } != nil, "\(length)") }
        // From above the picture, from left of it, to beyond its right edge, from below it; of no size, and by nothing.
        for (place, value) in [(22, 0xFF), (21, 0xFC), (17, 98), (23, 21), (17, 0), (19, 0), (16, 1)] {
            let error = refusal { $0[place] = UInt8(value) }
            guard case .move = error else {
                Issue.record("\(place): \(String(describing: error))")
                continue
            }
        }
        #expect(refusal { $0.replaceSubrange(20..<24, with: [0, 0, 0, 0]) } != nil)
        // A move that builds on nothing, and bytes where there are no pixels.
        #expect(refusal { $0[1] = 2 } != nil)
        #expect(refusal { $0.append(0) } == .length(25))
    }

    /// 100 MB of zeros in a few kB, said to be one tile.
    @Test func aBombIsNotUnpacked() throws {
        var codec = PatchCodec()
        let size = PixelSize(width: 8192, height: 4096)
        let black = PixelBuffer(format: .bgrx, size: size)
        let plane = black.planes[0]
        for y in 0..<size.height {
            (plane.base + y * plane.stride).initializeMemory(as: UInt8.self, repeating: 0, count: size.width * 4)
        }
        let made = codec.encode([PixelRect(size)], of: black, atMost: 1 << 20)
        let large = try #require(made)
        #expect(large.count < 65_536)
        var bomb = large
        bomb.replaceSubrange(4..<12, with: [0, 0, 0, 0, 0, 16, 0, 16])
        #expect(throws: PatchError.pixels) { try codec.decode(bomb, pictureSize: size) }
    }

    @Test func anyContentIsRefusedOrRead() throws {
        var codec = PatchCodec()
        let made = codec.encode([PixelRect(x: 0, y: 0, width: 48, height: 32)], of: Self.picture(), atMost: 1 << 20)
        let good = try #require(made)
        var state: UInt64 = 7
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        for _ in 0..<20_000 {
            var bytes = good
            for _ in 0...random(4) { bytes[random(random(2) == 0 ? 24 : bytes.count)] = UInt8(random(256)) }
            if random(4) == 0 { bytes.removeLast(random(bytes.count)) }
            guard let decoded = try? codec.decode(bytes, pictureSize: Self.size) else { continue }
            #expect(decoded.rects.allSatisfy { ExactTiles.contains($0, in: Self.size) })
        }
    }
}
