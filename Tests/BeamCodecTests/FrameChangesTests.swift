import BeamCodec
import BeamMedia
import BeamPixels
import BeamWire
import Testing

/// What a frame says of its changes, in the stream: decoders and players don't mind it.
@Suite struct FrameChangesTests {
    private static let content = MovingContent(PixelSize(width: 320, height: 180))

    /// The frames, each with as many changes as its number, or the most.
    private static func marked(_ frames: [EncodedFrame]) -> [EncodedFrame] {
        frames.enumerated().map { number, frame in
            let time = frame.captureTime.microseconds
            let changes = FrameChanges(
                captureTime: time,
                changes: (0..<(number == 5 ? FrameChanges.most : number)).map {
                    let rect = PixelRect(x: 16 * ($0 % 20), y: 176, width: 16, height: 4)
                    return FrameChanges.Change(rect: rect, time: time - UInt64($0))
                })
            var frame = frame
            let before = frame.unit.avcc.count
            frame.unit = changes.inserted(into: frame.unit)
            #expect(FrameChanges(frame.unit) == changes)
            #expect(frame.unit.avcc.count >= before + 30)
            return frame
        }
    }

    @Test func theDecoderGivesTheSamePictures() throws {
        let frames = try Self.content.frames(12, keyframes: [6])
        let (plain, marked) = (try VideoDecoder(), try VideoDecoder())
        for (frame, other) in zip(frames, Self.marked(frames)) {
            let one = try #require(try plain.decode(frame.unit)).buffer
            let two = try #require(try marked.decode(other.unit)).buffer
            for plane in 0..<3 {
                for y in 0..<(plane == 0 ? 180 : 90) {
                    let length = plane == 0 ? 320 : 160
                    #expect(one.row(plane, y).prefix(length).elementsEqual(two.row(plane, y).prefix(length)))
                }
            }
        }
    }

    @Test(.enabled(if: Probe.isThere, "ffprobe is not installed"), arguments: ["mkv", "mp4"])
    func aRecordingPlaysWithoutAWarning(_ ending: String) throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("marked.\(ending)")
        let recorder = try StreamRecorder(path: file)
        for frame in try Self.marked(Self.content.frames(30, keyframes: [20])) {
            try recorder.write(frame.unit, at: frame.captureTime)
        }
        try recorder.finish()
        let frames = try Probe.run(
            file, "-v", "warning", "-show_frames", "-select_streams", "v", "-show_entries", "frame=pict_type")
        #expect(frames.errors.isEmpty, "\(frames.errors)")
        #expect(frames.lines.count == 30)
    }
}
