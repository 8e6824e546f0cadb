import BeamMedia
import Testing

@testable import BeamHost

struct SentSizeTests {
    @Test func `A part of a picture is even, and never so small that an encoder refuses it`() {
        let full = PixelSize(width: 1920, height: 1080)
        #expect(full.part(StreamDemand.wholeSize) == full)
        #expect(full.part(4) == PixelSize(width: 960, height: 540))
        #expect(full.part(1) == PixelSize(width: 240, height: 136))
        #expect(PixelSize(width: 1000, height: 100).part(1) == PixelSize(width: 126, height: 64))
        #expect(PixelSize(width: 32, height: 18).part(1) == PixelSize(width: 32, height: 18))
        #expect(PixelSize(width: 2, height: 2).part(1) == PixelSize(width: 2, height: 2))
        for eighths in 1...8 {
            for side in stride(from: 2, through: 4096, by: 14) {
                let part = PixelSize(width: side, height: side).part(eighths)
                #expect(part.width % 2 == 0 && part.width <= side && part.width >= min(side, 64))
            }
        }
    }
}
