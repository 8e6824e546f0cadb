import BeamMedia
import BeamPixels

/// The content of exact patches, which comes from a peer: properties that hold for any. `Scripts/fuzz` runs them, too.
enum PatchFuzzBodies {
    /// Of one tile, of whole tiles, and with tiles that are cut at both edges.
    static let sizes = [(16, 16), (96, 64), (100, 70), (1, 1), (333, 17)].map { PixelSize(width: $0.0, height: $0.1) }

    /// The first byte chooses the picture's size. Content is refused, or its rectangles are a patch's, nothing outside of
    /// them is written, and it says the same after it is made again.
    static func content(_ bytes: [UInt8]) -> String? {
        guard let first = bytes.first else { return nil }
        let size = sizes[Int(first) % sizes.count]
        var codec = PatchCodec()
        guard
            case .success(let patch) = Result(catching: {
                try codec.decode(Array(bytes.dropFirst()), pictureSize: size)
            })
        else { return nil }
        let plan = patch.plan
        guard (plan.move == nil ? 1 : 0)...PatchCodec.mostRectangles ~= patch.rects.count else {
            return "\(patch.rects.count) rectangles"
        }
        guard plan.move?.isInside(size) ?? true else { return "pixels move from or to outside" }
        for (index, rect) in patch.rects.enumerated() {
            let isValid =
                plan.basis == nil
                ? ExactTiles.contains(rect, in: size) : !rect.isEmpty && PixelRect(size).contains(rect)
            guard isValid else { return "\(rect) isn't a patch's rectangle" }
            guard patch.rects[..<index].allSatisfy({ $0.intersection(rect).isEmpty }) else { return "an overlap" }
        }
        let shown = written(patch, size)
        guard isUntouched(shown, outside: patch.rects) else { return "a pixel outside of the rectangles is written" }
        guard let again = codec.encode(plan, of: shown, atMost: 1 << 20),
            case .success(let second) = Result(catching: { try codec.decode(again, pictureSize: size) })
        else { return "it can't be made again" }
        return second.plan == plan && pixels(written(second, size)) == pixels(shown)
            ? nil : "a patch differs after the round trip"
    }

    /// The fourth byte of a pixel that nobody has written; patches write 255.
    private static let unwritten: UInt32 = 0x7f00_0000

    private static func written(_ patch: DecodedPatch, _ size: PixelSize) -> PixelBuffer {
        let buffer = PixelBuffer(format: .bgrx, size: size)
        let plane = buffer.planes[0]
        for y in 0..<size.height {
            (plane.base + y * plane.stride).initializeMemory(as: UInt32.self, repeating: unwritten, count: size.width)
        }
        for (index, rect) in patch.rects.enumerated() { patch.copy(index, part: rect, into: plane) }
        // Where it moves what nobody has written, that stays so.
        let copy = PixelBuffer(format: .bgrx, size: size)
        for y in 0..<size.height {
            (copy.planes[0].base + y * copy.planes[0].stride).copyMemory(
                from: plane.base + y * plane.stride, byteCount: 4 * size.width)
        }
        patch.move(in: copy.planes[0])
        return buffer
    }

    private static func pixels(_ buffer: PixelBuffer) -> [[UInt32]] {
        let plane = buffer.planes[0]
        return (0..<buffer.size.height).map { y in
            (0..<buffer.size.width).map { x in
                (plane.base + y * plane.stride + 4 * x).load(as: UInt32.self)
            }
        }
    }

    private static func isUntouched(_ buffer: PixelBuffer, outside rects: [PixelRect]) -> Bool {
        pixels(buffer).enumerated().allSatisfy { y, row in
            row.enumerated().allSatisfy { x, pixel in
                let place = PixelRect(x: x, y: y, width: 1, height: 1)
                return rects.contains { $0.contains(place) } ? pixel >> 24 == 0xff : pixel == unwritten
            }
        }
    }
}
