import BeamMedia
import Foundation
import Synchronization
import Testing

@testable import BeamCodec

/// Recordings with sound, as ffprobe and ffmpeg read them.
@Suite(
    .enabled(
        if: Probe.isThere && Subtitles.isThere && OpusCoder.isThere, "ffprobe, ffmpeg or libopus is not installed"))
struct SoundTrackTests {
    private let content = MovingContent(PixelSize(width: 320, height: 180))
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// The frames' clock, `seconds` after the first frame.
    private func time(_ seconds: Double) -> MediaTime { MovingContent.time(0) + .seconds(clamping: seconds) }

    private struct Sound {
        var opus: [UInt8]
        /// When it is heard and when it is written, in seconds.
        var time: Double
        var written: Double
    }

    private func sound(_ packets: [(opus: [UInt8], time: Double)], late: Double = 0.012) -> [Sound] {
        packets.map { Sound(opus: $0.opus, time: $0.time, written: $0.time + late) }
    }

    /// Writes pictures, at 30 a second unless `times` says otherwise, and packets in the order of their writing.
    private func record(
        _ name: String, pictures: Int, times: [Double]? = nil, captions: Bool = false, _ sound: [Sound],
        beforeEnd: (String) throws -> Void = { _ in }
    ) throws -> String {
        let file = directory.file(name)
        let recorder = try StreamRecorder(path: file, captions: captions, sound: true)
        var rest = sound[...]
        for (number, frame) in try content.frames(pictures).enumerated() {
            let at = times?[number] ?? Double(number) / 30
            while let next = rest.first, next.written <= at {
                try recorder.writeSound(next.opus, at: time(next.time))
                rest.removeFirst()
            }
            try recorder.write(frame.unit, at: time(at))
            if captions, number % 45 == 10 {
                try recorder.addCaption("at \(number)", at: time(at), for: .milliseconds(900))
            }
        }
        for next in rest { try recorder.writeSound(next.opus, at: time(next.time)) }
        try beforeEnd(file)
        try recorder.finish()
        return file
    }

    private func pictureTimes(_ file: String) throws -> [Double] {
        let frames = try Probe.run(file, "-select_streams", "v:0", "-show_frames", "-show_entries", "frame=pts_time")
        #expect(frames.errors.isEmpty, "\(frames.errors)")
        return frames.lines.compactMap { Double($0) }
    }

    private func expectOnsets(_ file: String, _ expected: [Double], within tolerance: Double = 0.0015) throws {
        for byTime in [true, false] {
            let onsets = Beeps.onsets(try DecodedSound.read(file, byTime: byTime))
            #expect(onsets.count == expected.count, "\(onsets) instead of \(expected), by time: \(byTime)")
            for (onset, place) in zip(onsets, expected) {
                #expect(abs(onset - place) < tolerance, "\(onset) instead of \(place), by time: \(byTime)")
            }
        }
    }

