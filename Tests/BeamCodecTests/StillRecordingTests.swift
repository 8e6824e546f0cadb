import BeamMedia
import Foundation
import Synchronization
import Testing

@testable import BeamCodec

/// Recordings in which nothing changes for a while, and at the end, as ffprobe and ffmpeg read them.
@Suite(.enabled(if: Probe.isThere && Frames.isThere, "ffprobe or ffmpeg is not installed"))
struct StillRecordingTests {
    private let content = MovingContent(PixelSize(width: 320, height: 180))
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func time(_ seconds: Double) -> MediaTime { MovingContent.time(0) + .seconds(seconds) }

    /// What was decoded: the time of each picture, and a hash of its content.
    private func pictures(_ file: String) throws -> [(time: Double, hash: String)] {
        let ended = try Tool.run(
            Frames.path ?? "",
            ["-v", "error", "-i", file, "-map", "0:v", "-vsync", "passthrough", "-f", "framemd5", "-"])
        #expect(ended.errors.isEmpty, "\(ended.errors)")
        var scale = 1.0
        var pictures: [(time: Double, hash: String)] = []
        for line in ended.output.split(separator: "\n") {
            if line.hasPrefix("#tb 0: ") {
                let parts = line.dropFirst(7).split(separator: "/").compactMap { Double($0) }
                scale = parts[0] / parts[1]
            }
            let fields = line.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            if !line.hasPrefix("#"), fields.count >= 6, let time = Double(fields[2]) {
                pictures.append((time * scale, fields[5]))
            }
        }
        return pictures
    }

    private func duration(_ file: String) throws -> Double {
        let probed = try Probe.run(file, "-show_entries", "format=duration")
        #expect(probed.errors.isEmpty, "\(probed.errors)")
        return Double(probed.lines.first ?? "") ?? 0
    }

    /// Ten pictures in a third of a second; ten more after 11 s; nothing more up to 20 s.
    @Test(arguments: ["mkv", "mp4"], [false, true])
    func aStillPictureLastsUntilTheNextOneAndUntilTheEnd(_ ending: String, _ captions: Bool) throws {
        let file = directory.file("still.\(ending)")
        let recorder = try StreamRecorder(path: file, captions: captions)
        var frames = try content.frames(20)
        for index in 10..<20 { frames[index].captureTime = time(11 + Double(index) / 30) }
        for frame in frames.prefix(10) { try recorder.write(frame.unit, at: frame.captureTime) }
        for second in 1...10 { try recorder.passTime(until: time(Double(second))) }
        if captions { try recorder.addCaption("in between", at: time(8), for: .seconds(1)) }
        for frame in frames.suffix(10) { try recorder.write(frame.unit, at: frame.captureTime) }
        try recorder.passTime(until: time(17))
        if captions { try recorder.addCaption("after the last change", at: time(18), for: .seconds(1)) }
        try recorder.finish(at: time(20))

        let all = try pictures(file)
        // What a player without repeated pictures sees.
        let plain = directory.file("plain.\(ending)")
        let other = try StreamRecorder(path: plain)
        for frame in frames { try other.write(frame.unit, at: frame.captureTime) }
        try other.finish()
        let expected = try pictures(plain).map(\.hash)
        #expect(expected.count == 20)
        let kept = all.enumerated().filter { $0.offset == 0 || all[$0.offset - 1].hash != $0.element.hash }
        #expect(kept.map(\.element.hash) == expected, "repeated pictures are the same, and the others unharmed")
        // Four at 2, 4, 6, 8 s after the first ten; four more and the last one after the others.
        #expect(all.count == 20 + 4 + 5, "\(all.map(\.time))")
        #expect(
            zip(all, all.dropFirst()).allSatisfy { $1.time - $0.time < 3.1 && $1.time > $0.time }, "\(all.map(\.time))")
        #expect(abs((all.last?.time ?? 0) - (20 - 1.0 / 30)) < 0.01)
        #expect(abs(try duration(file) - 20) < 0.01)
        let streams = try Probe.run(
            file, "-select_streams", "v", "-show_entries", "stream_tags=DURATION:stream=duration")
        #expect(streams.lines.first.map { $0.contains("20.0") } == true, "\(streams.lines)")
        if captions { #expect(try Subtitles.read(file).map(\.text) == ["in between", "after the last change"]) }
        // A player that seeks to the end finds a picture there.
        let late = try Tool.run(
            Frames.path ?? "",
            ["-v", "error", "-ss", "19.5", "-i", file, "-map", "0:v", "-frames:v", "1", "-f", "framemd5", "-"])
        #expect(late.output.contains(expected[19]), "\(late)")
    }

