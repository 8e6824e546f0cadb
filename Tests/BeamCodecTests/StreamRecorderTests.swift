import BeamCodec
import BeamMedia
import Foundation
import Testing

@Suite(.enabled(if: Probe.isThere, "ffprobe is not installed")) struct StreamRecorderTests {
    private let content = MovingContent(PixelSize(width: 320, height: 180))

    private func record(_ frames: [EncodedFrame], to path: String) throws {
        let recorder = try StreamRecorder(path: path)
        for frame in frames { try recorder.write(frame.unit, at: frame.captureTime) }
        try recorder.finish()
    }

    @Test(arguments: ["mkv", "mp4"]) func everyFramePlays(_ ending: String) throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("a.\(ending)")
        // The first two frames come before the keyframe and are left out.
        let coded = try content.frames(32, keyframes: [2, 20])
        try record(Array(coded[1...]), to: file)
        let frames = try Probe.run(file, "-show_frames", "-show_entries", "frame=pts_time,pict_type")
        #expect(frames.errors.isEmpty, "\(frames.errors)")
        #expect(frames.lines.count == 30)
        let times = frames.lines.compactMap { $0.split(separator: ",").first.flatMap { Double($0) } }
        #expect(times.first == 0)
        for (number, time) in times.enumerated() { #expect(abs(time - Double(number) / 30) < 0.002) }
        let stream = try Probe.run(file, "-show_entries", "stream=codec_name,profile,width,height")
        #expect(stream.lines == ["h264,Main,320,180"])
    }

    /// A copy of the unfinished file stands in for what a crash leaves.
    @Test(arguments: ["mkv", "mp4"]) func anUnfinishedFilePlays(_ ending: String) throws {
        let directory = try TemporaryDirectory()
        let (file, copy) = (directory.file("b.\(ending)"), directory.file("crashed.\(ending)"))
        let recorder = try StreamRecorder(path: file)
        for frame in try content.frames(90) { try recorder.write(frame.unit, at: frame.captureTime) }
        try FileManager.default.copyItem(atPath: file, toPath: copy)
        let frames = try Probe.run(copy, "-show_frames", "-show_entries", "frame=pict_type")
        // 3 s were recorded; half a second may be missing.
        #expect(frames.lines.count >= 70)
        // Truncated anywhere, the file plays up to there. (The first frame takes most of the bytes.)
        let handle = try #require(FileHandle(forWritingAtPath: copy))
        let length = try handle.seekToEnd()
        try handle.truncate(atOffset: length * 2 / 3)
        try handle.close()
        let cut = try Probe.run(copy, "-show_frames", "-show_entries", "frame=pict_type")
        #expect(cut.lines.count >= 20)
        try recorder.finish()
    }

    @Test(arguments: ["mkv", "mp4"]) func newParameterSetsOfTheSameSizeStayInTheFile(_ ending: String) throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("c.\(ending)")
        let first = try content.frames(5)
        // The frame rate is part of the SPS, so another rate means another SPS.
        var second = try content.frames(5, frameRate: 60)
        for index in second.indices { second[index].captureTime = MovingContent.time(5 + index) }
        #expect(first[0].unit.parameterSets != second[0].unit.parameterSets)
        try record(first + second, to: file)
        let frames = try Probe.run(file, "-show_frames", "-show_entries", "frame=pict_type")
        #expect(frames.errors.isEmpty)
        #expect(frames.lines.count == 10)
    }

    @Test func anotherSizeGoesIntoTheNextFile() throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("d.mkv")
        let other = try MovingContent(PixelSize(width: 401, height: 203)).frames(4)
        try record(try content.frames(5) + other, to: file)
        #expect(try Probe.run(file, "-show_frames", "-show_entries", "frame=pict_type").lines.count == 5)
        let next = directory.file("d-2.mkv")
        #expect(try Probe.run(next, "-show_frames", "-show_entries", "frame=pict_type").lines.count == 4)
        #expect(try Probe.run(next, "-show_entries", "stream=width,height").errors.isEmpty)
    }

    @Test func timestampsAlwaysGrow() throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("e.mkv")
        var frames = try content.frames(5)
        frames[2].captureTime = frames[1].captureTime
        frames[3].captureTime = .zero
        try record(frames, to: file)
        #expect(
            try Probe.run(file, "-show_packets", "-show_entries", "packet=pts").lines.compactMap { Int($0) }.count == 5)
    }

    @Test func filesAreNeverOverwritten() throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("f.mkv")
        try Data("precious".utf8).write(to: URL(fileURLWithPath: file))
        #expect(throws: CodecError.fileExists(path: file)) { try StreamRecorder(path: file) }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "precious")
    }

    /// Opening a pipe for writing blocks until somebody reads it.
    @Test func aPipeWithoutAReaderIsAnError() throws {
        let directory = try TemporaryDirectory()
        let pipe = directory.file("pipe.mkv")
        // As the program does: a reader that goes must not end the process.
        signal(SIGPIPE, SIG_IGN)
        #expect(mkfifo(pipe, 0o600) == 0)
        #expect(
            throws: CodecError.cannotCreateFile(path: pipe, reason: "no program reads this pipe. Start one first")
        ) {
            try StreamRecorder(path: pipe)
        }
    }

    @Test func unusableNamesAreRefused() throws {
        for name in ["x.avi", "x", ".mkv", "/tmp.mkv/x"] {
            #expect(throws: CodecError.self) { try StreamRecorder(path: name) }
        }
        #expect(throws: CodecError.self) { try StreamRecorder(path: "/nonexistent/x.mkv") }
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full"), "there is no /dev/full"))
    func aFullDiskIsAnError() throws {
        let directory = try TemporaryDirectory()
        let file = directory.file("full.mkv")
        try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "/dev/full")
        let recorder = try StreamRecorder(path: file)
        #expect(throws: CodecError.cannotWriteFile(path: file, reason: "no space left on device")) {
            for frame in try content.frames(60) { try recorder.write(frame.unit, at: frame.captureTime) }
            try recorder.finish()
        }
    }
}
