import BeamMedia
import Testing

@testable import BeamCodec

/// Encoders through libavcodec; libx264 is the one that every machine has.
@Suite struct LibAVEncoderTests {
    private let size = PixelSize(width: 640, height: 360)

    /// Bits a second before and after the rate falls to a tenth, and the numbers of the keyframes.
    private func coded(followsRate: Bool) throws -> (before: Int, after: Int, keyframes: [Int]) {
        let encoder = try LibAVEncoder(
            EncoderSettings(name: "libx264", size: size, frameRate: 30, bitRate: 6_000_000), followsRate: followsRate)
        let decoder = try VideoDecoder()
        // Other text in each picture, so that the encoder uses all bits.
        let contents = (1...5).map { MovingContent(size, seed: $0) }
        var (before, after, keyframes): (Int, Int, [Int]) = (0, 0, [])
        for number in 0..<120 {
            if number == 60 { encoder.setRate(600_000, isPathBound: true) }
            let frame = try #require(try encoder.encode(contents[number % 5].picture(number), keyframe: number == 0))
            _ = try decoder.decode(frame.unit)
            #expect(frame.captureTime == MovingContent.time(number))
            if frame.isKeyframe { keyframes.append(number) }
            if (30..<60).contains(number) { before += frame.unit.bytes.count * 8 }
            if (90..<120).contains(number) { after += frame.unit.bytes.count * 8 }
        }
        return (before, after, keyframes)
    }

    @Test func theRateFallsWithoutAKeyframeIfTheEncoderFollowsIt() throws {
        let (before, after, keyframes) = try coded(followsRate: true)
        #expect(after * 2 < before && keyframes == [0], "\(before) \(after) \(keyframes)")
    }

    @Test func theRateFallsAtAKeyframeIfTheEncoderDoesNotFollowIt() throws {
        let (before, after, keyframes) = try coded(followsRate: false)
        #expect(after * 2 < before && keyframes == [0, 60], "\(before) \(after) \(keyframes)")
    }

    /// A rate that varies, or grows a little, forces no keyframe; the next keyframe applies it.
    @Test func aVaryingRateForcesNoKeyframes() throws {
        let encoder = try LibAVEncoder(
            EncoderSettings(name: "libx264", size: size, frameRate: 30, bitRate: 2_000_000), followsRate: false)
        let content = MovingContent(size)
        var keyframes: [Int] = []
        for number in 0..<90 {
            encoder.setRate(2_000_000 + (number % 5 - 2) * 150_000, isPathBound: true)
            if try encoder.encode(content.picture(number), keyframe: number == 70)?.isKeyframe == true {
                keyframes.append(number)
            }
        }
        #expect(keyframes == [0, 70])
    }
}
