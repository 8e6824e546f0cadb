import BeamMedia
import Testing

@testable import BeamCamera

/// How pictures are fitted into a camera's size and layout.
struct LayoutTests {
    private func picture(
        _ width: Int, _ height: Int, _ format: PixelFormat = .i420, _ colour: ColourDescription = .bt709Limited,
        _ samples: [UInt8] = [100, 60, 200]
    ) -> Picture {
        let buffer = PixelBuffer(format: format, size: PixelSize(width: width, height: height))
        for (index, value) in samples.enumerated() {
            let (_, rows) = format.plane(index, of: buffer.size)
            let plane = buffer.planes[index]
            plane.base.initializeMemory(as: UInt8.self, repeating: value, count: plane.stride * rows)
        }
        return Picture(buffer: buffer, colour: colour, time: .zero)
    }

    private func drawn(_ picture: Picture?, _ layout: CameraLayout) -> [UInt8] {
        let camera = CameraPicture(layout)
        camera.draw(picture)
        return Array(camera.bytes)
    }

    @Test(arguments: [PixelFormat.i420, .i444]) func planesAreWhereTheLayoutSays(format: PixelFormat) {
        let size = PixelSize(width: 4, height: 2)
        #expect(
            drawn(picture(4, 2, format), CameraLayout(.i420, size)) == Array(repeating: 100, count: 8) + [
                60, 60, 200, 200,
            ])
        #expect(
            drawn(picture(4, 2, format), CameraLayout(.nv12, size))
                == Array(repeating: 100, count: 8) + [60, 200, 60, 200])
        #expect(
            drawn(picture(4, 2, format), CameraLayout(.yuyv, size))
                == (0..<4).flatMap { _ in [UInt8(100), 60, 100, 200] })
        // A device's own padding.
        #expect(
            drawn(picture(4, 2, format), CameraLayout(.i420, size, stride: 6))
                == [100, 100, 100, 100, 0, 0, 100, 100, 100, 100, 0, 0, 60, 60, 0, 200, 200, 0])
    }

    @Test func whatIsAroundAPictureIsBlack() {
        // 8 × 4 becomes 8 × 4 in the middle of 8 × 8; 4 × 8 afterwards is in the middle, too.
        let camera = CameraPicture(CameraLayout(.i420, PixelSize(width: 8, height: 8)))
        func rows() -> [[UInt8]] { (0..<8).map { row in (0..<8).map { camera.bytes[row * 8 + $0] } } }
        let (black, light) = ([UInt8](repeating: 16, count: 8), [UInt8](repeating: 100, count: 8))
        camera.draw(picture(8, 4))
        #expect(rows() == [black, black, light, light, light, light, black, black])
        camera.draw(picture(40, 80))
        // The mean of many equal samples may be one less than they are.
        func isScaled(_ row: [UInt8], _ black: UInt8, _ value: UInt8) -> Bool {
            let margin = row.count / 4
            return row.enumerated().allSatisfy { place, sample in
                (margin..<row.count - margin).contains(place) ? (value - 1...value).contains(sample) : sample == black
            }
        }
        #expect(rows().allSatisfy { isScaled($0, 16, 100) }, "\(rows())")
        // Chroma, too: 2 × 4 in the middle of 4 × 4.
        #expect((0..<4).allSatisfy { isScaled(Array(camera.bytes[64 + 4 * $0..<68 + 4 * $0]), 128, 60) })
        camera.draw(nil)
        #expect(Array(camera.bytes) == Array(repeating: 16, count: 64) + Array(repeating: 128, count: 32))
    }

    @Test func aColumnThatIsMissingIsNotScaled() {
        let bytes = drawn(
            picture(3, 2), CameraLayout(.i420, CameraSize(fixed: nil).size(for: PixelSize(width: 3, height: 2))))
        #expect(bytes == [100, 100, 100, 16, 100, 100, 100, 16, 60, 60, 200, 200])
    }

    /// A picture in full range is converted, because cameras are said to have limited range.
    @Test func otherColoursAreConverted() {
        let full = ColourDescription(matrix: .bt709, isFullRange: true)
        let source = picture(4, 4, .i420, full, [100, 110, 150])
        let bytes = drawn(source, CameraLayout(.i420, source.size))
        // 16 + 100 · 219 / 255, and 128 + (110 − 128) · 224 / 255, and the same of 150.
        for (index, value) in [(0, 102), (16, 112), (20, 147)] {
            #expect(abs(Int(bytes[index]) - value) <= 2, "\(bytes)")
        }
    }
}