    @Test(arguments: ["mkv", "mp4"], [false, true])
    func soundIsInStepWithThePicture(_ ending: String, _ captions: Bool) throws {
        let onsets = [0.1, 0.7, 1.5, 2.9]
        // The sound begins before the recording does, at no round time.
        let packets = try Beeps(onsets: [-0.1] + onsets).packets(from: -0.2137, count: 330)
        let file = try record("a.\(ending)", pictures: 96, captions: captions, sound(packets))
        try expectOnsets(file, onsets)
        let pictures = try pictureTimes(file)
        #expect(pictures.count == 96)
        for (number, time) in pictures.enumerated() { #expect(abs(time - Double(number) / 30) < 0.002) }
        let streams = try Probe.run(
            file, "-show_entries", "stream=codec_name,sample_rate,channels,initial_padding")
        let texts = captions ? [ending == "mkv" ? "subrip" : "mov_text"] : []
        #expect(streams.errors.isEmpty)
        #expect(streams.lines.map { String($0.split(separator: ",")[0]) } == ["h264"] + texts + ["opus"])
        #expect(streams.lines.last?.hasPrefix("opus,48000,2") == true, "\(streams.lines)")
        if captions { #expect(try Subtitles.read(file).map(\.text) == ["at 10", "at 55"]) }
        // Each packet is in the file as it came, at its own time.
        let read = try DecodedSound.packets(file)
        for packet in packets where packet.time >= 0 && packet.time < 3 {
            #expect(read.contains { abs($0.time - packet.time) < 0.001 && $0.size == packet.opus.count })
        }
    }

    @Test(arguments: ["mkv", "mp4"]) func gapsAreSilentAndStayInStep(_ ending: String) throws {
        // Sound from 0.3 s to 1 s, from 2.0037 s to 2.5 s, and from 61.3 s, while the screen stands still for a minute.
        let onsets = [0.35, 0.9, 2.0437, 2.4, 61.34, 61.5]
        let beeps = Beeps(onsets: onsets)
        let packets =
            try beeps.packets(from: 0.3, count: 70) + beeps.packets(from: 2.0037, count: 50)
            + beeps.packets(from: 61.3, count: 60)
        let times = (0..<90).map { Double($0) / 30 } + (0..<60).map { 61 + Double($0) / 30 }
        let file = try record("b.\(ending)", pictures: 150, times: times, sound(packets))
        try expectOnsets(file, onsets)
        // No gap, and as long as the pictures.
        let read = try DecodedSound.packets(file)
        #expect(read.first?.time == 0)
        for (a, b) in zip(read, read.dropFirst()) { #expect(b.time > a.time && b.time - a.time < 0.126) }
        let decoded = try DecodedSound.read(file, byTime: false)
        #expect(abs(Double(decoded.count) / 48_000 - 62.967) < 0.03)
        // libopus fades out, and then there is nothing.
        #expect(decoded[55_000..<95_000].allSatisfy { $0 == 0 })
    }

    @Test(arguments: ["mkv", "mp4"]) func lostPacketsAreConcealed(_ ending: String) throws {
        let onsets = [0.2, 0.8, 1.4, 2.0, 2.6]
        let all = try Beeps(onsets: onsets).packets(from: 0, count: 300)
        // One in the midst of a tone, three in a row, and every seventh after 1.6 s, outside tones.
        let lost = Set([22, 50, 51, 52] + stride(from: 167, to: 195, by: 7))
        let kept = all.enumerated().filter { !lost.contains($0.offset) }.map(\.element)
        let file = try record("c.\(ending)", pictures: 90, sound(kept))
        try expectOnsets(file, onsets)
        let read = try DecodedSound.packets(file)
        #expect(read.filter { $0.size == 1 }.count == lost.count)
        // The tone goes on where its packet is missing: from 0.22 s less the 2.5 ms of the encoder.
        for decoder in ["libopus", "opus"] {
            let decoded = try DecodedSound.read(file, byTime: false, decoder: decoder)
            #expect(abs(decoded.count - 144_000) < 1500)
            guard decoder == "libopus" else { continue }
            let bridge = decoded[10_450..<10_900].map { $0 * $0 }.reduce(0, +) / 450
            #expect(bridge > 0.05, "\(bridge)")
        }
    }

    /// The sound card's clock against the monotonic one, and the jitter of its times.
    @Test(arguments: ["mkv", "mp4"]) func driftAndJitterDoNotAddUp(_ ending: String) throws {
        var generator = SeededGenerator(seed: 5)
        let onsets = stride(from: 0.5, to: 60, by: 1).map { $0 }
        let packets = try Beeps(onsets: onsets).packets(from: 0.3, count: 6000)
        // 300 ppm slow: 18 ms in a minute.
        let sound = packets.map {
            let jitter = Double.random(in: -0.0004...0.0004, using: &generator)
            return Sound(opus: $0.opus, time: $0.time * 1.0003 + jitter, written: $0.time * 1.0003 + 0.02)
        }
        let file = try record("d.\(ending)", pictures: 60, times: (0..<60).map { Double($0) * 1.02 }, sound)
        // After what fills the time before the first one.
        let read = try DecodedSound.packets(file).filter { $0.time > 0.29 }
        #expect(read.count == 6000)
        for (packet, sound) in zip(read, sound) { #expect(abs(packet.time - sound.time) < 0.0015) }
        // From packet to packet the steps are even.
        if ending == "mp4" {
            for (a, b) in zip(read, read.dropFirst()) { #expect(abs(b.time - a.time - 0.01) < 0.0001) }
        }
        let decoded = Beeps.onsets(try DecodedSound.read(file, byTime: true))
        for (onset, place) in zip(decoded, onsets) { #expect(abs(onset - place * 1.0003) < 0.003) }
        #expect(decoded.count == onsets.count)
    }

    @Test(arguments: ["mkv", "mp4"]) func aRecordingWithoutAnySoundIsSilent(_ ending: String) throws {
        let file = try record("e.\(ending)", pictures: 90, [])
        #expect(try pictureTimes(file).count == 90)
        let decoded = try DecodedSound.read(file, byTime: false)
        #expect(abs(decoded.count - 142_400) < 1000 && decoded.allSatisfy { $0 == 0 })
    }

    /// What a crash leaves of both tracks.
    @Test(arguments: ["mkv", "mp4"]) func anUnfinishedFilePlays(_ ending: String) throws {
        let copy = directory.file("crashed.\(ending)")
        let packets = try Beeps(onsets: [0.5, 1.5, 2.5]).packets(from: 0.1, count: 390)
        _ = try record("f.\(ending)", pictures: 120, sound(packets)) { file in
            try FileManager.default.copyItem(atPath: file, toPath: copy)
        }
        let crashed = try Probe.run(copy, "-select_streams", "v:0", "-show_packets", "-show_entries", "packet=size")
        #expect(crashed.lines.count >= 100)
        #expect(try DecodedSound.packets(copy).count >= 340)
        let onsets = Beeps.onsets(try DecodedSound.read(copy, byTime: false))
        #expect(onsets.count == 3 && abs(onsets[2] - 2.5) < 0.002, "\(onsets)")
    }

    @Test(arguments: ["mkv", "mp4"]) func theFileGrowsWithSoundAlone(_ ending: String) throws {
        let packets = try Beeps(onsets: [0.5]).packets(from: 0.1, count: 1000)
        let file = directory.file("g.\(ending)")
        let recorder = try StreamRecorder(path: file, sound: true)
        try recorder.write(try content.frames(1)[0].unit, at: time(0))
        var sizes: [Int] = []
        for (number, packet) in packets.enumerated() {
            try recorder.writeSound(packet.opus, at: time(packet.time))
            if number % 100 == 99 {
                sizes.append(try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0)
            }
        }
        for (a, b) in zip(sizes, sizes.dropFirst()) { #expect(b > a, "\(sizes)") }
        try recorder.finish()
        try expectOnsets(file, [0.5])
    }

    @Test(arguments: ["mkv", "mp4"]) func theNextFileGoesOnWithSound(_ ending: String) throws {
        let recorder = try StreamRecorder(path: directory.file("h.\(ending)"), sound: true)
        let packets = try Beeps(onsets: [0.5, 1.5, 2.5]).packets(from: 0, count: 300)
        var other = try MovingContent(PixelSize(width: 401, height: 203)).frames(60)
        for index in other.indices { other[index].captureTime = MovingContent.time(30 + index) }
        var rest = packets[...]
        for frame in try content.frames(30) + other {
            // The picture took 0.2 s to encode: sound that belongs to the second file comes before its first picture.
            while let next = rest.first, time(next.time) <= frame.captureTime + .milliseconds(200) {
                try recorder.writeSound(next.opus, at: time(next.time))
                rest.removeFirst()
            }
            try recorder.write(frame.unit, at: frame.captureTime)
        }
        try recorder.finish()
        try expectOnsets(directory.file("h.\(ending)"), [0.5])
        try expectOnsets(directory.file("h-2.\(ending)"), [0.5, 1.5])
    }

    @Test(arguments: ["mkv", "mp4"]) func wildTimesAndPacketsMakeAFileThatPlays(_ ending: String) throws {
        var generator = SeededGenerator(seed: 77)
        let file = directory.file("i.\(ending)")
        let recorder = try StreamRecorder(path: file, sound: true)
        let packets = try Beeps(onsets: [0.5]).packets(from: 0, count: 100)
        for (number, frame) in try content.frames(90).enumerated() {
            try recorder.write(frame.unit, at: frame.captureTime)
            for _ in 0..<3 {
                var opus = packets[Int.random(in: 0..<100, using: &generator)].opus
                var at = frame.captureTime
                switch Int.random(in: 0..<8, using: &generator) {
                case 0: opus = []
                case 1:
                    opus = (0..<Int.random(in: 1...1275, using: &generator)).map { _ in UInt8(generator.next() & 0xFF) }
                case 2: opus = [UInt8](repeating: 0xF4, count: 5000)
                case 3: at = [.distantPast, .distantFuture, .zero][number % 3]
                case 4: at = at + .seconds(Int.random(in: -100...100, using: &generator))
                case 5: at = at + .nanoseconds(Int.random(in: -50_000_000...50_000_000, using: &generator))
                case 6: opus = [0xFF, 0x30]
                default: break
                }
                try recorder.writeSound(opus, at: at)
            }
        }
        try recorder.writeSound(packets[0].opus, at: time(23.9 * 3600))
        try recorder.finish()
        #expect(try pictureTimes(file).count == 90)
        let read = try DecodedSound.packets(file)
        for (a, b) in zip(read, read.dropFirst()) { #expect(b.time > a.time) }
        // Each of them causes at most a minute of silence.
        let size = try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0
        #expect(read.count < 90 * 4 * 500 && size < 10 << 20, "\(read.count) packets, \(size) bytes")
    }

    /// After ten minutes in which nothing was drawn and nothing played: more than is filled for one picture.
    @Test(arguments: ["mkv", "mp4"]) func longStillnessIsFilledBitByBit(_ ending: String) throws {
        let later = 600.0
        let onsets = [later + 3]
        let times = (0..<10).map { Double($0) / 30 } + (0..<140).map { later + Double($0) / 30 }
        let file = try record(
            "j.\(ending)", pictures: 150, times: times,
            sound(try Beeps(onsets: onsets).packets(from: later, count: 400)))
        let read = Beeps.onsets(try DecodedSound.read(file, byTime: false))
        #expect(read.count == 1 && abs(read[0] - onsets[0]) < 0.002, "\(read)")
    }

    @Test(arguments: ["mkv", "mp4"]) func theBackgroundRecorderTakesSound(_ ending: String) throws {
        let file = directory.file("k.\(ending)")
        let failures = Mutex<[CodecError]>([])
        let recorder = try BackgroundRecorder(
            path: file, sound: .present,
            handlers: BackgroundRecorder.Handlers(
                onFile: { _, _ in }, onGap: {}, onKeyframeNeeded: {},
                onFailure: { _, error in failures.withLock { $0.append(error) } }))
        recorder.start()
        var rest = try Beeps(onsets: [0.5, 2.5]).packets(from: 0, count: 300)[...]
        for frame in try content.frames(90) {
            while let next = rest.first, time(next.time) <= frame.captureTime {
                recorder.addSound(next.opus, at: time(next.time))
                rest.removeFirst()
            }
            recorder.push(frame.unit, at: frame.captureTime)
        }
        recorder.stop()
        recorder.addSound([0xF4, 0xFF, 0xFE], at: time(9))
        #expect(failures.withLock(\.isEmpty) && recorder.report.droppedSound == 0)
        #expect(recorder.report.frames == 90)
        try expectOnsets(file, [0.5, 2.5])
    }

    @Test func soundThatFindsNoRoomIsCounted() throws {
        let recorder = try BackgroundRecorder(
            path: directory.file("l.mkv"), sound: .present, queue: BoundedQueue(capacity: 2),
            handlers: BackgroundRecorder.Handlers(
                onFile: { _, _ in }, onGap: {}, onKeyframeNeeded: {}, onFailure: { _, _ in }))
        // Not started yet: nothing is taken from the queue.
        for number in 0..<5 { recorder.addSound([0xF4, 0xFF, 0xFE], at: time(Double(number) / 100)) }
        #expect(recorder.report.droppedSound == 3)
        recorder.stop()
    }

    /// Sound goes on while pictures are left out, and must not ask for a keyframe with each packet.
    @Test func oneKeyframeIsRequestedForAGap() async throws {
        let frames = try content.frames(3, keyframes: [2])
        let asked = Mutex(0)
        let recorder = try BackgroundRecorder(
            path: directory.file("m.mkv"), sound: .present, queue: BoundedQueue(capacity: 2),
            handlers: BackgroundRecorder.Handlers(
                onFile: { _, _ in }, onGap: {}, onKeyframeNeeded: { asked.withLock { $0 += 1 } },
                onFailure: { _, _ in }))
        recorder.push(frames[0].unit, at: time(0))
        recorder.addSound([0xF4, 0xFF, 0xFE], at: time(0))
        recorder.push(frames[1].unit, at: time(0.1))
        recorder.start()
        try await eventually { asked.withLock { $0 } > 0 }
        for number in 1..<50 {
            recorder.addSound([0xF4, 0xFF, 0xFE], at: time(Double(number) / 100))
            try await Task.sleep(for: .milliseconds(1))
        }
        recorder.push(frames[2].unit, at: time(0.5))
        try await eventually { recorder.report.frames == 2 }
        #expect(asked.withLock { $0 } == 1)
        recorder.stop()
    }

    @Test func lengthsOfPackets() {
        let lengths: [([UInt8], Int64?)] = [
            ([], nil), ([0xF4], 480), ([0xF4 | 1], 960), ([0xFF, 6], 5760), ([0xFF], nil), ([0xFF, 0], nil),
            ([0x00], 480), ([0x18], 2880), ([0x60], 480), ([0x68], 960), ([0xE0], 120), ([0xFC], 960),
        ]
        for (packet, length) in lengths { #expect(OpusPacket.length(packet) == length) }
        for (length, bytes) in OpusPacket.silent { #expect(OpusPacket.length(bytes) == length) }
    }
}
