import BeamClock
import BeamMedia
import Foundation
import Testing

@testable import BeamCapture

/// The test pattern's bursts, and what reads them.
@Suite struct PatternSoundTests {
    /// Bursts at these samples, of one channel, in silence.
    private func samples(_ bursts: [(number: UInt32, onset: Int)], count: Int) -> [Float] {
        var samples = [Float](repeating: 0, count: count)
        for (number, onset) in bursts {
            samples.replaceSubrange(onset..<onset + PatternTone.length, with: PatternTone.burst(number))
        }
        return samples
    }

    private func read(_ samples: [Float], piece: Int) -> [PatternSoundReader.Burst] {
        var reader = PatternSoundReader()
        return stride(from: 0, to: samples.count, by: piece).flatMap {
            reader.add(Array(samples[$0..<min($0 + piece, samples.count)]))
        }
    }

    private static let bursts: [(number: UInt32, onset: Int)] = [
        (0, 100), (0xABCDEF, 20_017), (30, 48_000), (0xFFFFFF, 77_777),
    ]

    @Test(arguments: [1, 480, 1000, 100_000]) func burstsAreFoundExactly(piece: Int) {
        let found = read(samples(Self.bursts, count: 96_000), piece: piece)
        #expect(found.map(\.number) == Self.bursts.map(\.number) && found.map(\.onset) == Self.bursts.map(\.onset))
    }

    @Test func aStereoStreamIsReadByItsFirstChannel() {
        var reader = PatternSoundReader(channels: 2)
        let found = reader.add(samples(Self.bursts, count: 96_000).flatMap { [$0, 0] })
        #expect(found.map(\.onset) == Self.bursts.map(\.onset))
    }

