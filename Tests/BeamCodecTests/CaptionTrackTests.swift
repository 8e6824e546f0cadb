import BeamMedia
import Foundation
import Synchronization
import Testing

@testable import BeamCodec

/// Recordings with a subtitle track, as ffprobe and ffmpeg read them.
@Suite(.enabled(if: Probe.isThere && Subtitles.isThere, "ffprobe or ffmpeg is not installed"))
struct CaptionTrackTests {
    private let content = MovingContent(PixelSize(width: 320, height: 180))
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// The frames' clock, `seconds` after the first frame.
    private func time(_ seconds: Double) -> MediaTime { MovingContent.time(0) + .seconds(seconds) }

    private func streams(_ file: String) throws -> [String] {
        let streams = try Probe.run(file, "-show_entries", "stream=codec_name")
        #expect(streams.errors.isEmpty, "\(streams.errors)")
        return streams.lines
    }

    private func pictures(_ file: String) throws -> Int {
        let frames = try Probe.run(file, "-select_streams", "v:0", "-show_frames", "-show_entries", "frame=pict_type")
        #expect(frames.errors.isEmpty, "\(frames.errors)")
        return frames.lines.count
    }

    @Test(arguments: ["mkv", "mp4"]) func captionsAreInStepWithThePicture(_ ending: String) throws {
        let file = directory.file("a.\(ending)")
        let recorder = try StreamRecorder(path: file, captions: true)
        let captions: [(at: Double, text: String)] = [
            (0.5, "Good morning"), (2.2, "Anna: two\nlines"), (4.5, "Käse, 会議 שלום 😀"),
        ]
        for (number, frame) in try content.frames(210).enumerated() {
            try recorder.write(frame.unit, at: frame.captureTime)
            for caption in captions where Int((caption.at * 30).rounded()) == number {
                try recorder.addCaption(caption.text, at: frame.captureTime, for: .milliseconds(1500))
            }
        }
        try recorder.finish()
        #expect(try streams(file) == ["h264", ending == "mkv" ? "subrip" : "mov_text"])
        #expect(try pictures(file) == 210)
        let read = try Subtitles.read(file)
        #expect(read.map(\.text) == captions.map(\.text))
        for (cue, caption) in zip(read, captions) {
            #expect(abs(cue.start - caption.at) < 0.002 && abs(cue.end - caption.at - 1.5) < 0.002)
        }
        if ending == "mkv" {
            let data = try Data(contentsOf: URL(fileURLWithPath: file))
            #expect(data.firstRange(of: Data("S_TEXT/UTF8".utf8)) != nil)
        }
    }

    @Test(arguments: ["mkv", "mp4"]) func captionsThatComeFasterThanTheyAreReadStayInStep(_ ending: String) throws {
        let file = directory.file("fast.\(ending)")
        let recorder = try StreamRecorder(path: file, captions: true)
        var frames = try content.frames(220)
        for index in frames.indices { frames[index].captureTime = time(Double(index) * 0.1) }
        let copy = directory.file("killed.\(ending)")
        for (number, frame) in frames.enumerated() {
            try recorder.write(frame.unit, at: frame.captureTime)
            if number % 5 == 2, number < 200 {
                try recorder.addCaption("caption \(number / 5)", at: frame.captureTime, for: .milliseconds(1500))
            }
            if number == 150 { try FileManager.default.copyItem(atPath: file, toPath: copy) }
        }
        try recorder.finish()
        #expect(try pictures(file) == 220)
        let read = try Subtitles.read(file)
        #expect(read.map(\.text) == (0..<40).map { "caption \($0)" })
        for (number, cue) in read.enumerated() {
            #expect(abs(cue.start - 0.2 - Double(number) * 0.5) < 0.002, "\(number): \(cue)")
            // In MP4 the next one ends it.
            let length = ending == "mkv" || number == 39 ? 1.5 : 0.5
            #expect(abs(cue.end - cue.start - length) < 0.003, "\(number): \(cue)")
        }
        // What a crash after 15 s leaves: all but the one that is shown, and the last half second.
        let kept = try Subtitles.read(copy).map(\.text)
        #expect(kept.count >= 27 && kept == (0..<kept.count).map { "caption \($0)" }, "\(kept.count)")
    }

    /// Nobody could read one before the next, and MP4 shows one text at a time.
    @Test func captionsAtOnceAreShownTogetherInMP4() throws {
        let file = directory.file("burst.mp4")
        let recorder = try StreamRecorder(path: file, captions: true)
        for (number, frame) in try content.frames(90).enumerated() {
            try recorder.write(frame.unit, at: frame.captureTime)
            guard number == 30 else { continue }
            for line in 0..<5 { try recorder.addCaption("line \(line)", at: frame.captureTime, for: .seconds(1)) }
        }
        try recorder.finish()
        let read = try Subtitles.read(file)
        #expect(read.map(\.text) == ["line 0\nline 1\nline 2", "line 3\nline 4"])
        #expect(read.allSatisfy { abs($0.start - 1) < 0.002 } && abs((read.last?.end ?? 0) - 2) < 0.002, "\(read)")
    }

