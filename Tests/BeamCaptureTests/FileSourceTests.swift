import BeamClock
import BeamMedia
import Foundation
import Testing

@testable import BeamCapture

/// Recordings as a source.
@Suite struct FileSourceTests {
    private static let small = PixelSize(width: 320, height: 180)

    /// The frame numbers in the pictures' codes, for the first `count` pictures.
    private func numbers(_ path: String, count: Int) throws -> [UInt32?] {
        let recording = try Recording(path: path, control: SourceControl())
        var entries = [recording.first]
        while entries.count < count, case .picture(let next) = try recording.next() { entries.append(next) }
        return entries.map { PatternCode.read(Picture(buffer: $0.buffer, time: .zero))?.number }
    }

    private func refusal(_ path: String) throws -> String {
        let error = try #require(throws: CaptureError.self) { try FileSource(path: path) }
        #expect(error.description.contains(path))
        return error.description
    }

    // MARK: Reading

    @Test(arguments: [small, PixelSize(width: 1366, height: 767), PixelSize(width: 33, height: 19)])
    func picturesOfARecordingAreBitExact(size: PixelSize) throws {
        let scratch = try ScratchDirectory()
        let path = try scratch.pattern("pattern.y4m", size, frames: 3)
        let renderer = try PatternRenderer(PatternOptions(size: size, frameRate: 30))
        let recording = try Recording(path: path, control: SourceControl())
        var entries = [recording.first]
        while entries.count < 7, case .picture(let next) = try recording.next() { entries.append(next) }
        #expect(entries.map(\.beginsAgain) == [false, false, false, true, false, false, true])
        for (index, entry) in entries.enumerated() {
            #expect(entry.buffer.size == size && entry.buffer.format == .i420 && entry.colour == .bt709Limited)
            #expect(entry.buffer.allSamples == renderer.picture(index % 3).buffer.allSamples, "picture \(index)")
        }
        #expect(recording.frameRate == 30)
        #expect(entries.prefix(3).map(\.timestamp) == [0, 33_333_333, 66_666_667])
    }

    @Test(
        .enabled(if: hasFFmpeg, "needs the ffmpeg program"),
        arguments: [
            ["-c:v", "libx264", "-bf", "2", "a.mkv"], ["-c:v", "libx264", "-bf", "2", "a.mp4"],
            ["-c:v", "libx264", "-bf", "2", "a.ts"], ["-c:v", "libx264", "a.h264"], ["-c:v", "ffv1", "a.nut"],
            ["-c:v", "mjpeg", "-q:v", "3", "a.avi"],
        ])
    func everyPictureOfALoopComesOnceInOrder(coding: [String]) throws {
        let scratch = try ScratchDirectory()
        _ = try scratch.pattern("pattern.y4m", Self.small, frames: 12)
        try scratch.ffmpeg(["-i", "pattern.y4m", "-preset", "ultrafast"] + coding)
        let read = try numbers(scratch.file(coding[coding.count - 1]), count: 30)
        #expect(read == (0..<30).map { UInt32($0 % 12) })
    }

    @Test(
        .enabled(if: hasFFmpeg, "needs the ffmpeg program"),
        arguments: ["yuv444p", "yuv422p10le", "nv12", "rgb24", "gray"])
    func otherFormatsBecomeFourTwoZero(format: String) throws {
        let scratch = try ScratchDirectory()
        let size = PixelSize(width: 1280, height: 361)
        _ = try scratch.pattern("pattern.y4m", size, frames: 2)
        try scratch.ffmpeg(
            "-i", "pattern.y4m", "-vf",
            "scale=in_color_matrix=bt709:out_color_matrix=bt709:flags=accurate_rnd+full_chroma_int",
            "-pix_fmt", format, "-c:v", format == "nv12" ? "rawvideo" : "ffv1", "a.nut")
        let entry = try Recording(path: scratch.file("a.nut"), control: SourceControl()).first
        #expect(entry.buffer.format == .i420 && entry.buffer.size == size && entry.colour == .bt709Limited)
        #expect(PatternCode.read(Picture(buffer: entry.buffer, time: .zero))?.number == 0)
        let original = try PatternRenderer(PatternOptions(size: size, frameRate: 30)).picture(0).buffer
        let bars = PatternLayout(size).bars
        for plane in 0..<(format == "gray" ? 1 : 3) {
            for bar in 0..<8 {
                let shift = plane == 0 ? 0 : 1
                let (x, y) = ((bars.x + bars.width * (2 * bar + 1) / 16) >> shift, (bars.y + bars.height / 2) >> shift)
                let difference = Int(entry.buffer.samples(plane, y)[x]) - Int(original.samples(plane, y)[x])
                #expect(abs(difference) <= 2, "plane \(plane), bar \(bar)")
            }
        }
    }

