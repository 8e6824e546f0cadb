import BeamMedia
import BeamPixels
import Foundation
import Testing

@testable import BeamCapture
@testable import BeamMeasure

/// Comparing pictures with their originals.
struct QualityTests {
    private static let size = PixelSize(width: 320, height: 180)
    private static let code = 40

    private func renderer(_ content: PatternContent, frameRate: Double = 30) throws -> PatternRenderer {
        try PatternRenderer(PatternOptions(size: Self.size, frameRate: frameRate, content: content))
    }

    /// Writes pictures to a meter's pipe as the viewer does. The first is followed by a pause for the settling time.
    private func measure(
        _ buffers: [PixelBuffer], _ reference: sending any PictureReference
    ) throws -> QualityMeter.Outcome {
        let scratch = try ScratchDirectory()
        let path = scratch.file("pipe.y4m")
        let meter = try QualityMeter(pipe: path, reference: reference)
        let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        let data = y4m(buffers)
        let header = (data.firstIndex(of: 0x0a) ?? 0) + 1
        let frame = (data.count - header) / buffers.count
        try writer.write(contentsOf: data[..<(header + frame)])
        Thread.sleep(forTimeInterval: QualityMeter.settling.inSeconds + 0.1)
        for index in 1..<buffers.count {
            try writer.write(contentsOf: data[(header + index * frame)..<(header + (index + 1) * frame)])
            // Gives the meter time to compare each picture.
            Thread.sleep(forTimeInterval: 0.02)
        }
        try writer.close()
        return meter.finish()
    }

    @Test(arguments: PatternContent.allCases) func equalPicturesHaveTheHighestQuality(content: PatternContent) throws {
        let pictures = try renderer(content)
        let outcome = try measure(
            (10..<16).map { pictures.picture($0).buffer }, try PatternReference(pictures.options))
        let quality = try #require(outcome.quality)
        #expect(outcome.delivered == 6 && outcome.unmatched == 0)
        #expect((1...5).contains(quality.compared))
        #expect(quality.psnr.mean == 100 && quality.psnr.min == 100)
        #expect(abs(quality.ssim.min - 1) < 1e-9)
    }

    @Test func aKnownErrorGivesItsPSNR() throws {
        let pictures = try renderer(.video)
        let buffers = (10..<14).map { number in
            // An error of two everywhere except in the code.
            pictures.picture(number).buffer.changed(from: Self.code) { $0 > 128 ? $0 - 2 : $0 + 2 }
        }
        let quality = try #require(try measure(buffers, try PatternReference(pictures.options)).quality)
        let share = Double(Self.size.height - Self.code) / Double(Self.size.height)
        let expected = 10 * log10(255 * 255 / (4 * share))
        #expect(abs(quality.psnr.mean - expected) < 0.001)
        #expect(abs(quality.psnr.min - expected) < 0.001)
        #expect(quality.ssim.mean < 1 && quality.ssim.mean > 0.9)
    }

    @Test func otherPicturesAreNotCompared() throws {
        let grey = PixelBuffer(format: .i420, size: Self.size)
        PatternCanvas(grey).fill(PixelRect(Self.size), PatternColour(y: 128))
        let outcome = try measure([grey, grey, grey], try PatternReference(PatternOptions(size: Self.size)))
        #expect(outcome.quality == nil && outcome.delivered == 3)
    }

    @Test func aViewerThatNeverWritesBlocksNothing() throws {
        let scratch = try ScratchDirectory()
        let meter = try QualityMeter(
            pipe: scratch.file("pipe.y4m"), reference: try PatternReference(PatternOptions(size: Self.size)))
        #expect(meter.finish().delivered == 0)
    }

    @Test(arguments: [
        ("YUV4MPEG2 W320 H180 F30:1 Ip A1:1 C420jpeg XCOLORRANGE=LIMITED", PixelFormat.i420 as PixelFormat?),
        ("YUV4MPEG2 W320 H180", .i420), ("YUV4MPEG2 W320 H180 C444", .i444), ("YUV4MPEG2 W320 H180 C420p10", nil),
        ("YUV4MPEG2 W0 H180", nil), ("YUV4MPEG2 W99999999999999999999 H180", nil), ("YUV4MPEG2", nil), ("RIFF", nil),
        ("", nil),
    ])
    func headersAreParsed(line: String, format: PixelFormat?) {
        #expect((try? Y4MHeader(line: line))?.format == format)
    }

    @Test(arguments: PatternContent.allCases, [30, 59.94])
    func thePatternsOptionsAreDerived(content: PatternContent, frameRate: Double) throws {
        let pictures = try renderer(content, frameRate: frameRate)
        var search = PatternSearch()
        var compared = 0
        // Late enough for the frame rates to be distinguishable; with a slight coding error.
        for number in stride(from: 3000, to: 3000 + Int(frameRate * 1.5), by: pictures.options.framesPerChange) {
            let buffer = pictures.picture(number).buffer.changed(from: Self.code) { $0 ^ 1 }
            if search.picture(for: Picture(buffer: buffer, time: .zero)) != nil { compared += 1 }
        }
        #expect(compared > 0)
        let finding = try #require(search.finding)
        #expect(finding.content == content && finding.size == Self.size)
        #expect(abs(finding.frameRate - frameRate) < 0.01)
    }