    /// libavformat takes no gap of 6.6 h.
    @Test(arguments: ["mkv", "mp4"]) func captionsAfterHoursOfSilenceAreInStep(_ ending: String) throws {
        let file = directory.file("hours.\(ending)")
        let recorder = try StreamRecorder(path: file, captions: true)
        for (number, frame) in try content.frames(20).enumerated() {
            try recorder.write(frame.unit, at: time(Double(number) * 3000))
            if [1, 18].contains(number) {
                try recorder.addCaption("at \(number)", at: time(Double(number) * 3000), for: .seconds(2))
            }
        }
        try recorder.finish()
        #expect(try pictures(file) == 20)
        let read = try Subtitles.read(file)
        #expect(read.map(\.text) == ["at 1", "at 18"])
        #expect(read.map(\.start) == [3000, 54_000], "\(read)")
        #expect(read.allSatisfy { abs($0.end - $0.start - 2) < 0.01 }, "\(read)")
    }

    /// libavformat's interleaving would hold pictures back for 10 s.
    @Test(arguments: ["mkv", "mp4"], [false, true])
    func theFileGrowsWhileNoCaptionComes(_ ending: String, _ captions: Bool) throws {
        let file = directory.file("b.\(ending)")
        let recorder = try StreamRecorder(path: file, captions: captions)
        if captions { try recorder.addCaption("the only one", at: time(0), for: .seconds(2)) }
        var sizes: [Int] = []
        for (number, frame) in try content.frames(300).enumerated() {
            try recorder.write(frame.unit, at: frame.captureTime)
            // Each second.
            if number % 30 == 29 {
                sizes.append(try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0)
            }
        }
        for (a, b) in zip(sizes, sizes.dropFirst()) { #expect(b > a, "\(sizes)") }
        // What a crash would leave: all but the last half second, and the caption.
        let copy = directory.file("crashed.\(ending)")
        try FileManager.default.copyItem(atPath: file, toPath: copy)
        let crashed = try Probe.run(
            copy, "-select_streams", "v:0", "-show_frames", "-show_entries", "frame=pict_type")
        #expect(crashed.lines.count >= 280)
        if captions { #expect(try Subtitles.read(copy).map(\.text) == ["the only one"]) }
        try recorder.finish()
        #expect(try pictures(file) == 300)
        #expect(try streams(file).count == (captions ? 2 : 1))
    }

    @Test func aRecordingWithoutCaptionsTakesNone() throws {
        var files: [Data] = []
        for (number, hasOne) in [false, true].enumerated() {
            let file = directory.file("none-\(number).mp4")
            let recorder = try StreamRecorder(path: file)
            for frame in try content.frames(20) {
                try recorder.write(frame.unit, at: frame.captureTime)
                if hasOne { try recorder.addCaption("nothing", at: frame.captureTime, for: .seconds(1)) }
            }
            try recorder.finish()
            #expect(try streams(file) == ["h264"])
            files.append(try Data(contentsOf: URL(fileURLWithPath: file)))
        }
        #expect(files[0] == files[1])
    }

    @Test(arguments: ["mkv", "mp4"]) func theNextFileHasTheTrackAndWhatIsStillShown(_ ending: String) throws {
        let recorder = try StreamRecorder(path: directory.file("c.\(ending)"), captions: true)
        let first = try content.frames(30)
        // Over before the recording begins; and still shown then.
        try recorder.addCaption("too early", at: time(-5), for: .seconds(2))
        try recorder.addCaption("before", at: time(-1), for: .milliseconds(1500))
        for frame in first { try recorder.write(frame.unit, at: frame.captureTime) }
        try recorder.addCaption("over the change", at: time(0.8), for: .seconds(2))
        var second = try MovingContent(PixelSize(width: 401, height: 203)).frames(90)
        for index in second.indices { second[index].captureTime = MovingContent.time(30 + index) }
        for frame in second { try recorder.write(frame.unit, at: frame.captureTime) }
        try recorder.addCaption("in the second", at: time(3.5), for: .seconds(2))
        try recorder.finish()
        let (a, b) = (
            try Subtitles.read(directory.file("c.\(ending)")), try Subtitles.read(directory.file("c-2.\(ending)"))
        )
        #expect(
            a.map(\.text) == ["before", "over the change"] && b.map(\.text) == ["over the change", "in the second"])
        try #require(a.count == 2 && b.count == 2)
        #expect(a[0].start == 0 && abs(a[0].end - 0.5) < 0.002 && abs(a[1].start - 0.8) < 0.002)
        #expect(b[0].start == 0 && abs(b[0].end - 1.8) < 0.002 && abs(b[1].start - 2.5) < 0.002)
        #expect(try streams(directory.file("c-2.\(ending)")).count == 2)
    }

    /// Captions of several authors come late, at once, and out of order; nothing is drawn for a minute meanwhile.
    @Test(arguments: ["mkv", "mp4"]) func wildTimesMakeAFileThatPlays(_ ending: String) throws {
        let file = directory.file("d.\(ending)")
        let recorder = try StreamRecorder(path: file, captions: true)
        var frames = try content.frames(40)
        for index in frames.indices { frames[index].captureTime = time(Double(index) * (index < 20 ? 0.1 : 6)) }
        for (number, frame) in frames.enumerated() {
            try recorder.write(frame.unit, at: frame.captureTime)
            let now = frame.captureTime - time(0)
            switch number {
            case 5:
                for name in ["a", "b", "c"] { try recorder.addCaption(name, at: time(0.5), for: .seconds(2)) }
                try recorder.addCaption("earlier", at: time(0.4), for: .seconds(2))
            case 19:
                // While the screen stands still.
                for second in 1...30 {
                    try recorder.addCaption("still \(second)", at: time(2 + Double(second) * 3), for: .seconds(2))
                }
            case 30:
                try recorder.addCaption("late", at: time(now.inSeconds - 1), for: .seconds(2))
                try recorder.addCaption("of another time", at: time(now.inSeconds - 60), for: .seconds(2))
                try recorder.addCaption("no time", at: time(now.inSeconds), for: .zero)
                try recorder.addCaption("negative", at: time(now.inSeconds), for: .seconds(-5))
                try recorder.addCaption("far past", at: .distantPast, for: .nanoseconds(Int64.max))
                try recorder.addCaption("\u{202E}\n\u{0}", at: time(now.inSeconds), for: .seconds(2))
            default: break
            }
        }
        try recorder.finish()
        #expect(try pictures(file) == 40)
        let read = try Subtitles.read(file)
        let texts = read.map(\.text)
        #expect(texts.contains("earlier") && texts.contains("late") && texts.contains("still 30"))
        #expect(!texts.contains("of another time") && !texts.contains("negative"))
        for (a, b) in zip(read, read.dropFirst()) { #expect(a.start <= b.start && a.end > a.start) }
        for second in 1...30 {
            let cue = try #require(read.first { $0.text == "still \(second)" })
            #expect(abs(cue.start - 2 - Double(second) * 3) < 0.002)
        }
    }

    @Test(arguments: ["mkv", "mp4"]) func hostileTextsAreOneCaptionEach(_ ending: String) throws {
        let file = directory.file("e.\(ending)")
        let recorder = try StreamRecorder(path: file, captions: true)
        for frame in try content.frames(2) { try recorder.write(frame.unit, at: frame.captureTime) }
        let texts = [
            "a\n\n1\n00:00:00,000 --> 00:00:09,000\nforged z", "a <i>b</i> <font size=9>z", "a {\\an8}{\\fs99} z",
            "a\u{1B}[2J\u{202E}\u{0} z", "a " + String(repeating: "漢", count: 50_000) + " z",
        ]
        for (number, text) in texts.enumerated() {
            try recorder.addCaption(text, at: time(Double(number) * 10), for: .seconds(3))
        }
        try recorder.finish()
        let packets = try Probe.run(
            file, "-select_streams", "s:0", "-show_packets", "-show_entries", "packet=pts_time,size")
        let captions = packets.lines.filter { !$0.hasSuffix(",2") }
        #expect(packets.errors.isEmpty && captions.count == texts.count)
        let shown = try Subtitles.ass(file)
        #expect(shown.count == texts.count)
        for line in shown {
            for style in ["{\\an8}", "{\\i1}", "{\\fs99}"] { #expect(line.contains(",a") && !line.contains(style)) }
        }
    }

    /// Each caption has an entry in Matroska's index, for which space was reserved once.
    @Test(arguments: ["mkv", "mp4"]) func thousandsOfCaptionsFit(_ ending: String) throws {
        let file = directory.file("f.\(ending)")
        let recorder = try StreamRecorder(path: file, captions: true)
        let frames = try content.frames(60)
        for (number, frame) in frames.enumerated() {
            let start = Double(number) * 100
            try recorder.write(frame.unit, at: time(start))
            for line in 0..<50 {
                let begin = time(start + Double(2 * line))
                try recorder.addCaption("line \(number * 50 + line)", at: begin, for: .seconds(2))
            }
        }
        try recorder.finish()
        #expect(try Subtitles.read(file).map(\.text) == (0..<3000).map { "line \($0)" })
        #expect(try pictures(file) == 60)
    }

    @Test(arguments: ["mkv", "mp4"]) func theBackgroundRecorderTakesCaptions(_ ending: String) throws {
        let file = directory.file("g.\(ending)")
        let failures = Mutex<[CodecError]>([])
        let recorder = try BackgroundRecorder(
            path: file, captions: true,
            handlers: BackgroundRecorder.Handlers(
                onFile: { _, _ in }, onGap: {}, onKeyframeNeeded: {},
                onFailure: { _, error in failures.withLock { $0.append(error) } }))
        recorder.start()
        for (number, frame) in try content.frames(90).enumerated() {
            if number % 30 == 15 { recorder.addCaption("at \(number)", at: frame.captureTime, for: .seconds(1)) }
            recorder.push(frame.unit, at: frame.captureTime)
        }
        recorder.stop()
        recorder.addCaption("after the end", at: time(9), for: .seconds(1))
        #expect(failures.withLock(\.isEmpty) && recorder.report.droppedCaptions == 0)
        #expect(recorder.report.frames == 90)
        #expect(try Subtitles.read(file).map(\.text) == ["at 15", "at 45", "at 75"])
    }

    @Test func captionsThatFindNoRoomAreCounted() throws {
        let recorder = try BackgroundRecorder(
            path: directory.file("h.mkv"), captions: true, queue: BoundedQueue(capacity: 2),
            handlers: BackgroundRecorder.Handlers(
                onFile: { _, _ in }, onGap: {}, onKeyframeNeeded: {}, onFailure: { _, _ in }))
        // Not started yet: nothing is taken from the queue.
        for number in 0..<5 { recorder.addCaption("\(number)", at: time(0), for: .seconds(1)) }
        #expect(recorder.report.droppedCaptions == 3)
        recorder.stop()
    }
}

/// ffmpeg, as an independent reader of subtitle tracks.
enum Subtitles {
    static let isThere = FileManager.default.isExecutableFile(atPath: "/usr/bin/ffmpeg")

    struct Failed: Error { var text: String }

    struct Cue {
        var start: Double
        var end: Double
        var text: String
    }

    /// The first subtitle track, as ffmpeg converts it to SubRip. In MP4 a caption ends with the next packet, which may be
    /// empty; ffmpeg doesn't tell.
    static func read(_ file: String) throws -> [Cue] {
        var cues = try texts(file)
        guard file.hasSuffix(".mp4") else { return cues }
        let packets = try Probe.run(
            file, "-select_streams", "s:0", "-show_packets", "-show_entries", "packet=pts_time,size"
        ).lines.map { $0.split(separator: ",").compactMap { Double($0) } }
        let ends = packets.indices.filter { packets[$0][1] > 2 }.map { index in
            index + 1 < packets.count ? packets[index + 1][0] : .infinity
        }
        guard ends.count == cues.count else { throw Failed(text: "\(ends.count) packets, \(cues.count) captions") }
        for index in cues.indices { cues[index].end = ends[index] }
        return cues
    }

    private static func texts(_ file: String) throws -> [Cue] {
        try convert(file, to: "srt").components(separatedBy: "\n\n").compactMap { block -> Cue? in
            let lines = block.split(separator: "\n", maxSplits: 2)
            guard lines.count == 3 else { return nil }
            let times = lines[1].components(separatedBy: " --> ").map { text -> [Double] in
                text.split(whereSeparator: { ":,".contains($0) }).compactMap { Double($0) }
            }
            let seconds = times.map { (($0[0] * 60 + $0[1]) * 60 + $0[2]) + $0[3] / 1000 }
            // The font of a track of 3GPP Timed Text.
            let text = lines[2].replacing(/<\/?font[^>]*>/, with: "")
            return Cue(start: seconds[0], end: seconds[1], text: String(text))
        }
    }

    /// The track's lines as a player shows them, with styles as override codes.
    static func ass(_ file: String) throws -> [String] {
        try convert(file, to: "ass").split(separator: "\n").filter { $0.hasPrefix("Dialogue:") }.map { String($0) }
    }

    private static func convert(_ file: String, to format: String) throws -> String {
        let ended = try Tool.run(
            "/usr/bin/ffmpeg", ["-v", "error", "-i", file, "-map", "0:s:0", "-f", format, "-"])
        guard ended.status == 0, ended.errors.isEmpty else { throw Failed(text: ended.errors) }
        return ended.output.replacingOccurrences(of: "\r\n", with: "\n")
    }
}
