import BeamMedia
import Foundation
import Synchronization
import Testing

@testable import BeamSound

struct OutputClockTests {
    @Test func `Blocks are heard one directly after the other, whenever the output asks`() {
        let origin = MediaTime(nanoseconds: 5_000_000_000)
        let step = SoundBlock.time(ofSamples: SoundOutput.step)
        var random = SeededGenerator(seed: 8)
        var clock = OutputClock(latency: .milliseconds(7))
        let errors = (0..<4000).map { index in
            // Up to 3 ms late.
            let now = origin + step * index + .microseconds(Int.random(in: 0...3000, using: &random))
            return (now + clock.asked(for: SoundOutput.step, now: now) - (origin + step * index)).inMilliseconds
        }
        // The calls are 1.5 ms late on average.
        #expect(errors.dropFirst(1000).allSatisfy { abs($0 - 8.5) < 0.7 })
    }
}

struct OutputFeedTests {
    private let frequency = 100.0
    private let level = 0.8
    private static let whole = OutputDemand(now: .zero, latency: .zero, isWhole: true)
    private static let partly = OutputDemand(now: .zero, latency: .zero, isWhole: false)

    /// What the output gets of a sine while `change` is called before each of its blocks.
    private func played(blocks: Int, change: (Int, OutputFeed) -> Void) -> [Float] {
        let position = Atomic<Int>(0)
        let feed = OutputFeed { [frequency, level] samples, _ in
            let start = position.add(samples.count / 2, ordering: .relaxed).oldValue
            let tone = Tone.stereo(frequency, count: samples.count / 2, level: level, from: start)
            for (index, sample) in tone.enumerated() { samples[index] = sample }
            return samples.count / 2
        }
        feed.begin()
        return (0..<blocks).flatMap { block in
            change(block, feed)
            var samples = [Float](repeating: 9, count: 2 * SoundOutput.step)
            _ = samples.withUnsafeMutableBufferPointer { feed.play($0, Self.whole) }
            return Tone.left(samples)
        }
    }

    @Test func `The volume and the mute move without a click`() {
        let output = played(blocks: 400) { block, feed in
            switch block {
            case 100: feed.volume = 0.25
            case 200: feed.isMuted = true
            case 300: feed.volume = 1
            case 350: feed.isMuted = false
            default: break
            }
        }
        // The sine's own step, and from the ramp 1/480 of its level.
        let most = Float(level * (2 * .pi * frequency / 48_000 + 1.0 / 480))
        #expect(Tone.largestStep(output) < most * 1.01)
        let levels = [50, 150, 250, 325, 375].map { block in
            Tone.fit(Array(output[(block * 256)..<(block * 256 + 4800)]), frequency).level
        }
        for (level, wanted) in zip(levels, [0.8, 0.2, 0, 0, 0.8]) { #expect(abs(level - wanted) < 0.001) }
        // From silence to full in 10 ms, and from silence at the beginning.
        #expect(output[0] == 0 && abs(output[480] - Float(level * sin(2 * .pi))) < 0.001)
    }

    @Test func `After its end nothing is asked, and silence is played`() {
        let output = played(blocks: 20) { block, feed in if block == 10 { feed.end() } }
        #expect(output[2400] != 0 && output[2560...].allSatisfy { $0 == 0 })
    }

    @Test func `What isn't a number is silent, and what is too loud is clipped`() {
        let feed = OutputFeed { samples, _ in
            for index in samples.indices { samples[index] = [.nan, .infinity, -7, 0.5][index % 4] }
            return samples.count / 2
        }
        feed.begin()
        var samples = [Float](repeating: 9, count: 2 * 960)
        _ = samples.withUnsafeMutableBufferPointer { feed.play($0, Self.whole) }
        #expect(samples.suffix(4) == [0, 1, -1, 0.5])
    }

    @Test func `A source gives less than there is room for, but something`() {
        for (given, expected) in [(480, 480), (0, 1), (-5, 1), (2000, 960)] {
            let feed = OutputFeed { samples, demand in
                #expect(!demand.isWhole)
                samples.update(repeating: 0.5)
                return given
            }
            var samples = [Float](repeating: 9, count: 2 * 960)
            let count = samples.withUnsafeMutableBufferPointer { feed.play($0, Self.partly) }
            #expect(count == expected)
        }
    }
}
