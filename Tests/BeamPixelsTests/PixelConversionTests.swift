import BeamMedia
import Glibc
import Testing

@testable import BeamPixels

private let sizes = [
    (1, 1), (2, 2), (1, 7), (7, 1), (3, 3), (31, 5), (32, 4), (33, 6), (64, 2), (67, 35), (131, 9), (1100, 3),
]
.map { PixelSize(width: $0.0, height: $0.1) }

private let colours = [ColourDescription.Matrix.bt709, .bt601, .bt2020].flatMap {
    [ColourDescription(matrix: $0, isFullRange: false), ColourDescription(matrix: $0, isFullRange: true)]
}

@Suite struct ToI420Tests {
    @Test(arguments: sizes) func matchesTheFormula(_ size: PixelSize) {
        let source = PixelBuffer.noise(.bgrx, size, seed: 1)
        let result = PixelBuffer(format: .i420, size: size)
        PixelConversion.bgrxToI420(source, into: result, rects: DamageRegion(PixelRect(size)))
        var worst = 0.0
        func sample(_ x: Int, _ y: Int, _ channel: Int) -> Double {
            Double(source[plane: 0, 4 * min(x, size.width - 1) + channel, min(y, size.height - 1)])
        }
        for y in 0..<size.height {
            for x in 0..<size.width {
                let exact = Reference.yuv(red: sample(x, y, 2), green: sample(x, y, 1), blue: sample(x, y, 0))
                worst = max(worst, abs(exact.y - Double(result[plane: 0, x, y])))
            }
        }
        for y in 0..<(size.height + 1) / 2 {
            for x in 0..<(size.width + 1) / 2 {
                func mean(_ channel: Int) -> Double {
                    let (left, top) = (2 * x, 2 * y)
                    let upper = sample(left, top, channel) + sample(left + 1, top, channel)
                    let lower = sample(left, top + 1, channel) + sample(left + 1, top + 1, channel)
                    return (upper + lower) / 4
                }
                let exact = Reference.yuv(red: mean(2), green: mean(1), blue: mean(0))
                worst = max(worst, abs(exact.u - Double(result[plane: 1, x, y])))
                worst = max(worst, abs(exact.v - Double(result[plane: 2, x, y])))
            }
        }
        #expect(worst <= 0.52)
    }

    @Test(arguments: sizes) func variantsAgree(_ size: PixelSize) {
        let source = PixelBuffer.noise(.bgrx, size, seed: 2)
        let fast = PixelBuffer(format: .i420, size: size)
        let plain = PixelBuffer(format: .i420, size: size)
        PixelConversion.bgrxToI420(source, into: fast, rects: DamageRegion(PixelRect(size)), kernel: .best)
        PixelConversion.bgrxToI420(source, into: plain, rects: DamageRegion(PixelRect(size)), kernel: .portable)
        for plane in 0..<3 { #expect(PictureQuality.psnr(fast, plain, plane: plane) == .infinity) }
    }

    @Test func touchesOnlyTheWidenedRectangles() {
        let size = PixelSize(width: 101, height: 63)
        let source = PixelBuffer.noise(.bgrx, size, seed: 3)
        let whole = PixelBuffer(format: .i420, size: size)
        PixelConversion.bgrxToI420(source, into: whole, rects: DamageRegion(PixelRect(size)))
        let part = PixelBuffer(format: .i420, size: size)
        part.fill(77)
        var region = DamageRegion()
        region.insert(PixelRect(x: 5, y: 7, width: 40, height: 3))
        region.insert(PixelRect(x: 60, y: 21, width: 100, height: 100))
        PixelConversion.bgrxToI420(source, into: part, rects: region)
        let widened = [PixelRect(x: 4, y: 6, width: 42, height: 4), PixelRect(x: 60, y: 20, width: 41, height: 43)]
        func inside(_ x: Int, _ y: Int) -> Bool {
            widened.contains { $0.contains(PixelRect(x: x, y: y, width: 1, height: 1)) }
        }
        var wrong = 0
        for plane in 0..<3 {
            let step = plane == 0 ? 1 : 2
            let (width, height) = PixelFormat.i420.plane(plane, of: size)
            for y in 0..<height {
                for x in 0..<width {
                    let expected = inside(x * step, y * step) ? whole[plane: plane, x, y] : 77
                    if part[plane: plane, x, y] != expected { wrong += 1 }
                }
            }
        }
        #expect(wrong == 0)
    }

    @Test func greysHaveNoColour() {
        let size = PixelSize(width: 256, height: 2)
        let source = PixelBuffer(format: .bgrx, size: size)
        for byte in 0..<4 * 256 { for y in 0..<2 { source[plane: 0, byte, y] = UInt8(byte / 4) } }
        let result = PixelBuffer(format: .i420, size: size)
        PixelConversion.bgrxToI420(source, into: result, rects: DamageRegion(PixelRect(size)))
        #expect(result[plane: 0, 0, 0] == 16)
        #expect(result[plane: 0, 255, 1] == 235)
        for x in 0..<128 {
            #expect(result[plane: 1, x, 0] == 128)
            #expect(result[plane: 2, x, 0] == 128)
        }
    }
}

@Suite struct ToBGRXTests {
    /// The largest difference between any byte of `rect` and the exact formula.
    private func worstDifference(
        _ source: PixelBuffer, _ colour: ColourDescription, rect: PixelRect, kernel: PixelConversion.Kernel
    ) -> Double {
        let result = PixelBuffer(format: .bgrx, size: rect.size)
        PixelConversion.toBGRX(
            source, colour: colour, into: result.planes[0].base, stride: result.planes[0].stride, rect: rect,
            kernel: kernel)
        var worst = 0.0
        let reference = source.format == .i420 ? ChromaReference(source) : nil
        for y in 0..<rect.height {
            for x in 0..<rect.width {
                let (column, row) = (rect.x + x, rect.y + y)
                let (u, v) =
                    reference?.chroma(x: column, y: row)
                    ?? (Double(source[plane: 1, column, row]), Double(source[plane: 2, column, row]))
                let exact = Reference.bgr(y: Double(source[plane: 0, column, row]), u: u, v: v, colour)
                for channel in 0..<3 {
                    worst = max(worst, abs(exact[channel] - Double(result[plane: 0, 4 * x + channel, y])))
                }
                if result[plane: 0, 4 * x + 3, y] != 255 { worst = .infinity }
            }
        }
        return worst
    }