    /// 35 minutes in which the picture changes for 51 s, with a caption every 10 s and silence.
    @Test(arguments: ["mkv", "mp4"]) func aLessonKeepsItsLengthAndItsCaptions(_ ending: String) throws {
        let file = directory.file("lesson.\(ending)")
        let recorder = try StreamRecorder(path: file, captions: true, sound: true)
        let frames = try content.frames(51)
        for second in 0..<2100 {
            if second < 51 { try recorder.write(frames[second].unit, at: time(Double(second))) }
            if second % 10 == 5 {
                try recorder.addCaption("caption \(second)", at: time(Double(second)), for: .seconds(3))
            }
            try recorder.passTime(until: time(Double(second) - 1))
        }
        try recorder.finish(at: time(2100))
        let captions = try Subtitles.read(file)
        #expect(captions.map(\.text) == stride(from: 5, to: 2100, by: 10).map { "caption \($0)" })
        for (number, caption) in captions.enumerated() {
            #expect(abs(caption.start - Double(5 + number * 10)) < 0.01 && abs(caption.end - caption.start - 3) < 0.01)
        }
        #expect(abs(try duration(file) - 2100) < 0.05)
        let streams = try Probe.run(file, "-show_entries", "packet=stream_index,pts_time")
        for stream in ["0", "2"] {
            let last = streams.lines.last { $0.hasPrefix(stream + ",") }?.split(separator: ",").last
            #expect((last.flatMap { Double($0) } ?? 0) > 2099, "stream \(stream)")
        }
        let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0
        #expect(size < 3_000_000, "\(size)")
    }

    @Test(arguments: ["mkv", "mp4"]) func theFirstFileLastsUntilTheNextBegins(_ ending: String) throws {
        let file = directory.file("size.\(ending)")
        let recorder = try StreamRecorder(path: file, captions: true)
        for frame in try content.frames(3) { try recorder.write(frame.unit, at: frame.captureTime) }
        for frame in try MovingContent(PixelSize(width: 160, height: 96)).frames(3) {
            try recorder.write(frame.unit, at: frame.captureTime + .seconds(7))
        }
        try recorder.finish(at: time(12))
        #expect(abs(try duration(file) - 7) < 0.01)
        #expect(abs(try duration(directory.file("size-2.\(ending)")) - 5) < 0.01)
    }

    /// What is killed leaves all but the last seconds.
    @Test(arguments: ["mkv", "mp4"]) func anUnfinishedRecordingOfAStillPictureIsLong(_ ending: String) throws {
        let (file, copy) = (directory.file("killed.\(ending)"), directory.file("copy.\(ending)"))
        let recorder = try StreamRecorder(path: file, captions: true)
        for frame in try content.frames(3) { try recorder.write(frame.unit, at: frame.captureTime) }
        for second in 1...120 { try recorder.passTime(until: time(Double(second))) }
        try FileManager.default.copyItem(atPath: file, toPath: copy)
        try recorder.finish(at: time(120))
        #expect((try pictures(copy).last?.time ?? 0) > 110)
        let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0
        #expect(size < 120_000, "\(size): a still picture costs little")
    }

