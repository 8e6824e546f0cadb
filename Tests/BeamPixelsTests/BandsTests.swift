import BeamMedia
import Glibc
import Testing

@testable import BeamPixels

/// Large pictures are shared with a second thread in bands. The result must equal that of small parts, whatever other
/// threads convert meanwhile.
@Suite struct BandsTests {
    // Odd, and large enough for several bands.
    private static let size = PixelSize(width: 1283, height: 721)

    /// Slices with few enough rows to be one band each.
    private static var slices: [PixelRect] {
        stride(from: 0, to: size.height, by: 40).map {
            PixelRect(x: 0, y: $0, width: size.width, height: min(40, size.height - $0))
        }
    }

    private func isSame(_ a: PixelBuffer, _ b: PixelBuffer) -> Bool {
        (0..<a.format.planeCount).allSatisfy { plane in
            let (rowBytes, rows) = a.format.plane(plane, of: a.size)
            return (0..<rows).allSatisfy { y in
                let (p, q) = (a.planes[plane], b.planes[plane])
                return memcmp(p.base + y * p.stride, q.base + y * q.stride, rowBytes) == 0
            }
        }
    }

    private func planar(_ source: PixelBuffer, _ format: PixelFormat, rects: [PixelRect]) -> PixelBuffer {
        let result = PixelBuffer(format: format, size: source.size)
        for rect in rects {
            if format == .i420 {
                PixelConversion.bgrxToI420(source, into: result, rects: DamageRegion(rect))
            } else {
                PixelConversion.bgrxToI444(source, into: result, rects: DamageRegion(rect))
            }
        }
        return result
    }

    private func shown(_ source: PixelBuffer, rects: [PixelRect]) -> PixelBuffer {
        let result = PixelBuffer(format: .bgrx, size: source.size)
        let plane = result.planes[0]
        for rect in rects {
            PixelConversion.toBGRX(
                source, colour: .bt709Limited, into: plane.base + rect.y * plane.stride + 4 * rect.x,
                stride: plane.stride, rect: rect)
        }
        return result
    }

    @Test func bandsEqualSmallParts() async {
        let whole = [PixelRect(Self.size)]
        await withTaskGroup { group in
            for seed in 1...3 as ClosedRange<UInt64> {
                group.addTask {
                    let source = PixelBuffer.noise(.bgrx, Self.size, seed: seed)
                    for format in [PixelFormat.i420, .i444] {
                        let parts = planar(source, format, rects: Self.slices)
                        let back = shown(parts, rects: Self.slices)
                        for _ in 0..<20 {
                            #expect(isSame(planar(source, format, rects: whole), parts), "to \(format)")
                            #expect(isSame(shown(parts, rects: whole), back), "from \(format)")
                        }
                    }
                }
            }
        }
    }
}
