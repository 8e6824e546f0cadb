import BeamClock
import BeamMedia
import Foundation
import Testing

@testable import BeamCapture

/// Films with a white flash and a tone of 1 kHz at 0.5 s of each second.
@Suite(.enabled(if: hasFFmpeg, "needs the ffmpeg program")) struct RecordedSoundTests {
    private let scratch: ScratchDirectory

    init() throws { scratch = try ScratchDirectory() }

    private static let flash =
        "color=black:s=320x180:r=30,drawbox=c=white:t=fill:enable='lt(mod(t+0.501,1),0.1)',format=yuv420p"

    /// - Parameters:
    ///   - soundDelay: how much later the sound's track begins. The tones stay where they are.
    private func film(
        _ name: String, seconds: Double, sound: Double, soundDelay: Double = 0, rate: Int = 48_000,
        channels: Int = 2, _ coding: [String]
    ) throws -> String {
        let tone = "0.5*sin(2*PI*1000*t)*lt(mod(t+0.5+\(soundDelay),1),0.1)"
        let channels = [String](repeating: tone, count: channels).joined(separator: "|")
        try scratch.ffmpeg(
            [
                "-f", "lavfi", "-t", "\(seconds)", "-i", Self.flash, "-itsoffset", "\(soundDelay)", "-f", "lavfi", "-t",
                "\(sound)", "-i", "aevalsrc=exprs='\(channels)':s=\(rate)", "-c:v", "libx264", "-preset", "ultrafast",
                "-g", "15",
            ] + coding + [name])
        return scratch.file(name)
    }

    private func isFlash(_ picture: Picture) -> Bool { picture.buffer.samples(0, 90)[160] > 128 }

    /// When the flashes begin.
    private func flashes(_ pictures: [Picture]) -> [MediaTime] {
        zip(pictures, pictures.dropFirst()).filter { !isFlash($0) && isFlash($1) }.map(\.1.time)
    }

    /// Plays a film for some loops, and returns pictures and blocks.
    private func play(_ path: String, pictures: Int) throws -> (pictures: [Picture], sound: [RunningSound.Delivery]) {
        let source = try FileSource(path: path)
        let sound = RunningSound(try #require(source.sound))
        let running = RunningSource(source)
        #expect(sound.deliveries.isEmpty)
        source.sound?.setActive(true)
        source.setActive(true)
        #expect(running.wait { $0.pictures.count >= pictures })
        let outcome = running.stop()
        #expect(outcome.error == nil)
        return (outcome.pictures, sound.stop())
    }

    /// Each flash has its tone. Pictures may be late on a busy machine, sound has the exact time: the least late one
    /// counts.
    private func expectInStep(_ played: (pictures: [Picture], sound: [RunningSound.Delivery]), _ least: Int) throws {
        let (flashes, onsets) = (flashes(played.pictures), played.sound.map(\.block).onsets)
        #expect(flashes.count >= least && onsets.count >= least, "\(flashes.count) flashes, \(onsets.count) tones")
        let skews = flashes.map { flash in
            onsets.map { ($0 - flash).inMilliseconds }.min { abs($0) < abs($1) } ?? .infinity
        }
        // The last tone may not be delivered yet.
        #expect(abs(skews.dropLast().max() ?? .infinity) < 2, "\(skews)")
    }

    /// No Opus in Matroska: libavformat 5.1 writes it 7 ms early.
    @Test(
        arguments: [
            (48_000, 2, ["-c:a", "libopus"], "a.mp4"), (44_100, 1, ["-c:a", "aac"], "b.mp4"),
            (44_100, 1, ["-c:a", "libmp3lame"], "c.mkv"), (44_100, 2, ["-c:a", "pcm_s16le"], "d.mov"),
            (22_050, 1, ["-c:a", "pcm_u8"], "e.mkv"), (48_000, 6, ["-c:a", "flac"], "f.mkv"),
            (96_000, 2, ["-c:a", "pcm_f32le"], "g.mkv"), (48_000, 2, ["-c:a", "aac"], "h.ts"),
        ])
    func theToneComesWithTheFlash(rate: Int, channels: Int, coding: [String], name: String) throws {
        let path = try film(name, seconds: 2, sound: 2, rate: rate, channels: channels, coding)
        let played = try play(path, pictures: 200)
        try expectInStep(played, 5)
        let blocks = played.sound.map(\.block)
        #expect(blocks.allSatisfy { $0.samples.count == 960 })
        // Over the loops' ends, too, blocks follow each other; a track that is shorter by a frame may leave a gap
        // there.
        #expect(blocks.gaps.allSatisfy { $0 > .microseconds(-30) && $0 < .milliseconds(60) })
        #expect(blocks.gaps.filter { abs($0.inNanoseconds) > 30_000 }.count <= 4, "\(blocks.gaps)")
        // In advance, unless this machine is busy.
        let leads = played.sound.map { ($0.block.time - $0.at).inMilliseconds }.sorted()
        #expect(leads.last ?? 99 <= 30.001 && leads[leads.count / 2] > 5, "\(leads)")
    }

    @Test func aFilmWithoutSoundHasNone() throws {
        let path = try film("mute.mkv", seconds: 1, sound: 1, ["-an"])
        let source = try FileSource(path: path)
        #expect(source.sound == nil && source.info.warnings.isEmpty)
    }

    /// The sound ends before the pictures, after them, or begins later.
    @Test(arguments: [(1.2, 0.0), (2.7, 0.0), (1.5, 0.3)])
    func tracksOfOtherLengthsStayInStep(sound: Double, delay: Double) throws {
        let path = try film("a.mkv", seconds: 2, sound: sound, soundDelay: delay, ["-c:a", "pcm_s16le"])
        let played = try play(path, pictures: 200)
        let (flashes, blocks) = (flashes(played.pictures), played.sound.map(\.block))
        let onsets = blocks.onsets
        // In 1.2 s there is one tone a loop.
        let expected = sound < 1.5 ? flashes.enumerated().filter { $0.offset % 2 == 0 }.map(\.element) : flashes
        try #require(expected.count >= 3 && onsets.count >= expected.count - 1)
        let skews = zip(expected, onsets).map { ($1 - $0).inMilliseconds }
        #expect(abs(skews.max() ?? .infinity) < 2, "\(skews)")
        // Never two sounds at a time.
        #expect(blocks.gaps.allSatisfy { $0 > .microseconds(-30) })
        let gaps = blocks.gaps.filter { $0 > .milliseconds(1) }.map(\.inMilliseconds)
        let missing = sound < 1.5 ? 800.0 : delay > 0 ? 500 : 0
        if missing > 0 {
            #expect(gaps.count >= 2 && gaps.allSatisfy { abs($0 - missing) < 25 }, "\(gaps)")
        } else {
            #expect(gaps.isEmpty, "\(gaps)")
        }
    }

    @Test func soundPausesWithThePictures() throws {
        let path = try film("a.mkv", seconds: 2, sound: 2, ["-c:a", "pcm_s16le"])
        let source = try FileSource(path: path)
        let track = try #require(source.sound)
        let sound = RunningSound(track)
        let running = RunningSource(source)
        // Pictures alone, then both.
        source.setActive(true)
        #expect(running.wait { $0.pictures.count >= 20 })
        #expect(sound.deliveries.isEmpty)
        track.setActive(true)
        #expect(running.wait { $0.pictures.count >= 50 })
        source.setActive(false)
        Thread.sleep(forTimeInterval: 0.3)
        let (pictures, blocks) = (running.count, sound.deliveries.count)
        #expect(blocks > 50)
        Thread.sleep(forTimeInterval: 0.5)
        #expect(sound.deliveries.count == blocks && running.count == pictures)
        source.setActive(true)
        #expect(running.wait { $0.pictures.count >= pictures + 70 })
        // Nobody listens for a second.
        track.setActive(false)
        #expect(running.wait { $0.pictures.count >= pictures + 110 })
        track.setActive(true)
        #expect(running.wait { $0.pictures.count >= pictures + 200 })
        let outcome = running.stop()
        let played = (outcome.pictures, sound.stop())
        let onsets = played.1.map(\.block).onsets
        // Each tone has its flash.
        let flashes = flashes(played.0)
        let skews = onsets.dropLast().map { onset in
            flashes.map { (onset - $0).inMilliseconds }.min { abs($0) < abs($1) } ?? .infinity
        }
        #expect(skews.count >= 4)
        #expect(abs(skews.max() ?? .infinity) < 2, "\(skews)")
    }

    /// A consumer that holds a picture up for seconds delays the recording, and its sound with it.
    @Test func soundFollowsPicturesThatAreHeldUp() throws {
        let path = try film("a.mkv", seconds: 4, sound: 4, ["-c:a", "libopus"])
        let player = RecordedSoundPlayer(try #require(try RecordedSoundReader(path: path, control: SourceControl())))
        // In virtual time: pictures until 1 s, then none for 3 s, then 3 s later than planned.
        var now = MediaTime(nanoseconds: 1_000_000_000_000)
        let start = now
        var position = PicturePosition(
            loop: 0, offset: start - .zero, start: start, limit: start + .seconds(2))
        var blocks: [SoundBlock] = []
        func run(until end: MediaTime) {
            while now < end {
                switch player.step(position, now: now) {
                case .block(let block): blocks.append(block)
                case .wait(let time): now = min(max(time, now), end)
                case .over: return
                }
            }
        }
        run(until: start + .seconds(4))
        // Not farther than a second ahead.
        let ahead = ((blocks.last?.time ?? .zero) - start).inSeconds
        #expect(ahead > 1.98 && ahead <= 2)
        position.offset = position.offset + .seconds(3)
        position.start = position.start + .seconds(3)
        position.limit = start + .seconds(60)
        run(until: start + .seconds(8))
        let onsets = blocks.onsets.map { ($0 - start).inSeconds }
        #expect(onsets.count == 4)
        for (onset, expected) in zip(onsets, [0.5, 1.5, 5.5, 6.5]) { #expect(abs(onset - expected) < 0.002) }
        // The next loop, which begins 0.1 s before the sound ends: exactly there.
        position.loop = 1
        position.offset = start + .milliseconds(6900) - .zero
        position.start = start + .milliseconds(6900)
        run(until: start + .seconds(8))
        #expect(blocks.gaps.filter { abs($0.inNanoseconds) > 30_000 }.count == 1)
    }

    @Test func soundThatCannotBeDecodedIsAWarning() throws {
        let path = try film("a.mkv", seconds: 1, sound: 1, ["-c:a", "pcm_s16le"])
        // A codec that nobody knows.
        var data = try Data(contentsOf: URL(fileURLWithPath: path))
        let range = try #require(data.firstRange(of: Data("A_PCM/INT/LIT".utf8)))
        data.replaceSubrange(range, with: Data("A_QQQ/INT/LIT".utf8))
        try data.write(to: URL(fileURLWithPath: path))
        let source = try FileSource(path: path)
        #expect(source.sound == nil)
        #expect(source.info.warnings.count == 1 && source.info.warnings[0].contains("without its sound"))
    }

    @Test func damagedSoundIsLeftOut() throws {
        let path = try film("a.mkv", seconds: 2, sound: 2, ["-c:a", "libopus"])
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        for seed in 1...12 as ClosedRange<UInt64> {
            var data = whole
            var state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
            for _ in 0..<80 {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                data[data.count / 8 + Int(state >> 33) % (data.count * 7 / 8)] ^= UInt8(truncatingIfNeeded: state >> 24)
            }
            try data.write(to: URL(fileURLWithPath: path))
            guard let reader = try? RecordedSoundReader(path: path, control: SourceControl()) else { continue }
            var pieces = 0
            for _ in 0..<3 {
                while case .piece = reader.next() {
                    pieces += 1
                    #expect(reader.samples.allSatisfy { $0 >= -1 && $0 <= 1 })
                }
                guard reader.rewind() else { break }
            }
            #expect(pieces > 0)
        }
    }
}