    @Test(arguments: colours, [PixelFormat.i420, .i444]) func matchesTheFormula(
        _ colour: ColourDescription, _ format: PixelFormat
    ) {
        let size = PixelSize(width: 131, height: 17)
        var sources = [PixelBuffer.noise(format, size, seed: 4)]
        if format == .i420 { sources.append(PixelBuffer.strokes(size, seed: 4).halved) }
        for source in sources {
            #expect(worstDifference(source, colour, rect: PixelRect(size), kernel: .best) < 0.75)
            #expect(worstDifference(source, colour, rect: PixelRect(size), kernel: .portable) < 0.75)
        }
    }

    @Test(arguments: sizes) func anySizeIsConverted(_ size: PixelSize) {
        for format in [PixelFormat.i420, .i444] {
            let source = PixelBuffer.noise(format, size, seed: 5)
            #expect(worstDifference(source, .bt709Limited, rect: PixelRect(size), kernel: .best) < 0.75)
        }
    }

    @Test func partsEqualTheWholePicture() {
        let size = PixelSize(width: 1111, height: 13)
        var generator = SeededGenerator(seed: 6)
        let sources = [
            PixelBuffer.noise(.i420, size, seed: 7), PixelBuffer.noise(.i444, size, seed: 7),
            PixelBuffer.strokes(size, seed: 7).halved,
        ]
        for source in sources {
            let whole = PixelBuffer(format: .bgrx, size: size)
            PixelConversion.toBGRX(
                source, colour: .bt709Limited, into: whole.planes[0].base, stride: whole.planes[0].stride,
                rect: PixelRect(size), kernel: .portable)
            for _ in 0..<60 {
                let x = Int.random(in: 0..<size.width, using: &generator)
                let y = Int.random(in: 0..<size.height, using: &generator)
                let rect = PixelRect(
                    x: x, y: y, width: Int.random(in: 1...size.width - x, using: &generator),
                    height: Int.random(in: 1...size.height - y, using: &generator))
                // A margin of one pixel on each side, which must not change.
                let canvas = PixelBuffer(
                    format: .bgrx, size: PixelSize(width: rect.width + 2, height: rect.height + 2))
                canvas.fill(99)
                let stride = canvas.planes[0].stride
                PixelConversion.toBGRX(
                    source, colour: .bt709Limited, into: canvas.planes[0].base + stride + 4, stride: stride, rect: rect)
                var wrong = 0
                for row in 0..<rect.height + 2 {
                    for byte in 0..<4 * (rect.width + 2) {
                        let inside = row > 0 && row <= rect.height && byte >= 4 && byte < 4 * (rect.width + 1)
                        let expected = inside ? whole[plane: 0, byte - 4 + 4 * rect.x, row - 1 + rect.y] : 99
                        if canvas[plane: 0, byte, row] != expected { wrong += 1 }
                    }
                }
                #expect(wrong == 0, "\(source.format) \(rect)")
            }
        }
    }