    @Test(.enabled(if: hasFFmpeg, "needs the ffmpeg program"))
    func theStreamsColourDescriptionIsKept() throws {
        let scratch = try ScratchDirectory()
        _ = try scratch.pattern("pattern.y4m", Self.small, frames: 1)
        // Matrix coefficients by H.273's numbers.
        for (matrix, isFull, expected) in [
            (6, false, .bt601), (5, true, .bt601), (9, false, .bt2020), (1, true, .bt709),
        ]
            as [(Int, Bool, ColourDescription.Matrix)]
        {
            try scratch.ffmpeg(
                "-i", "pattern.y4m", "-c:v", "libx264", "-bsf:v",
                "h264_metadata=matrix_coefficients=\(matrix):video_full_range_flag=\(isFull ? 1 : 0)", "a.mkv")
            let colour = try Recording(path: scratch.file("a.mkv"), control: SourceControl()).first.colour
            #expect(colour == ColourDescription(matrix: expected, isFullRange: isFull))
        }
    }

    /// As players take them: standard definition is BT.601. What primaries say wins.
    @Test(
        .enabled(if: hasFFmpeg, "needs the ffmpeg program"),
        arguments: [
            ("320x240", 2, ColourDescription.Matrix.bt601), ("720x576", 2, .bt601), ("1024x718", 2, .bt601),
            ("960x720", 2, .bt709), ("1280x720", 2, .bt709), ("1280x534", 2, .bt709), ("640x360", 1, .bt709),
            ("1280x720", 6, .bt601), ("640x360", 9, .bt2020),
        ])
    func aFilmWithoutColourTagsHasThoseOfItsSize(
        size: String, primaries: Int, expected: ColourDescription.Matrix
    ) throws {
        let scratch = try ScratchDirectory()
        try scratch.ffmpeg(
            "-f", "lavfi", "-i", "color=red:size=\(size)", "-frames:v", "1", "-pix_fmt", "yuv420p", "-c:v", "libx264",
            "-bsf:v", "h264_metadata=matrix_coefficients=2:colour_primaries=\(primaries)", "a.mkv")
        let colour = try Recording(path: scratch.file("a.mkv"), control: SourceControl()).first.colour
        #expect(colour == ColourDescription(matrix: expected, isFullRange: false))
    }

    @Test(arguments: [("FULL", true), ("LIMITED", false), (nil, false)])
    func theRangeOfAY4MIsRead(range: String?, isFull: Bool) throws {
        let scratch = try ScratchDirectory()
        let path = try scratch.pattern("a.y4m", Self.small, frames: 1, range: range)
        let colour = try Recording(path: path, control: SourceControl()).first.colour
        #expect(colour == ColourDescription(matrix: .bt709, isFullRange: isFull))
    }

    @Test(.enabled(if: hasFFmpeg, "needs the ffmpeg program"))
    func aChangeOfSizeIsFollowed() throws {
        let scratch = try ScratchDirectory()
        _ = try scratch.pattern("a.y4m", Self.small, frames: 2)
        _ = try scratch.pattern("b.y4m", PixelSize(width: 640, height: 360), frames: 2)
        for name in ["a", "b"] { try scratch.ffmpeg("-i", "\(name).y4m", "-c:v", "libx264", "\(name).h264") }
        let url = { URL(fileURLWithPath: scratch.file($0)) }
        try (Data(contentsOf: url("a.h264")) + Data(contentsOf: url("b.h264"))).write(to: url("both.h264"))
        let recording = try Recording(path: scratch.file("both.h264"), control: SourceControl())
        var widths = [recording.first.buffer.size.width]
        while widths.count < 6, case .picture(let next) = try recording.next() { widths.append(next.buffer.size.width) }
        #expect(widths == [320, 320, 640, 640, 320, 320])
    }

