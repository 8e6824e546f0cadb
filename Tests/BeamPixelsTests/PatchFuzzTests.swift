import BeamMedia
import Foundation
import Testing

@testable import BeamPixels

/// Contents of patches with damage: each is read or refused. `BEAMROOM_FUZZ_SEED` is the first seed,
/// `BEAMROOM_FUZZ_ITERATIONS` the number; a failure names the seed that repeats it.
@Suite struct PatchFuzzTests {
    private static var seeds: Range<UInt64> {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["BEAMROOM_FUZZ_SEED"].flatMap { UInt64($0) } ?? 1
        return first..<first + max(1, environment["BEAMROOM_FUZZ_ITERATIONS"].flatMap { UInt64($0) } ?? 5000)
    }

    /// Of each size the content of all tiles, and of some.
    static func golden() -> [[UInt8]] {
        var codec = PatchCodec()
        return PatchFuzzBodies.sizes.enumerated().flatMap { index, size -> [[UInt8]] in
            let picture = PixelBuffer.noise(.bgrx, size, seed: UInt64(index))
            // Half of it is flat, so that there are repeats, too.
            for y in 0..<size.height / 2 {
                for x in 0..<4 * size.width { picture[plane: 0, x, y] = 0x40 }
            }
            let corner = PixelRect(x: size.width - 1, y: size.height - 1, width: 1, height: 1)
            let basis = PatchPlan.Basis(previous: 16_000, needed: .max)
            let most = PixelRect(x: 0, y: 0, width: size.width, height: max(1, size.height - 7))
            return [
                PatchPlan(rects: [PixelRect(size)]), PatchPlan(rects: [corner], basis: basis),
                PatchPlan(
                    rects: [corner], move: PixelMove(target: most, dx: 0, dy: size.height - most.height), basis: basis),
            ].compactMap { plan in
                codec.encode(plan, of: picture, atMost: 1 << 20).map { [UInt8(index)] + $0 }
            }
        }
    }

    @Test func anyContentIsRefusedOrReadBack() {
        let golden = Self.golden()
        for bytes in golden { #expect(PatchFuzzBodies.content(bytes) == nil) }
        for seed in Self.seeds {
            var random = SeededGenerator(seed: seed)
            var bytes = golden.randomElement(using: &random) ?? []
            for _ in 0..<Int.random(in: 1...4, using: &random) { Self.damage(&bytes, &random) }
            if let error = PatchFuzzBodies.content(bytes) { Issue.record("seed \(seed): \(error)") }
        }
    }

    /// Mostly of the rectangles and of the frame's head, because most damage of the pixels is only another picture.
    private static func damage(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        let most = Bool.random(using: &random) ? bytes.count : min(bytes.count, 40)
        let place = Int.random(in: 0...most, using: &random)
        let end = Int.random(in: place...min(bytes.count, place + 16), using: &random)
        switch Int.random(in: 0..<6, using: &random) {
        case 0 where place < bytes.count:
            bytes[place] = [0, 1, 2, 15, 16, 17, 64, 65, 255].randomElement(using: &random)!
        case 1 where place < bytes.count: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        case 2: bytes.removeSubrange(place..<end)
        case 3: bytes.insert(contentsOf: bytes[place..<end], at: place)
        case 4: bytes.removeSubrange(end...)
        default: bytes.insert(UInt8.random(in: 0...255, using: &random), at: place)
        }
    }

    /// Where `Scripts/fuzz --sanitize` begins, and what once failed there.
    @Test func theCorpusPasses() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "BeamProtocolTests/Fuzz/Corpus/patch")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(!files.isEmpty)
        for file in files {
            if let error = PatchFuzzBodies.content([UInt8](try Data(contentsOf: file))) {
                Issue.record("\(file.path): \(error)")
            }
        }
    }
}