    @Test(arguments: colours) func matrixMatchesTheFormula(_ colour: ColourDescription) {
        let matrix = ColourMatrix(colour)
        for (y, u, v) in [(16.0, 128.0, 128.0), (235, 128, 128), (100, 90, 160), (0, 0, 0), (255, 255, 255)] {
            let exact = Reference.bgr(y: y, u: u, v: v, colour)
            func value(_ row: ColourMatrix.Row, _ offset: Double) -> Double {
                min(255, max(0, 255 * (row.y * y / 255 + row.cb * u / 255 + row.cr * v / 255 + offset)))
            }
            #expect(abs(value(matrix.red, matrix.offsets.red) - exact[2]) < 1e-9)
            #expect(abs(value(matrix.green, matrix.offsets.green) - exact[1]) < 1e-9)
            #expect(abs(value(matrix.blue, matrix.offsets.blue) - exact[0]) < 1e-9)
        }
        let transposed = (0..<9).map { index in matrix.rowMajor[index % 3 * 3 + index / 3] }
        #expect(matrix.columnMajor == transposed)
    }
}

@Suite struct GuidedChromaTests {
    /// The picture after conversion to 4:2:0 and back.
    private func shown(_ planar: PixelBuffer, kernel: PixelConversion.Kernel = .best) -> PixelBuffer {
        let result = PixelBuffer(format: .bgrx, size: planar.size)
        PixelConversion.toBGRX(
            planar, colour: .bt709Limited, into: result.planes[0].base, stride: result.planes[0].stride,
            rect: PixelRect(planar.size), kernel: kernel)
        return result
    }

    /// The same with plain chroma interpolation.
    private func bilinear(_ planar: PixelBuffer) -> PixelBuffer {
        let result = PixelBuffer(format: .bgrx, size: planar.size)
        for y in 0..<planar.size.height {
            for x in 0..<planar.size.width {
                let colour = Reference.bgr(
                    y: Double(planar[plane: 0, x, y]), u: ChromaReference.bilinear(planar, plane: 1, x: x, y: y),
                    v: ChromaReference.bilinear(planar, plane: 2, x: x, y: y), .bt709Limited)
                for channel in 0..<3 { result[plane: 0, 4 * x + channel, y] = UInt8(colour[channel].rounded()) }
                result[plane: 0, 4 * x + 3, y] = 255
            }
        }
        return result
    }

    private func ratio(_ a: PixelBuffer, _ b: PixelBuffer) -> Double {
        var sum = 0.0
        for y in 0..<a.size.height {
            for byte in 0..<4 * a.size.width where byte % 4 != 3 {
                let difference = Double(a[plane: 0, byte, y]) - Double(b[plane: 0, byte, y])
                sum += difference * difference
            }
        }
        return 10 * log10(255 * 255 * 3 * Double(a.size.area) / sum)
    }

    @Test func strokesOfAnyColourStaySharp() {
        let size = PixelSize(width: 160, height: 96)
        let picture = PixelBuffer.strokes(size, seed: 11)
        let planar = picture.halved
        let (guided, soft) = (ratio(shown(planar), picture), ratio(bilinear(planar), picture))
        print("Coloured strokes: guided \(guided) dB, bilinear \(soft) dB")
        #expect(guided > soft + 4)
    }

