import BeamCodec
import BeamMedia
import BeamPixels
import Testing

/// Pictures through the encoder and the decoder.
@Suite struct RoundTripTests {
    @Test(arguments: [
        (1, 1), (2, 2), (1, 40), (40, 1), (15, 17), (16, 16), (17, 15), (63, 64), (64, 63), (255, 129), (320, 180),
        (321, 181),
    ]) func picturesOfAnySizeArrive(_ width: Int, _ height: Int) throws {
        let size = PixelSize(width: width, height: height)
        let content = MovingContent(size)
        let decoder = try VideoDecoder()
        for (number, unit) in try content.coded(6).enumerated() {
            let frame = ReceivedFrame(unit, number: number, time: MovingContent.time(100 + number))
            let picture = try #require(try decoder.decode(frame))
            #expect(picture.size == size)
            #expect(picture.format == .i420)
            #expect(picture.colour == .bt709Limited)
            #expect(picture.time == frame.lastArrival)
            #expect(picture.number == UInt64(number))
            let original = content.picture(number).buffer
            // With so few samples, each may be some steps off.
            #expect(PictureQuality.psnr(picture.buffer, original) >= (size.area < 16 ? 30 : 38))
            for plane in 1...2 { #expect(PictureQuality.psnr(picture.buffer, original, plane: plane) >= 30) }
        }
    }

    /// A size that 4:2:0 can't divide, and the most common one.
    @Test(arguments: [PixelSize(width: 1366, height: 767), PixelSize(width: 1920, height: 1080)])
    func screenSizesArrive(_ size: PixelSize) throws {
        let content = MovingContent(size)
        let decoder = try VideoDecoder()
        for (number, unit) in try content.coded(8, keyframes: [5]).enumerated() {
            let picture = try #require(try decoder.decode(unit))
            #expect(picture.size == size)
            #expect(PictureQuality.psnr(picture.buffer, content.picture(number).buffer) >= 38)
            #expect(PictureQuality.ssim(picture.buffer, content.picture(number).buffer) >= 0.98)
        }
    }

    @Test func heldPicturesDoNotChange() throws {
        let content = MovingContent(PixelSize(width: 320, height: 180))
        let decoder = try VideoDecoder()
        var held: [Picture] = []
        for unit in try content.coded(40) { if let picture = try decoder.decode(unit) { held.append(picture) } }
        #expect(held.count == 40)
        for (number, picture) in held.enumerated() {
            #expect(PictureQuality.psnr(picture.buffer, content.picture(number).buffer) >= 38)
        }
    }
}