    /// Opus as the host sends it at its lowest rate, then a clock that is wrong by 500 ppm.
    @Test(.enabled(if: hasFFmpeg, "needs the ffmpeg program"), arguments: [47_976, 48_000, 48_024])
    func burstsSurviveOpusAndResampling(rate: Int) throws {
        let scratch = try ScratchDirectory()
        var generator = SystemRandomNumberGenerator()
        let bursts = (0..<12).map {
            (number: UInt32.random(in: 0..<PatternTone.modulus, using: &generator), onset: 4000 + $0 * 24_037)
        }
        let clean = samples(bursts, count: 310_000).flatMap { [$0, $0] }
        try clean.withUnsafeBytes { Data($0) }.write(to: URL(fileURLWithPath: scratch.file("a.f32")))
        let raw = ["-f", "f32le", "-ar", "48000", "-ac", "2"]
        try scratch.ffmpeg(
            raw + ["-i", "a.f32", "-c:a", "libopus", "-application", "lowdelay", "-frame_duration", "10"]
                + ["-b:a", "64k", "a.ogg"])
        try scratch.ffmpeg(["-i", "a.ogg", "-af", "asetrate=\(rate),aresample=48000"] + raw + ["b.f32"])
        let data = try Data(contentsOf: URL(fileURLWithPath: scratch.file("b.f32")))
        var reader = PatternSoundReader(channels: 2)
        let found = reader.add(data.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) })
        #expect(found.map(\.number) == bursts.map(\.number))
        for (found, burst) in zip(found, bursts) {
            let expected = Double(burst.onset) * 48_000 / Double(rate)
            // 0.2 ms.
            #expect(abs(Double(found.onset) - expected) < 10, "\(found.onset) instead of \(expected)")
        }
    }

    @Test func noiseAndTonesAreNoBursts() {
        var state: UInt64 = 88_172_645_463_325_252
        let noise = (0..<96_000).map { index -> Float in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let random = Float(Int64(bitPattern: state) >> 40) / Float(1 << 23)
            return index < 48_000 ? random : 0.5 * Float(sin(Double(index) * 0.1))
        }
        #expect(read(noise, piece: 4800).isEmpty)
        // With a damaged symbol the checksum doesn't match.
        var damaged = samples([(77, 5000)], count: 24_000)
        let symbol = 5000 + PatternTone.chirpLength + PatternTone.pause + 3 * PatternTone.symbolLength
        for index in symbol..<symbol + PatternTone.symbolLength {
            damaged[index] = 0.5 * Float(sin(Double(index) * 0.5))
        }
        #expect(read(damaged, piece: 480).isEmpty)
        // Noise below the bursts does no harm.
        var noisy = samples(Self.bursts, count: 96_000)
        for index in noisy.indices { noisy[index] = noisy[index] * 0.2 + noise[index % 48_000] * 0.005 }
        #expect(read(noisy, piece: 480).map(\.number) == Self.bursts.map(\.number))
        _ = read([.nan, .infinity] + [Float](repeating: .greatestFiniteMagnitude, count: 20_000), piece: 999)
    }

    @Test(arguments: [
        (30.0, PatternContent.chart), (29.97, .chart), (60, .still), (25, .still), (1, .chart), (240, .scroll),
    ])
    func eachSecondHasOneBurst(frameRate: Double, content: PatternContent) {
        let options = PatternOptions(frameRate: frameRate, content: content)
        var frames: [Int] = []
        for step in 0..<50 { frames.append(PatternSound.frame(from: .milliseconds(step * 100 + 1), options)) }
        for frame in frames { #expect(frame % options.framesPerChange == 0) }
        let distinct = frames.reduce(into: [Int]()) { if $0.last != $1 { $0.append($1) } }
        for (a, b) in zip(distinct, distinct.dropFirst()) {
            let seconds = (options.time(of: b) - options.time(of: a)).inSeconds
            #expect(abs(seconds - 1) < 0.3)
        }
        #expect(distinct.count >= 5 && PatternSound.frame(from: .seconds(-5), options) == 0)
    }

    @Test func aBurstBeginsWithItsFrame() throws {
        let source = try PatternSource(PatternOptions(size: PixelSize(width: 320, height: 180), frameRate: 50))
        let pattern = try #require(source.sound)
        let sound = RunningSound(pattern)
        let running = RunningSource(source)
        source.setActive(true)
        #expect(running.wait { $0.pictures.count >= 10 })
        #expect(sound.deliveries.isEmpty)
        pattern.setActive(true)
        #expect(running.wait { ($0.pictures.last?.number ?? 0) >= 170 })
        // The pattern's clock pauses, and goes on from there.
        source.setActive(false)
        Thread.sleep(forTimeInterval: 0.25)
        let paused = sound.deliveries.count
        Thread.sleep(forTimeInterval: 1.2)
        #expect(sound.deliveries.count == paused)
        source.setActive(true)
        #expect(running.wait { ($0.pictures.last?.number ?? 0) >= 270 })
        let pictures = running.stop().pictures
        let blocks = sound.stop().map(\.block)
        #expect(blocks.gaps.allSatisfy { abs($0.inNanoseconds) <= 10 || $0 > .milliseconds(500) }, "\(blocks.gaps)")
        // With the silence between.
        var (samples, times, bursts): ([Float], [MediaTime], [PatternSoundReader.Burst]) = ([], [], [])
        var reader = PatternSoundReader(channels: 2)
        for block in blocks {
            if let last = times.last, block.time - last > .milliseconds(15) {
                samples += [Float](repeating: 0, count: 960)
                times.append(last)
            }
            samples += block.samples
            times.append(block.time)
        }
        bursts = reader.add(samples + [Float](repeating: 0, count: 4800))
        #expect(bursts.count >= 4 && bursts.allSatisfy { $0.number % 50 == 0 }, "\(bursts)")
        // Frames may be late on a busy machine; the least late one counts.
        let skews = bursts.compactMap { burst -> Double? in
            let time = times[burst.onset / 480] + SoundBlock.time(ofSamples: burst.onset % 480)
            return pictures.first { $0.number == UInt64(burst.number) }.map { (time - $0.time).inMilliseconds }
        }
        #expect(skews.count >= 3 && abs(skews.max() ?? .infinity) < 1, "\(skews)")
    }
}