    @Test(.enabled(if: hasFFmpeg, "needs the ffmpeg program"))
    func damagedPartsAreSkipped() throws {
        let scratch = try ScratchDirectory()
        _ = try scratch.pattern("pattern.y4m", Self.small, frames: 30)
        try scratch.ffmpeg("-i", "pattern.y4m", "-c:v", "libx264", "-g", "5", "a.mkv")
        let url = URL(fileURLWithPath: scratch.file("a.mkv"))
        let whole = try Data(contentsOf: url)
        for seed in 0..<8 as Range<UInt64> {
            var data = whole
            var state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
            for _ in 0..<60 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                data[data.count / 8 + Int(state >> 33) % (data.count * 7 / 8)] ^= UInt8(truncatingIfNeeded: state >> 24)
            }
            if seed % 2 == 1 { data = data.prefix(data.count * 2 / 3) }
            try data.write(to: url)
            // An error is acceptable; otherwise the rest must play in loops.
            let count = try? numbers(url.path, count: 60).count
            #expect(count.map { $0 >= 1 } ?? true)
        }
    }

    @Test func aTruncatedRecordingLoopsOverTheRest() throws {
        let scratch = try ScratchDirectory()
        let path = try scratch.pattern("pattern.y4m", Self.small, frames: 4)
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        try data.prefix(data.count - 1000).write(to: URL(fileURLWithPath: path))
        #expect(try numbers(path, count: 8) == [0, 1, 2, 0, 1, 2, 0, 1])
    }

    // MARK: Errors

    @Test func unreadableFilesAreRefusedWithAReason() throws {
        let scratch = try ScratchDirectory()
        #expect(try refusal(scratch.file("none.mp4")).contains("no such file"))
        #expect(try refusal(scratch.path).contains("is a directory"))
        #expect(try refusal("/dev/null").contains("a device"))
        func write(_ name: String, _ bytes: Data) throws -> String {
            try bytes.write(to: URL(fileURLWithPath: scratch.file(name)))
            return scratch.file(name)
        }
        #expect(try refusal(write("empty.mkv", Data())).contains("is empty"))
        #expect(
            try refusal(write("noise.mkv", Data((0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 7919 >> 3) })))
                .contains("damaged"))
        // A header without frames; a picture that is too large.
        let header = Data("YUV4MPEG2 W320 H180 F30:1 Ip A1:1 C420jpeg\n".utf8)
        #expect(try refusal(write("header.y4m", header)).contains("no picture"))
        #expect(
            try refusal(
                write("large.y4m", Data("YUV4MPEG2 W9000 H180 F30:1 C420jpeg\nFRAME\n".utf8) + Data(count: 2_430_000))
            )
            .contains("more than 8192"))
        // A playlist must not cause network access.
        #expect(
            !(try refusal(
                write("list.m3u8", Data("#EXTM3U\n#EXTINF:5,\nhttp://127.0.0.1:9/a.ts\n#EXT-X-ENDLIST\n".utf8))
            ).isEmpty))
        #expect(try refusal("http://127.0.0.1:9/a.mp4").contains("no such file"))
    }

    @Test(.enabled(if: hasFFmpeg, "needs the ffmpeg program"))
    func aFileWithoutVideoIsRefused() throws {
        let scratch = try ScratchDirectory()
        try scratch.ffmpeg("-f", "lavfi", "-i", "sine=duration=0.2", "a.wav")
        #expect(try refusal(scratch.file("a.wav")).contains("no video in it"))
    }

    @Test func aColonInANameIsNotAProtocol() throws {
        let scratch = try ScratchDirectory()
        let source = try FileSource(path: try scratch.pattern("http:a b%d.y4m", Self.small, frames: 2))
        #expect(source.info.description.contains("http:a b%d.y4m") && source.info.size == Self.small)
    }

    // MARK: Timing

    @Test func playbackRunsOnlyWhileSomebodyWatches() throws {
        let scratch = try ScratchDirectory()
        let source = try FileSource(path: try scratch.pattern("a.y4m", Self.small, frames: 10, frameRate: 100))
        #expect(source.info.frameRate == 100)
        let running = RunningSource(source)
        Thread.sleep(forTimeInterval: 0.2)
        #expect(running.count == 0)
        source.setActive(true)
        #expect(running.wait { $0.pictures.count >= 25 })
        source.setActive(false)
        Thread.sleep(forTimeInterval: 0.2)
        let paused = running.count
        Thread.sleep(forTimeInterval: 0.2)
        #expect(running.count == paused)
        source.setActive(true)
        #expect(running.wait { $0.pictures.count >= paused + 25 })
        let outcome = running.stop()
        #expect(outcome.error == nil)
        #expect(outcome.pictures.map(\.number) == (0..<UInt64(outcome.pictures.count)).map { $0 })
        // Every picture exactly once per loop, across loop ends and the pause.
        let numbers = outcome.pictures.map { PatternCode.read($0)?.number }
        #expect(numbers == (0..<numbers.count).map { UInt32($0 % 10) })
        #expect(outcome.pictures.allSatisfy { $0.damage.area == Self.small.area })
    }

    @Test func aSlowConsumerSkipsNothing() throws {
        let scratch = try ScratchDirectory()
        let source = try FileSource(path: try scratch.pattern("a.y4m", Self.small, frames: 5, frameRate: 200))
        let running = RunningSource(source, delay: 0.02)
        source.setActive(true)
        #expect(running.wait { $0.pictures.count >= 20 })
        let numbers = running.stop().pictures.map { PatternCode.read($0)?.number }
        #expect(numbers == (0..<numbers.count).map { UInt32($0 % 5) })
    }

    @Test func aStillPictureIsDeliveredAtEachActivation() throws {
        let scratch = try ScratchDirectory()
        let source = try FileSource(path: try scratch.pattern("still.y4m", Self.small, frames: 1, frameRate: 100))
        let running = RunningSource(source)
        for count in 1...3 {
            source.setActive(true)
            #expect(running.wait { $0.pictures.count == count })
            Thread.sleep(forTimeInterval: 0.1)
            #expect(running.count == count)
            source.setActive(false)
        }
        let pictures = running.stop().pictures
        #expect(pictures.map(\.number) == [0, 1, 2])
        #expect(zip(pictures, pictures.dropFirst()).allSatisfy { $0.time < $1.time })
    }

    @Test func aRecordingThatVanishesEndsWithAnError() throws {
        let scratch = try ScratchDirectory()
        let path = try scratch.pattern("a.y4m", Self.small, frames: 3, frameRate: 100)
        let source = try FileSource(path: path)
        let running = RunningSource(source)
        source.setActive(true)
        #expect(running.wait { $0.pictures.count > 3 })
        // Truncated during playback: the next loop fails.
        try FileHandle(forWritingTo: URL(fileURLWithPath: path)).truncate(atOffset: 0)
        #expect(running.wait { $0.isEnded })
        #expect(running.stop().error?.description.contains("a.y4m") == true)
    }
}

