import BeamCodec
import BeamMedia
import BeamPixels
import Foundation
import Testing

/// Shapes like glyphs, one pixel wide, in strong colours on a coloured ground: 4:2:0 smears them.
struct ColouredText {
    let buffer: PixelBuffer

    init(_ size: PixelSize) {
        buffer = PixelBuffer(format: .bgrx, size: size)
        var generator = SeededGenerator(seed: 5)
        let inks: [[UInt8]] = [[30, 30, 220], [220, 60, 30], [40, 200, 40], [200, 40, 200]]
        let columns = size.width / 8 + 1
        let glyphs = (0..<columns * (size.height / 16 + 1)).map { _ in generator.next() }
        for y in 0..<size.height {
            let row = buffer.row(0, y)
            for x in 0..<size.width {
                let cell = y / 16 * columns + x / 8
                let (column, line) = (x % 8, y % 16)
                let isInk = column < 5 && (4..<11).contains(line) && glyphs[cell] >> ((line - 4) * 5 + column) & 1 == 1
                let colour = isInk ? inks[cell % 4] : [250, 250, 245]
                for channel in 0..<3 { row[4 * x + channel] = colour[channel] }
                row[4 * x + 3] = 0
            }
        }
    }
}

@Suite struct FullColourTests {
    private let size = PixelSize(width: 641, height: 363)

    private func rgb(_ picture: Picture) -> PixelBuffer {
        let buffer = PixelBuffer(format: .bgrx, size: picture.size)
        PixelConversion.toBGRX(
            picture.buffer, colour: picture.colour, into: buffer.planes[0].base, stride: buffer.planes[0].stride,
            rect: PixelRect(picture.size))
        return buffer
    }

    /// PSNR of red, green and blue together.
    private func quality(_ shown: PixelBuffer, _ source: PixelBuffer) -> Double {
        var sum = 0
        for y in 0..<source.size.height {
            let (a, b) = (shown.row(0, y), source.row(0, y))
            for x in 0..<source.size.width {
                for channel in 0..<3 {
                    let difference = Int(a[4 * x + channel]) - Int(b[4 * x + channel])
                    sum += difference * difference
                }
            }
        }
        return 10 * log10(255 * 255 * Double(source.size.area * 3) / Double(max(1, sum)))
    }

    /// Encodes coloured text, refines it at rest, and answers the stream, its quality in dB and the last picture.
    private func coded(_ chroma: ChromaFormat) throws -> (frames: [EncodedFrame], quality: Double, shown: Picture) {
        let source = ColouredText(size).buffer
        let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: 30, bitRate: 20_000_000, chroma: chroma))
        let decoder = try VideoDecoder()
        var picture = try PictureConverter(chroma).convert(Picture(buffer: source, time: .zero), to: size)
        var frames = [try #require(try encoder.encode(picture, keyframe: true))]
        for tick in 1...40 where !encoder.isRefined {
            picture.time = MediaTime(nanoseconds: Int64(tick) * 60_000_000)
            if let frame = try encoder.refine(picture) { frames.append(frame) }
        }
        var shown: Picture?
        for frame in frames { shown = try decoder.decode(frame.unit) }
        let picture444 = try #require(shown)
        return (frames, quality(rgb(picture444), source), picture444)
    }

    @Test func colouredTextIsSharperIn444() throws {
        let (full, half) = (try coded(.full), try coded(.subsampled))
        #expect(full.shown.format == .i444 && half.shown.format == .i420)
        #expect(full.shown.size == size && half.shown.size == size)
        print("Coloured text: 4:4:4 \(full.quality) dB, 4:2:0 \(half.quality) dB")
        #expect(full.quality >= half.quality + 5, "\(full.quality) dB, \(half.quality) dB")
        #expect(full.quality >= 38)
    }

    @Test func aSmallChangeTakesFewBits() throws {
        let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: 30, chroma: .full))
        let decoder = try VideoDecoder()
        let converter = PictureConverter(.full)
        let source = ColouredText(size).buffer
        let first = try converter.convert(Picture(buffer: source, time: .zero), to: size)
        let key = try #require(try encoder.encode(first, keyframe: true)).unit
        _ = try decoder.decode(key)
        let rect = PixelRect(x: 101, y: 53, width: 40, height: 21)
        for y in rect.y..<rect.maxY {
            for x in rect.x..<rect.maxX { source.row(0, y)[4 * x] ^= 0xff }
        }
        let second = try PictureConverter(.full).convert(
            Picture(
                buffer: source, time: MediaTime(nanoseconds: 33_000_000), damage: DamageRegion(rect)), to: size)
        let unit = try #require(try encoder.encode(second, keyframe: false)).unit
        #expect(unit.bytes.count * 5 < key.bytes.count)
        let shown = try #require(try decoder.decode(unit))
        for plane in 0..<3 { #expect(PictureQuality.psnr(shown.buffer, second.buffer, plane: plane) >= 32) }
    }

    @Test(.enabled(if: Probe.isThere, "ffprobe is not installed"), arguments: ["mkv", "mp4"])
    func recordingsAndY4MFilesKeep444(_ ending: String) throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("full.\(ending)")
        let recorder = try StreamRecorder(path: file)
        let stream = try coded(.full)
        for frame in stream.frames { try recorder.write(frame.unit, at: frame.captureTime) }
        try recorder.finish()
        let probed = try Probe.run(
            file, "-show_entries", "stream=profile,width,height,pix_fmt,color_range,color_space")
        #expect(probed.errors.isEmpty)
        #expect(probed.lines.first == "High 4:4:4 Predictive,641,363,yuv444p,tv,bt709")
        let raw = directory.file("full-\(ending).y4m")
        let writer = try Y4MWriter(path: raw, frameRate: 30)
        try writer.write(stream.shown)
        try writer.finish()
        let header = try #require(FileHandle(forReadingAtPath: raw)?.readData(ofLength: 60))
        #expect(String(decoding: header, as: UTF8.self).contains(" C444 "))
    }

    @Test func encodersWithout444AreRefused() throws {
        for name in VideoEncoder.workingEncoders() + ["h264_vaapi"] where name != "libx264" {
            #expect(throws: CodecError.noFullColour(name: name)) {
                try VideoEncoder(EncoderSettings(name: name, size: size, frameRate: 30, chroma: .full))
            }
        }
        // Without a name, an encoder that can do 4:4:4 is chosen.
        #expect(try VideoEncoder(EncoderSettings(size: size, frameRate: 30, chroma: .full)).name == "libx264")
    }

    @Test func scalingKeepsFullChroma() throws {
        let target = PixelSize(width: 320, height: 181)
        let source = PixelBuffer(format: .bgrx, size: size)
        source.fill(0)
        for y in 0..<size.height {
            for x in 0..<size.width { source.row(0, y)[4 * x + 2] = 255 }
        }
        let converted = try PictureConverter(.full).convert(Picture(buffer: source, time: .zero), to: target)
        #expect(converted.format == .i444 && converted.size == target)
        for (plane, expected) in [63, 102, 240].enumerated() {
            #expect(abs(Int(converted.buffer.row(plane, 90)[160]) - expected) <= 2)
        }
    }
}