    @Test func otherContentIsNotMistakenForThePattern() throws {
        let pictures = try renderer(.chart)
        var search = PatternSearch()
        for number in 0..<60 {
            let noise = pictures.picture(number).buffer.changed(from: Self.code) { _, x, y in
                UInt8(truncatingIfNeeded: x &* 7919 ^ y &* 104_729 ^ number)
            }
            let found = search.picture(for: Picture(buffer: noise, time: .zero))
            #expect(found == nil)
        }
        #expect(search.finding == nil)
    }

    @Test func picturesOfARecordedPatternAreFoundByNumber() throws {
        let scratch = try ScratchDirectory()
        let pictures = try renderer(.scroll)
        let path = try scratch.write(y4m((0..<8).map { pictures.picture($0).buffer }), to: "pattern.y4m")
        var reference = try RecordingReference(path: path)
        for number in [5, 0, 7] {
            let original = pictures.picture(number).buffer
            let coded = original.changed(from: Self.code) { value, _, _ in value ^ 1 }
            let match = reference.picture(for: Picture(buffer: coded, time: .zero))
            let found = try #require(match)
            #expect(PictureQuality.psnr(found, original) == .infinity)
        }
        let missing = reference.picture(for: pictures.picture(8))
        #expect(missing == nil, "the recording has no such number")
        #expect(try RecordingFacts(path: path).frameRate == 30)
    }

    @Test func otherwiseTheMostSimilarPictureIsUsed() throws {
        let scratch = try ScratchDirectory()
        let pictures = try renderer(.video)
        // Without the code.
        let buffers = stride(from: 0, to: 40, by: 4).map { number in
            pictures.picture(number).buffer.changed(from: 0) { value, _, y in y < Self.code ? 40 : value }
        }
        var reference = try RecordingReference(path: try scratch.write(y4m(buffers), to: "film.y4m"))
        for index in [0, 1, 2, 9, 0, 5] {
            let coded = buffers[index].changed(from: 0) { value, _, _ in value ^ 3 }
            let match = reference.picture(for: Picture(buffer: coded, time: .zero))
            let found = try #require(match)
            #expect(PictureQuality.psnr(found, buffers[index]) == .infinity, "picture \(index)")
        }
    }

    @Test func unusableRecordingsAreRefused() throws {
        let scratch = try ScratchDirectory()
        for (name, text) in [
            ("a", "RIFF\n"), ("b", "YUV4MPEG2 W16 H16 C422\nFRAME\n"), ("c", "YUV4MPEG2 W16 H16\nFRAME\nxx"),
        ] {
            let path = try scratch.write(Data(text.utf8), to: name)
            let error = try #require(throws: MeasureError.self) { try RecordingReference(path: path) }
            #expect(error.description.contains(path) && error.description.contains("ffmpeg"))
        }
        #expect(throws: MeasureError.self) { try RecordingReference(path: scratch.file("none")) }
    }

    @Test(.enabled(if: isInstalled("ffmpeg"), "ffmpeg isn't installed (package ffmpeg)"))
    func figuresMatchOtherTools() throws {
        let scratch = try ScratchDirectory()
        let pictures = try renderer(.chart)
        let originals = (0..<6).map { pictures.picture($0).buffer }
        _ = try scratch.write(y4m(originals), to: "original.y4m")
        _ = try run(
            "ffmpeg", "-v", "error", "-i", "original.y4m", "-c:v", "libx264", "-crf", "34", "-pix_fmt", "yuv420p",
            "coded.mkv", in: scratch.path)
        _ = try run("ffmpeg", "-v", "error", "-i", "coded.mkv", "coded.y4m", in: scratch.path)
        let coded = try RecordedFrames(path: scratch.file("coded.y4m"))
        try #require(coded.count == originals.count)
        var (errors, similarities): ([Double], [Double]) = ([], [])
        for (index, original) in originals.enumerated() {
            let buffer = PixelBuffer(format: .i420, size: Self.size)
            #expect(coded.read(index, into: buffer))
            errors.append(255 * 255 / pow(10, PictureQuality.psnr(buffer, original) / 10))
            similarities.append(PictureQuality.ssim(buffer, original))
        }
        let words = try run(
            "ffmpeg", "-nostdin", "-hide_banner", "-i", "coded.y4m", "-i", "original.y4m", "-lavfi",
            "[0][1]psnr;[0][1]ssim", "-f", "null", "-", in: scratch.path)
        let ratio = try #require(words.firstMatch(of: /PSNR y:([0-9.]+)/).flatMap { Double($0.output.1) }, "\(words)")
        let similarity = try #require(words.firstMatch(of: /SSIM Y:([0-9.]+)/).flatMap { Double($0.output.1) })
        #expect(abs(10 * log10(255 * 255 / (errors.reduce(0, +) / 6)) - ratio) < 0.01)
        // ffmpeg divides variances by 63 instead of 64.
        #expect(abs(similarities.reduce(0, +) / 6 - similarity) < 0.002)
    }
}

extension PixelBuffer {
    fileprivate func changed(from top: Int, _ change: (UInt8) -> UInt8) -> PixelBuffer {
        changed(from: top) { value, _, _ in change(value) }
    }
}
