import BeamMedia
import Foundation
import Testing

@testable import BeamCapture

/// Writing and reading number and time as blocks.
@Suite struct PatternCodeTests {
    static let sizes = [
        PixelSize(width: 320, height: 180), PixelSize(width: 321, height: 181), PixelSize(width: 639, height: 359),
        PixelSize(width: 640, height: 360), PixelSize(width: 720, height: 1280), PixelSize(width: 1055, height: 400),
        PixelSize(width: 1366, height: 767), PixelSize(width: 2560, height: 1440),
    ]

    private func drawn(_ size: PixelSize, number: UInt32, time: Int64) -> Picture {
        let buffer = PixelBuffer(format: .i420, size: size)
        PatternCanvas(buffer).fill(PixelRect(size), PatternPalette.backdrop)
        PatternCode.draw(number: number, time: MediaTime(nanoseconds: time), into: PatternCanvas(buffer))
        return Picture(buffer: buffer, time: .zero)
    }

    @Test(arguments: sizes)
    func whatIsWrittenIsReadBack(size: PixelSize) throws {
        for (number, time) in [(0, 0), (1, 1), (0xFFFF_FFFF, .max), (0x8000_0001, .min), (123_456, 9_876_543_210)]
            as [(UInt32, Int64)]
        {
            let code = try #require(PatternCode.read(drawn(size, number: number, time: time)))
            #expect(code.number == number && code.time.nanoseconds == time)
        }
    }

    @Test func theChecksumIsCRC16CCITTFalse() {
        // The standard's check value is for "123456789". The value for these twelve bytes was computed by another
        // program.
        #expect(PatternCode.checksum(0x3132_3334, 0x3536_3738_3930_3132) == 0xD07B)
    }

    @Test func theBitsAreWhereDocumented() {
        let picture = drawn(PixelSize(width: 1280, height: 720), number: 0x8000_0001, time: 1)
        func bit(_ column: Int, _ row: Int) -> UInt8 {
            picture.buffer.samples(0, 16 + row * 16 + 8)[16 + column * 16 + 8]
        }
        #expect((0..<16).map { bit($0, 0) == 235 ? "1" : "0" }.joined() == "1011111010100100")
        #expect(
            (16..<48).map { bit($0, 0) == 235 ? "1" : "0" }.joined() == "1" + String(repeating: "0", count: 30) + "1")
        #expect((0..<48).map { bit($0, 1) == 235 ? "1" : "0" }.joined() == String(repeating: "0", count: 47) + "1")
    }

    @Test(arguments: [
        PixelSize(width: 319, height: 400), PixelSize(width: 400, height: 179), PixelSize(width: 2, height: 2),
    ])
    func smallPicturesHaveNoCode(size: PixelSize) throws {
        #expect(PatternCode.read(try PatternRenderer(PatternOptions(size: size, frameRate: 30)).picture(5)) == nil)
    }

    @Test func otherPicturesHaveNoCode() {
        let size = PixelSize(width: 640, height: 360)
        let buffer = PixelBuffer(format: .i420, size: size)
        for colour in [PatternPalette.black, PatternPalette.white, PatternPalette.line, PatternColour(y: 125)] {
            PatternCanvas(buffer).fill(PixelRect(size), colour)
            #expect(PatternCode.read(Picture(buffer: buffer, time: .zero)) == nil)
        }
    }

    @Test func anySingleWrongBlockIsDetected() {
        let size = PixelSize(width: 640, height: 360)
        for bit in 0..<128 {
            let picture = drawn(size, number: 77, time: 123_456_789)
            let place = PixelRect(x: 16 + bit % 32 * 16, y: 16 + bit / 32 * 16, width: 16, height: 16)
            let isWhite = picture.buffer.samples(0, place.y)[place.x] > 125
            PatternCanvas(picture.buffer).fillLuma(place, isWhite ? 16 : 235)
            #expect(PatternCode.read(picture) == nil, "bit \(bit)")
        }
    }

    @Test(arguments: [PixelFormat.i444, .bgrx])
    func otherFormatsAreReadToo(format: PixelFormat) throws {
        let size = PixelSize(width: 640, height: 360)
        let picture = drawn(size, number: 4711, time: 42)
        let buffer = PixelBuffer(format: format, size: size)
        for y in 0..<size.height {
            let (from, to) = (picture.buffer.samples(0, y), buffer.samples(0, y))
            for x in 0..<size.width {
                if format == .bgrx {
                    for channel in 0..<3 {
                        to[x * 4 + channel] = UInt8(max(0, min(255, (Int(from[x]) - 16) * 255 / 219)))
                    }
                } else {
                    to[x] = from[x]
                }
            }
        }
        let code = try #require(PatternCode.read(Picture(buffer: buffer, time: .zero)))
        #expect(code.number == 4711 && code.time.nanoseconds == 42)
    }

    @Test(
        .enabled(if: hasFFmpeg, "needs the ffmpeg program"),
        arguments: [
            (PixelSize(width: 320, height: 180), "80k"), (PixelSize(width: 642, height: 362), "200k"),
            (PixelSize(width: 1366, height: 768), "500k"),
        ])
    func theCodeSurvivesCodingAtALowRate(size: PixelSize, bitRate: String) throws {
        let scratch = try ScratchDirectory()
        _ = try scratch.pattern("pattern.y4m", size, frames: 45)
        try scratch.ffmpeg(
            "-i", "pattern.y4m", "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-b:v", bitRate,
            "-maxrate", bitRate, "-bufsize", bitRate, "coded.mkv")
        try expectNumbers(scratch.file("coded.mkv"), drawnAt: nil)
    }

    @Test(.enabled(if: hasFFmpeg, "needs the ffmpeg program"))
    func theCodeSurvivesScaling() throws {
        let scratch = try ScratchDirectory()
        _ = try scratch.pattern("pattern.y4m", PixelSize(width: 1366, height: 767), frames: 10)
        try scratch.ffmpeg(
            "-i", "pattern.y4m", "-vf", "scale=801:449", "-c:v", "libx264", "-preset", "ultrafast", "-crf", "30",
            "-pix_fmt", "yuv444p", "scaled.mkv")
        try expectNumbers(scratch.file("scaled.mkv"), drawnAt: PixelSize(width: 1366, height: 767))
    }

    private func expectNumbers(_ path: String, drawnAt: PixelSize?) throws {
        let recording = try Recording(path: path, control: SourceControl())
        var entry = recording.first
        var number: UInt32 = 0
        while !entry.beginsAgain {
            let code = PatternCode.read(Picture(buffer: entry.buffer, time: .zero), drawnAt: drawnAt)
            #expect(code?.number == number)
            #expect(code?.time.nanoseconds == Int64((Double(number) * 1e9 / 30).rounded()))
            number += 1
            guard case .picture(let next) = try recording.next() else { break }
            entry = next
        }
        #expect(number >= 10)
    }
}