/// The schedule of a recording's pictures, in virtual time.
@Suite struct FileClockTests {
    private static let start = MediaTime(nanoseconds: 1_000_000_000_000)

    private func milliseconds(_ time: MediaTime) -> Int64 { (time - Self.start).inNanoseconds / 1_000_000 }

    /// Due times in milliseconds; each `now` is the previous due time.
    private func due(_ stamps: [(milliseconds: Int64?, beginsAgain: Bool)]) -> [Int64] {
        var clock = RecordingClock(frameRate: 50)
        clock.restart(stamps[0].milliseconds.map { $0 * 1_000_000 }, at: Self.start)
        return stamps.dropFirst().map {
            let now = clock.due
            return milliseconds(
                clock.advance($0.milliseconds.map { $0 * 1_000_000 }, beginsAgain: $0.beginsAgain, now: now))
        }
    }

    @Test func timestampsAreFollowed() {
        #expect(due([(70, false), (80, false), (120, false), (70, true), (80, false)]) == [10, 50, 70, 80])
    }

    @Test func withoutTimestampsTheFrameRateIsUsed() {
        #expect(due([(nil, false), (nil, false), (5, false), (nil, false)]) == [20, 40, 60])
    }

    @Test func implausibleTimestampsAreIgnored() {
        #expect(
            due([(100, false), (90, false), (90, false), (3_600_000, false), (3_600_010, false)]) == [20, 40, 60, 70])
        #expect(due([(.min / 1_000_000, false), (.max / 1_000_000, false)]) == [20])
    }

    @Test func smallDelaysAreCaughtUpAndLargeOnesShiftTheSchedule() {
        var clock = RecordingClock(frameRate: 50)
        clock.restart(nil, at: Self.start)
        #expect(milliseconds(clock.advance(nil, beginsAgain: false, now: Self.start + .milliseconds(900))) == 20)
        #expect(milliseconds(clock.advance(nil, beginsAgain: false, now: Self.start + .milliseconds(1041))) == 1041)
        #expect(milliseconds(clock.advance(nil, beginsAgain: false, now: Self.start + .milliseconds(1041))) == 1061)
    }
}