    /// libavcodec's encoders have other slice headers than libx264 has by itself: CABAC, weights, `pic_order_cnt_lsb`,
    /// several references and slices.
    @Test(
        arguments: [
            "cabac=1:ref=1:bframes=0:weightp=2", "cabac=0:ref=1:bframes=0:weightp=0:slices=4",
            "cabac=1:ref=3:bframes=0:weightp=1", "cabac=1:ref=1:bframes=0:nal-hrd=vbr:vbv-maxrate=500:vbv-bufsize=500",
            "cabac=1:ref=1:bframes=0:fake-interlaced=1", "cabac=1:ref=1:bframes=0:chroma-qp-offset=3:qp=44",
        ], ["mkv", "mp4"])
    func otherEncodersPicturesAreRepeated(_ options: String, _ ending: String) throws {
        let stream = directory.file("other.h264")
        let made = try Tool.run(
            Frames.path ?? "",
            [
                "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=322x184:rate=30", "-frames:v", "12", "-pix_fmt",
                "yuv420p", "-c:v", "libx264", "-x264-params", "keyint=8:min-keyint=8:scenecut=0:\(options)", stream,
            ])
        try #require(made.status == 0, "\(made.errors)")
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: stream)))
        let units = AnnexB.accessUnits(bytes, size: PixelSize(width: 322, height: 184))
        try #require(units.count == 12)
        var hashes: [[String]] = []
        for hasStills in [false, true] {
            let file = directory.file("\(hasStills).\(ending)")
            let recorder = try StreamRecorder(path: file, captions: true)
            for (number, unit) in units.enumerated() {
                try recorder.write(unit, at: time(Double(number) * 5))
                if hasStills { try recorder.passTime(until: time(Double(number) * 5 + 4.5)) }
            }
            try recorder.finish(at: hasStills ? time(60) : nil)
            hashes.append(try pictures(file).map(\.hash))
            if hasStills { #expect(abs(try duration(file) - 60) < 0.01) }
        }
        let stills = options.contains("ref=3") || options.contains("fake-interlaced") ? 0 : 2
        #expect(hashes[0].count == 12)
        // In a stream with more references only the very last picture is repeated.
        let last = options.contains("fake-interlaced") ? 0 : 1
        #expect(hashes[1].count == 12 + 12 * stills + last, "\(hashes[1].count)")
        var different: [String] = []
        for hash in hashes[1] where hash != different.last { different.append(hash) }
        #expect(different == hashes[0])
    }

    /// A host may send anything: it is followed or not, and nothing more.
    @Test func anyStreamIsFollowedOrNot() throws {
        let golden = try content.coded(3)
        var repeated = 0
        for seed in 0..<20_000 {
            var random = SeededGenerator(seed: UInt64(seed))
            var stills = StillPictures()
            for var unit in golden {
                func damage(_ bytes: inout [UInt8]) {
                    for _ in 0..<Int(random.next() % 3) where bytes.count > 1 {
                        let place = Int(random.next() % UInt64(min(bytes.count, 40)))
                        switch random.next() % 3 {
                        case 0: bytes[place] ^= 1 << UInt8(random.next() % 8)
                        case 1: bytes[place] = [0, 0xFF][Int(random.next() % 2)]
                        default: bytes.removeLast(min(bytes.count - 1, Int(random.next() % 8)))
                        }
                    }
                }
                if var sets = unit.parameterSets {
                    damage(&sets.sps[0])
                    damage(&sets.pps[0])
                    unit.parameterSets = sets
                }
                damage(&unit.bytes)
                unit.range = 0..<unit.bytes.count
                _ = stills.follow(unit)
                for isLast in [false, true] {
                    guard let still = stills.next(isLast: isLast) else { continue }
                    repeated += 1
                    #expect(still.prefix(4).reduce(0) { $0 << 8 | Int($1) } == still.count - 4)
                    #expect(still.count < 5000)
                }
            }
        }
        #expect(repeated > 1000)
    }

    /// In real time: the recorder's thread lets time go on by itself.
    @Test func theRecordersThreadLetsTimeGoOn() throws {
        let file = directory.file("thread.mkv")
        let start = Mutex(time(0))
        let recorder = try BackgroundRecorder(
            path: file, captions: true, clock: { start.withLock { $0 } },
            handlers: BackgroundRecorder.Handlers(
                onFile: { _, _ in }, onGap: {}, onKeyframeNeeded: {}, onFailure: { _, error in Issue.record(error) }))
        recorder.start()
        for frame in try content.frames(3) { recorder.push(frame.unit, at: frame.captureTime) }
        // The clock jumps: what was written before is 30 s old.
        start.withLock { $0 = time(30) }
        let early = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0
        var size = early
        for _ in 0..<600 where size < early + 200 {
            Thread.sleep(forTimeInterval: 0.1)
            size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0
        }
        recorder.markEnd()
        start.withLock { $0 = time(99) }
        recorder.stop()
        #expect(size >= early + 200, "\(size)")
        #expect(recorder.report.length == .seconds(30))
        #expect(abs(try duration(file) - 30) < 0.01)
    }
}

private enum Frames {
    static let path = ["/usr/bin/ffmpeg", "/usr/local/bin/ffmpeg"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    static var isThere: Bool { path != nil }
}

/// Byte streams that other programs made.
private enum AnnexB {
    /// Units of which each begins with a slice whose first macroblock is 0.
    static func accessUnits(_ bytes: [UInt8], size: PixelSize) -> [AccessUnit] {
        var sets = ParameterSets(sps: [], pps: [])
        var units: [AccessUnit] = []
        bytes.withUnsafeBufferPointer { buffer in
            for range in NALUnits.annexB(buffer) {
                let unit = Array(buffer[range])
                switch NALUnits.Kind(header: unit[0]) {
                case .sequenceParameterSet: sets.sps = [unit]
                case .pictureParameterSet: sets.pps = [unit]
                case .slice, .keyframeSlice:
                    let isKeyframe = unit[0] & 0x1f == 5
                    var framed: [UInt8] = []
                    NALUnits.appendLength(unit.count, to: &framed)
                    framed += unit
                    if unit[1] & 0x80 != 0 {
                        units.append(
                            AccessUnit(
                                bytes: framed, isKeyframe: isKeyframe, parameterSets: isKeyframe ? sets : nil,
                                size: size))
                    } else if let last = units.popLast() {
                        units.append(
                            AccessUnit(
                                bytes: last.bytes + framed, isKeyframe: last.isKeyframe,
                                parameterSets: last.parameterSets, size: size))
                    }
                default: break
                }
            }
        }
        return units
    }
}
