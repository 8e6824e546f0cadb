import BeamMedia
import Testing

@testable import BeamPixels

@Suite struct ToI444Tests {
    private static let sizes = [(1, 1), (7, 1), (31, 5), (32, 4), (33, 6), (67, 35), (131, 9), (1100, 3)]
        .map { PixelSize(width: $0.0, height: $0.1) }

    @Test(arguments: sizes) func matchesTheFormula(_ size: PixelSize) {
        let source = PixelBuffer.noise(.bgrx, size, seed: 1)
        let result = PixelBuffer(format: .i444, size: size)
        PixelConversion.bgrxToI444(source, into: result, rects: DamageRegion(PixelRect(size)))
        var worst = 0.0
        for y in 0..<size.height {
            for x in 0..<size.width {
                let exact = Reference.yuv(
                    red: Double(source[plane: 0, 4 * x + 2, y]), green: Double(source[plane: 0, 4 * x + 1, y]),
                    blue: Double(source[plane: 0, 4 * x, y]))
                for (plane, value) in [exact.y, exact.u, exact.v].enumerated() {
                    worst = max(worst, abs(value - Double(result[plane: plane, x, y])))
                }
            }
        }
        #expect(worst <= 0.52)
    }

    @Test(arguments: sizes) func variantsAgree(_ size: PixelSize) {
        let source = PixelBuffer.noise(.bgrx, size, seed: 2)
        let (fast, plain) = (PixelBuffer(format: .i444, size: size), PixelBuffer(format: .i444, size: size))
        let whole = DamageRegion(PixelRect(size))
        PixelConversion.bgrxToI444(source, into: fast, rects: whole, kernel: .best)
        PixelConversion.bgrxToI444(source, into: plain, rects: whole, kernel: .portable)
        for plane in 0..<3 { #expect(PictureQuality.psnr(fast, plain, plane: plane) == .infinity) }
    }

    @Test func touchesOnlyTheRectangles() {
        let size = PixelSize(width: 101, height: 63)
        let source = PixelBuffer.noise(.bgrx, size, seed: 3)
        let (whole, part) = (PixelBuffer(format: .i444, size: size), PixelBuffer(format: .i444, size: size))
        PixelConversion.bgrxToI444(source, into: whole, rects: DamageRegion(PixelRect(size)))
        part.fill(7)
        let rect = PixelRect(x: 13, y: 5, width: 51, height: 21)
        PixelConversion.bgrxToI444(source, into: part, rects: DamageRegion(rect))
        var wrong = 0
        for plane in 0..<3 {
            for y in 0..<size.height {
                for x in 0..<size.width {
                    let isInside = (rect.x..<rect.maxX).contains(x) && (rect.y..<rect.maxY).contains(y)
                    if part[plane: plane, x, y] != (isInside ? whole[plane: plane, x, y] : 7) { wrong += 1 }
                }
            }
        }
        #expect(wrong == 0)
    }
}
