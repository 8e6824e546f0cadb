import BeamCodec
import BeamMedia
import BeamPixels
import Testing

@Suite struct DecodedPicturesTests {
    private let size = PixelSize(width: 640, height: 360)

    /// A still picture, a small change, no change, and the small change at another place.
    private func coded() throws -> [AccessUnit] {
        let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: 60, bitRate: 20_000_000))
        return try (0..<4).map { number in
            let buffer = PixelBuffer(format: .i420, size: size)
            for index in 0..<3 {
                for row in 0..<PixelFormat.i420.plane(index, of: size).rows {
                    let bytes = buffer.row(index, row)
                    for x in bytes.indices { bytes[x] = UInt8(60 + (x / 8 + row / 8) % 3 * 40) }
                }
            }
            let places = [nil, 32, 32, 480]
            if let left = places[number] {
                for row in 160..<192 {
                    let bytes = buffer.row(0, row)
                    for x in left..<left + 40 { bytes[x] = 235 }
                }
            }
            var picture = Picture(
                buffer: buffer, time: MediaTime(nanoseconds: Int64(number) * 16_666_667), number: UInt64(number))
            if number > 0 {
                picture.damage = DamageRegion()
                for left in Set([places[number - 1], places[number]]) where places[number - 1] != places[number] {
                    if let left { picture.damage.insert(PixelRect(x: left, y: 160, width: 40, height: 32)) }
                }
            }
            return try #require(try encoder.encode(picture, keyframe: number == 0)).unit
        }
    }

    @Test func theDamageCoversAllChanges() throws {
        let decoder = try VideoDecoder()
        let pictures = try coded().map { try #require(try decoder.decode($0)) }
        #expect(pictures[0].damage == DamageRegion(PixelRect(size)))
        for (older, newer) in zip(pictures, pictures.dropFirst()) {
            #expect(newer.damage.area < size.area)
            var missed = 0
            for index in 0..<3 {
                let shift = index > 0 ? 1 : 0
                for row in 0..<PixelFormat.i420.plane(index, of: size).rows {
                    let (a, b) = (older.buffer.row(index, row), newer.buffer.row(index, row))
                    for x in a.indices where a[x] != b[x] {
                        let pixel = PixelRect(x: x << shift, y: row << shift, width: 1, height: 1)
                        if !newer.damage.rects.contains(where: { $0.contains(pixel) }) { missed += 1 }
                    }
                }
            }
            #expect(missed == 0)
        }
    }

    @Test func theFirstPictureOfASizeIsDamagedAsAWhole() throws {
        let decoder = try VideoDecoder()
        for size in [(320, 180), (322, 180), (320, 180)].map({ PixelSize(width: $0.0, height: $0.1) }) {
            let units = try MovingContent(size).coded(1)
            #expect(try decoder.decode(units[0])?.damage == DamageRegion(PixelRect(size)))
        }
    }

    /// After a refused frame the next picture is compared with the last one that was handed on.
    @Test func aRefusedFrameIsNotCompared() throws {
        let units = try coded()
        let decoder = try VideoDecoder()
        #expect(try decoder.decode(units[0]) != nil)
        var cut = units[1]
        cut.range = cut.range.lowerBound..<cut.range.upperBound - 3
        #expect(throws: CodecError.self) { try decoder.decode(cut) }
        // The same keyframe decodes to the same picture.
        #expect(try #require(try decoder.decode(units[0])).damage.isEmpty)
    }
}
