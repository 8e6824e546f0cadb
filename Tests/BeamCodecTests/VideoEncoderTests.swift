import BeamCodec
import BeamMedia
import BeamPixels
import Foundation
import Testing

@Suite struct VideoEncoderTests {
    private let size = PixelSize(width: 320, height: 180)

    @Test func parameterSetsAreBesideAKeyframesBytes() throws {
        let frames = try MovingContent(size).frames(12, keyframes: [7])
        #expect(frames.count == 12)
        for (number, frame) in frames.enumerated() {
            let unit = frame.unit
            let isKeyframe = number == 0 || number == 7
            #expect(unit.isKeyframe == isKeyframe)
            #expect((unit.parameterSets != nil) == isKeyframe)
            // Only slices (1), or slices of an IDR picture (5) in keyframes: no delimiter, SEI, filler or parameter
            // sets.
            #expect(unit.nalUnits.allSatisfy { $0.type == (isKeyframe ? 5 : 1) })
            #expect(unit.nalUnits.reduce(0) { $0 + 4 + $1.size } == unit.bytes.count)
            #expect(frame.captureTime == MovingContent.time(number))
            #expect(unit.size == size)
        }
        let sets = try #require(frames[7].unit.parameterSets)
        #expect(sets.sps.count == 1 && sets.pps.count == 1)
        // nal_unit_type, then profile_idc: 77 is Main.
        #expect(sets.sps[0][0] & 0x1f == 7)
        #expect(sets.sps[0][1] == 77)
        #expect(sets.pps[0][0] & 0x1f == 8)
    }

