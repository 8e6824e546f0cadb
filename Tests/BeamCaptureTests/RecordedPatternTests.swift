import BeamMedia
import Foundation
import Testing

@testable import BeamCapture

/// Bursts and pictures of recordings of the test pattern.
@Suite struct RecordedPatternTests {
    private static let options = PatternOptions(size: PixelSize(width: 320, height: 180), frameRate: 25)

    /// A recording of the pattern's first four seconds whose sound is late by `delay` seconds.
    private func recording(_ scratch: ScratchDirectory, soundDelay delay: Double?, name: String) throws -> String {
        let renderer = try PatternRenderer(Self.options)
        var pictures = Data()
        for number in 0..<100 {
            let buffer = renderer.picture(number, time: .zero).buffer
            for plane in 0..<3 {
                let (rowBytes, rows) = buffer.format.plane(plane, of: buffer.size)
                for row in 0..<rows {
                    let start = buffer.planes[plane].base + row * buffer.planes[plane].stride
                    pictures.append(start.assumingMemoryBound(to: UInt8.self), count: rowBytes)
                }
            }
        }
        try pictures.write(to: URL(fileURLWithPath: scratch.file("a.yuv")))
        var arguments = ["-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", "320x180", "-r", "25", "-i", "a.yuv"]
        if let delay {
            var samples = [Float](repeating: 0, count: 4 * SoundBlock.sampleRate)
            for second in 0..<4 {
                let start = Int((Double(second) + delay) * Double(SoundBlock.sampleRate))
                samples.replaceSubrange(
                    start..<start + PatternTone.length, with: PatternTone.burst(UInt32(25 * second)))
            }
            try samples.withUnsafeBytes { Data($0) }.write(to: URL(fileURLWithPath: scratch.file("a.f32")))
            arguments += ["-f", "f32le", "-ar", "48000", "-ac", "1", "-i", "a.f32", "-c:a", "flac"]
        }
        try scratch.ffmpeg(arguments + ["-c:v", "libx264", "-preset", "ultrafast", name])
        return scratch.file(name)
    }

    @Test(.enabled(if: hasFFmpeg, "needs the ffmpeg program"), arguments: [0, 0.0125, 0.3])
    func skewIsFound(delay: Double) throws {
        let scratch = try ScratchDirectory()
        let pattern = try RecordedPattern(path: try recording(scratch, soundDelay: delay, name: "a.mkv"))
        #expect(pattern.pictures.map(\.number) == (0..<100).map { UInt32($0) })
        #expect(pattern.bursts.map(\.number) == [0, 25, 50, 75])
        let steps = pattern.steps(Self.options)
        #expect(steps.map(\.number) == [25, 50, 75] && steps.allSatisfy(\.hasBurst))
        // Matroska has milliseconds.
        for step in steps { #expect(abs((step.skew ?? .seconds(9)).inMilliseconds - 1000 * delay) < 1.5, "\(step)") }
    }

    @Test(.enabled(if: hasFFmpeg, "needs the ffmpeg program")) func aRecordingWithoutSoundHasNoBursts() throws {
        let scratch = try ScratchDirectory()
        let pattern = try RecordedPattern(path: try recording(scratch, soundDelay: nil, name: "b.mp4"))
        #expect(pattern.bursts.isEmpty && pattern.pictures.count == 100)
        #expect(pattern.steps(Self.options).map(\.hasBurst) == [false, false, false])
        #expect(throws: CaptureError.self) { try RecordedPattern(path: scratch.file("none.mkv")) }
    }

    private func marks(_ numbers: [UInt32]) -> [RecordedPattern.Mark] {
        numbers.map { .init(number: $0, time: .milliseconds(40 * Int64($0))) }
    }

    @Test func whatIsMissingIsTold() {
        let numbers = (0..<150).map { UInt32($0) }
        var pattern = RecordedPattern(pictures: marks(numbers.filter { $0 != 50 }), bursts: marks([0, 25, 50, 100]))
        pattern.bursts[1].time += .milliseconds(-7)
        let steps = pattern.steps(Self.options)
        // The first one isn't expected: nobody may have listened yet.
        #expect(steps.map(\.number) == [25, 50, 75, 100, 125])
        #expect(steps.map(\.hasBurst) == [true, true, false, true, false])
        #expect(steps.map(\.skew) == [.milliseconds(-7), nil, nil, .zero, nil])
    }

    @Test func aPatternThatWasRunningForLongIsMatched() {
        let start = PatternTone.modulus - 20
        let numbers = (start..<start + 100)
        // 16777200 and 16777225: the second one's low 24 bits are 9.
        let bursts = [RecordedPattern.Mark(number: 9, time: .seconds(2))]
        let pattern = RecordedPattern(
            pictures: numbers.map { .init(number: $0, time: .milliseconds(40 * Int64($0 - start))) }, bursts: bursts)
        let steps = pattern.steps(Self.options)
        #expect(
            steps.map(\.number) == [16_777_225, 16_777_250, 16_777_275]
                && steps.map(\.hasBurst) == [true, false, false])
        #expect(steps.first?.skew == .seconds(2) - .milliseconds(40 * 29))
    }

    /// A host's pictures may carry any number.
    @Test func wildNumbersCostNothing() {
        let wild = RecordedPattern(pictures: marks([0, .max]), bursts: [])
        #expect(wild.steps(Self.options).isEmpty)
        #expect(RecordedPattern(pictures: marks([9, 3]), bursts: []).steps(Self.options).isEmpty)
        #expect(RecordedPattern(pictures: [], bursts: marks([3])).steps(Self.options).isEmpty)
        #expect(RecordedPattern(pictures: marks([0, 99]), bursts: []).steps(PatternOptions(frameRate: 0)).isEmpty)
    }
}
