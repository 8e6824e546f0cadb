import BeamCodec
import BeamMedia
import BeamPixels
import Testing

/// The encoder at a rate that the path sets: frames are small, and a still picture is refined in small parts.
@Suite struct PathBoundTests {
    private let size = PixelSize(width: 960, height: 544)

    /// Seconds that each of `count` pictures of scrolling text takes at `rate`.
    private func scroll(_ encoder: VideoEncoder, from start: Int, count: Int, rate: Int) throws -> [Double] {
        let content = MovingContent(size)
        return try (start..<start + count).map { number in
            let unit = try #require(try encoder.encode(content.picture(number), keyframe: false)).unit
            return Double(unit.bytes.count * 8) / Double(rate)
        }
    }

    @Test func framesAreSmallOnABoundPath() throws {
        let rate = 2_000_000
        let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: 30, bitRate: 20_000_000))
        encoder.setRate(rate, isPathBound: true)
        let first = try #require(try encoder.encode(MovingContent(size).picture(0), keyframe: true)).unit
        #expect(Double(first.bytes.count * 8) <= 0.3 * Double(rate))
        let frames = try scroll(encoder, from: 1, count: 60, rate: rate)
        #expect(frames.dropFirst(5).allSatisfy { $0 <= 0.15 }, "\(frames)")
        #expect(frames.suffix(30).reduce(0, +) <= 1.1)
        // A keyframe during motion stays within 0.3 s, too.
        let again = try #require(try encoder.encode(MovingContent(size).picture(61), keyframe: true)).unit
        #expect(Double(again.bytes.count * 8) <= 0.3 * Double(rate))
    }

    @Test func aRateThatFallsDuringMotionIsKeptAtOnce() throws {
        let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: 30, bitRate: 20_000_000))
        let before = try scroll(encoder, from: 0, count: 30, rate: 20_000_000)
        #expect(encoder.lastQuantiser ?? 51 <= 26, "\(before)")
        let rate = 2_000_000
        encoder.setRate(rate, isPathBound: true)
        let after = try scroll(encoder, from: 30, count: 30, rate: rate)
        #expect(after.allSatisfy { $0 <= 0.15 }, "\(after)")
        #expect(after.reduce(0, +) <= 1.2)
        encoder.setRate(20_000_000, isPathBound: false)
        _ = try scroll(encoder, from: 60, count: 30, rate: 20_000_000)
        #expect(encoder.lastQuantiser ?? 51 <= 26)
    }

    /// An estimate that varies by 5 % doesn't make the quantiser jump.
    @Test func aVaryingRateChangesTheQuantiserInSmallSteps() throws {
        let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: 30, bitRate: 20_000_000))
        let content = MovingContent(size)
        var quantisers: [Int] = []
        for number in 0..<90 {
            encoder.setRate(4_000_000 + (number % 3 - 1) * 200_000, isPathBound: true)
            _ = try encoder.encode(content.picture(number), keyframe: number == 0)
            quantisers.append(encoder.lastQuantiser ?? 51)
        }
        let steps = zip(quantisers, quantisers.dropFirst()).dropFirst(30).map { abs($0 - $1) }
        #expect(steps.allSatisfy { $0 <= 4 }, "\(quantisers)")
    }

    @Test(arguments: [ChromaFormat.subsampled, .full], [PixelSize(width: 641, height: 361)])
    func aStillPictureIsRefinedInSmallParts(_ chroma: ChromaFormat, _ size: PixelSize) throws {
        let rate = 250_000
        let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: 30, bitRate: 20_000_000, chroma: chroma))
        encoder.setRate(rate, isPathBound: true)
        let decoder = try VideoDecoder()
        let source = ColouredText(size).buffer
        var picture = try PictureConverter(chroma).convert(Picture(buffer: source, time: .zero), to: size)
        let key = try #require(try encoder.encode(picture, keyframe: true)).unit
        var shown = try #require(try decoder.decode(key))
        let first = PictureQuality.psnr(shown.buffer, picture.buffer)
        var seconds: [Double] = []
        for tick in 1...400 where !encoder.isRefined {
            picture.time = MediaTime(nanoseconds: Int64(tick) * 60_000_000)
            guard let unit = try encoder.refine(picture)?.unit else { continue }
            seconds.append(Double(unit.bytes.count * 8) / Double(rate))
            shown = try #require(try decoder.decode(unit))
        }
        #expect(encoder.isRefined)
        #expect(PictureQuality.psnr(shown.buffer, picture.buffer) >= max(46, first + 10))
        #expect(seconds.count > 3)
        // The bits of a part are predicted from earlier parts: at most one in ten takes more than 0.1 s.
        let large = seconds.filter { $0 > 0.1 }.count
        #expect(large * 10 <= seconds.count, "\(seconds)")
        #expect((seconds.max() ?? 0) <= 0.25, "\(seconds)")
    }

    /// All was motion so far, so that nothing is known yet about what a refinement takes.
    @Test(arguments: [600_000, 1_800_000]) func refinementAfterMotionComesInSmallParts(rate: Int) throws {
        let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: 30, bitRate: 20_000_000))
        let grain = Grain(size)
        _ = try encoder.encode(grain.blank, keyframe: true)
        encoder.setRate(rate, isPathBound: true)
        for number in 1...45 { _ = try encoder.encode(grain.picture(number), keyframe: false) }
        var last = grain.picture(45)
        var seconds: [Double] = []
        for tick in 1...200 where !encoder.isRefined {
            last.time = MovingContent.time(45) + .milliseconds(50 * tick)
            guard let unit = try encoder.refine(last)?.unit else { continue }
            seconds.append(Double(unit.bytes.count * 8) / Double(rate))
        }
        #expect(encoder.isRefined)
        #expect(seconds.allSatisfy { $0 <= 0.15 }, "\(seconds)")
        // All of the picture is alike, so the prediction is close: a usual part takes 40 to 50 ms.
        let usual = seconds.sorted()[seconds.count / 2]
        #expect(usual > 0.04 && usual < 0.05, "\(seconds)")
    }
}

/// A camera's picture: each pixel has its own noise, and all of it moves.
private struct Grain {
    let size: PixelSize
    private let values: [UInt8]

    init(_ size: PixelSize) {
        self.size = size
        var generator = SeededGenerator(seed: 7)
        values = (0..<size.width * (size.height + 256)).map { index in
            UInt8(110 + (index % size.width) / 12 + Int(generator.next() % 24))
        }
    }

    /// A blank picture, to begin with.
    var blank: Picture {
        let buffer = PixelBuffer(format: .i420, size: size)
        for (plane, value) in [UInt8(110), 128, 128].enumerated() {
            for y in 0..<(plane == 0 ? size.height : (size.height + 1) / 2) {
                _ = buffer.row(plane, y).initializeMemory(as: UInt8.self, repeating: value)
            }
        }
        return Picture(buffer: buffer, time: MovingContent.time(0))
    }

    /// Picture `number`, 1/30 s after the one before.
    func picture(_ number: Int) -> Picture {
        var picture = blank
        for y in 0..<size.height {
            let start = (y + 3 * number % 256) * size.width
            picture.buffer.row(0, y).copyBytes(from: values[start..<start + size.width])
        }
        picture.time = MovingContent.time(number)
        picture.number = UInt64(number)
        return picture
    }
}