    @Test(.enabled(if: Probe.isThere, "ffprobe is not installed"))
    func theStreamIsMainProfileWithoutBFramesAndHasColourTags() throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("stream.h264")
        let units = try MovingContent(PixelSize(width: 640, height: 360)).coded(20, keyframes: [10])
        try Data(units.flatMap(\.annexB)).write(to: URL(fileURLWithPath: file))
        let stream = try Probe.run(
            file, "-show_entries",
            "stream=profile,width,height,has_b_frames,pix_fmt,color_range,color_space,color_transfer,color_primaries,chroma_location"
        )
        #expect(stream.lines == ["Main,640,360,0,yuv420p,tv,bt709,bt709,bt709,center"])
        let frames = try Probe.run(file, "-show_frames", "-show_entries", "frame=pict_type,key_frame")
        #expect(frames.errors.isEmpty)
        #expect(frames.lines.count == 20)
        for (number, frame) in frames.lines.enumerated() {
            #expect(frame.hasPrefix(number % 10 == 0 ? "1,I" : "0,P"))
        }
    }

    @Test func equalPicturesTakeFewBits() throws {
        let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: 30))
        let picture = MovingContent(size).picture(0)
        var sizes: [Int] = []
        for number in 0..<20 {
            var again = picture
            again.time = MovingContent.time(number)
            sizes.append(try #require(try encoder.encode(again, keyframe: false)).unit.bytes.count)
        }
        #expect(sizes[19] * 50 < sizes[0])
    }

    /// kbit/s of noise, which uses all bits, at `pictures` a second.
    private func kilobits(_ encoder: VideoEncoder, _ range: Range<Int>, pictures: Double) throws -> Double {
        var generator = SeededGenerator(seed: 3)
        let noise = PixelBuffer(format: .i420, size: size)
        var bytes = 0
        for number in range {
            for y in 0..<size.height {
                noise.row(0, y).withMemoryRebound(to: UInt64.self) { row in
                    for x in row.indices { row[x] = generator.next() }
                }
            }
            let time = MediaTime(nanoseconds: Int64(Double(number) / pictures * 1e9))
            bytes += try encoder.encode(Picture(buffer: noise, time: time), keyframe: false)?.unit.bytes.count ?? 0
        }
        return Double(bytes) * 8 / 1000 / (Double(range.count) / pictures)
    }

    @Test func theBitRateIsABoundAndChangesInMidstream() throws {
        let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: 30, bitRate: 8_000_000))
        _ = try kilobits(encoder, 0..<30, pictures: 30)
        #expect((6_000...9_000).contains(try kilobits(encoder, 30..<75, pictures: 30)))
        encoder.setRate(4_000_000, isPathBound: false)
        _ = try kilobits(encoder, 75..<105, pictures: 30)
        #expect((3_000...4_500).contains(try kilobits(encoder, 105..<150, pictures: 30)))
        encoder.setRate(8_000_000, isPathBound: false)
        _ = try kilobits(encoder, 150..<165, pictures: 30)
        #expect((6_000...9_000).contains(try kilobits(encoder, 165..<210, pictures: 30)))
    }

    /// A screen that changes 15 times a second gets as many bits a second as one that changes 60 times.
    @Test(arguments: [15.0, 30, 60, 120]) func theBitRateDoesNotDependOnTheFrameRate(_ pictures: Double) throws {
        let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: 60, bitRate: 3_600_000))
        let second = Int(pictures)
        _ = try kilobits(encoder, 0..<second, pictures: pictures)
        let rate = try kilobits(encoder, second..<3 * second, pictures: pictures)
        #expect((2_700...4_000).contains(rate))
    }

    @Test func theDefaultBitRateFollowsTheSize() {
        func rate(_ width: Int, _ height: Int, _ fps: Double) -> Int {
            EncoderSettings.defaultBitRate(size: PixelSize(width: width, height: height), frameRate: fps)
        }
        #expect(rate(1920, 1080, 60) == 20_000_000)
        #expect((13_000_000...15_000_000).contains(rate(1920, 1080, 30)))
        #expect((5_000_000...7_000_000).contains(rate(1280, 720, 30)))
        #expect(rate(16, 16, 30) == 1_000_000)
        #expect(rate(7680, 4320, 60) == 80_000_000)
        #expect(rate(1920, 1080, .nan) > 0)
    }

    @Test func picturesOfAnotherSizeOrFormatAreRefused() throws {
        let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: 30))
        let other = Picture(buffer: PixelBuffer(format: .bgrx, size: size), time: .zero)
        #expect(throws: CodecError.self) { try encoder.encode(other, keyframe: false) }
        let larger = MovingContent(PixelSize(width: 322, height: 180)).picture(0)
        #expect(throws: CodecError.self) { try encoder.encode(larger, keyframe: false) }
        for (width, height) in [(0, 10), (10, 8193), (-1, 5), (8192, 8192)] {
            let size = PixelSize(width: width, height: height)
            #expect(throws: CodecError.unsupportedSize(size)) {
                try VideoEncoder(EncoderSettings(size: size, frameRate: 30, bitRate: 1_000_000))
            }
        }
    }

    @Test func theErrorForABrokenEncoderNamesTheWorkingOnes() throws {
        let working = VideoEncoder.workingEncoders()
        #expect(working.first == "libx264")
        func failure(_ name: String) -> CodecError? {
            do {
                _ = try VideoEncoder(EncoderSettings(name: name, size: size, frameRate: 30))
                return nil
            } catch { return error }
        }
        #expect(failure("h264_imaginary") == .unknownEncoder(name: "h264_imaginary", working: working))
        #expect(failure("mpeg4") == .notAnH264Encoder(name: "mpeg4", working: working))
        #expect(failure("libx264rgb") == .notAnH264Encoder(name: "libx264rgb", working: working))
        for name in ["h264_vaapi", "h264_v4l2m2m", "h264_nvenc"] where !working.contains(name) {
            let error = try #require(failure(name))
            #expect(error.description.contains("libx264"), "\(error)")
        }
    }

    @Test(arguments: [nil, 1_000_000, 100_000_000]) func anyBitRateWorks(_ bitRate: Int?) throws {
        for frameRate in [0, 0.5, 29.97, 240, Double.infinity] {
            let encoder = try VideoEncoder(EncoderSettings(size: size, frameRate: frameRate, bitRate: bitRate))
            #expect(try encoder.encode(MovingContent(size).picture(0), keyframe: true)?.isKeyframe == true)
        }
    }
}