    /// Content that was 4:2:0 before, such as film: its luma detail says nothing about chroma.
    @Test func lumaDetailDoesNotCreateChromaDetail() {
        let size = PixelSize(width: 128, height: 64)
        var generator = SeededGenerator(seed: 12)
        let planar = PixelBuffer(format: .i420, size: size)
        for y in 0..<size.height {
            for x in 0..<size.width {
                planar[plane: 0, x, y] = UInt8(60 + x / 2 + Int.random(in: 0..<24, using: &generator))
            }
        }
        for y in 0..<size.height / 2 {
            for x in 0..<size.width / 2 {
                planar[plane: 1, x, y] = UInt8(90 + x / 2 + Int.random(in: 0..<2, using: &generator))
                planar[plane: 2, x, y] = UInt8(150 - x / 2 + y / 4 + Int.random(in: 0..<2, using: &generator))
            }
        }
        let (guided, soft) = (shown(planar), bilinear(planar))
        var worst = 0
        for y in 0..<size.height {
            for byte in 0..<4 * size.width {
                worst = max(worst, abs(Int(guided[plane: 0, byte, y]) - Int(soft[plane: 0, byte, y])))
            }
        }
        #expect(worst <= 1)
    }

    @Test(arguments: sizes) func variantsAgree(_ size: PixelSize) {
        for planar in [PixelBuffer.noise(.i420, size, seed: 13), PixelBuffer.strokes(size, seed: 13).halved] {
            let (fast, plain) = (shown(planar), shown(planar, kernel: .portable))
            var differing = 0
            for y in 0..<size.height {
                for byte in 0..<4 * size.width where fast[plane: 0, byte, y] != plain[plane: 0, byte, y] {
                    differing += 1
                }
            }
            #expect(differing == 0)
        }
    }
}

@Suite struct PictureQualityTests {
    @Test func equalPictures() {
        let a = PixelBuffer.noise(.i420, PixelSize(width: 37, height: 21), seed: 8)
        #expect(PictureQuality.psnr(a, a) == .infinity)
        #expect(abs(PictureQuality.ssim(a, a) - 1) < 1e-12)
    }

    @Test func oneStepEverywhere() {
        let size = PixelSize(width: 40, height: 24)
        let (a, b) = (PixelBuffer(format: .i420, size: size), PixelBuffer(format: .i420, size: size))
        a.fill(100)
        b.fill(101)
        // 10 × log10(255² / 1)
        #expect(abs(PictureQuality.psnr(a, b) - 48.1308) < 0.0001)
        #expect(PictureQuality.ssim(a, b) > 0.999)
        let noise = PixelBuffer.noise(.i420, size, seed: 9)
        #expect(PictureQuality.ssim(a, noise) < 0.1)
        #expect(PictureQuality.psnr(a, noise, plane: 2) < 12)
    }

    /// The windows reach the last row and column for any remainder of the sides divided by 4.
    @Test(arguments: [(8, 8), (16, 12), (37, 21), (64, 48)]) func changesAtTheEdgesCount(_ width: Int, _ height: Int) {
        let size = PixelSize(width: width, height: height)
        // The last windows begin at multiples of 4.
        let (right, bottom) = ((width - 8) / 4 * 4 + 7, (height - 8) / 4 * 4 + 7)
        let a = PixelBuffer.noise(.i420, size, seed: 11)
        for (x, y) in [(right, 0), (0, bottom), (right, bottom)] {
            let b = PixelBuffer.noise(.i420, size, seed: 11)
            let sample = b.planes[0].base + y * b.planes[0].stride + x
            sample.storeBytes(of: sample.load(as: UInt8.self) ^ 0x80, as: UInt8.self)
            #expect(PictureQuality.ssim(a, b) < 1 - 1e-6, "\(x), \(y)")
            #expect(PictureQuality.psnr(a, b) < .infinity)
        }
    }

    @Test func meansAreTheMeansOfTheCoveredSamples() {
        let size = PixelSize(width: 64, height: 36)
        let buffer = PixelBuffer.noise(.i420, size, seed: 12)
        let means = PlaneScaling.means(of: buffer.planes[0], size, to: PixelSize(width: 16, height: 6))
        for y in 0..<6 {
            for x in 0..<16 {
                var sum = 0
                for row in 0..<6 { for column in 0..<4 { sum += Int(buffer[plane: 0, 4 * x + column, 6 * y + row]) } }
                #expect(abs(Double(means[16 * y + x]) - Double(sum) / 24) <= 1, "\(x), \(y)")
            }
        }
    }

    @Test(arguments: [(1, 1), (5, 9), (8, 8)]) func smallPictures(_ width: Int, _ height: Int) {
        let size = PixelSize(width: width, height: height)
        let a = PixelBuffer.noise(.i420, size, seed: 10)
        #expect(abs(PictureQuality.ssim(a, a) - 1) < 1e-9)
    }
}
