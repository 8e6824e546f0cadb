import BeamMedia
import Foundation
import Synchronization
import Testing

@testable import BeamSound

struct OutputClockTests {
    private let origin = MediaTime(nanoseconds: 5_000_000_000)
    private let step = Duration.nanoseconds(256 * 1_000_000_000 / 48_000)

    /// When each block is heard, as the clock says, minus the truth, in milliseconds. The device plays a block `latency`
    /// after it should have asked for it, asks up to 3 ms late, and is asked each `interval` blocks what is queued.
    private func errors(latency: Duration, interval: Int, count: Int = 4000) -> [Double] {
        var random = SeededGenerator(seed: 8)
        var clock = OutputClock(usual: .milliseconds(7))
        return (0..<count).map { index in
            let due = origin + step * index
            let now = due + .microseconds(Int.random(in: 0...3000, using: &random))
            let heard = due + latency
            let error = (now + clock.asked(for: 256, now: now) - heard).inMilliseconds
            if index % interval == interval - 1 {
                // The server has what was asked for before.
                let time = now + .microseconds(Int.random(in: 200...1200, using: &random))
                let isUsed = clock.report(queued: heard - time, at: time)
                #expect(isUsed)
            }
            return error
        }
    }

    @Test(arguments: [5, 30, 300])
    func `Reports tell the latency, whenever the output asks`(milliseconds: Int) {
        let errors = errors(latency: .milliseconds(milliseconds), interval: 50)
        #expect(errors.dropFirst(1000).allSatisfy { abs($0) < 0.7 })
    }

    @Test func `Without reports what is usual is assumed`() {
        let errors = errors(latency: .milliseconds(10), interval: .max)
        // The calls are 1.5 ms late on average, and 7 ms aren't 10.
        #expect(errors.dropFirst(1000).allSatisfy { abs($0 + 1.5) < 0.7 })
    }

    @Test func `One wrong report has no effect, and a new device does`() {
        var clock = OutputClock(usual: .zero)
        var now = origin
        func advance() -> Duration {
            now = now + step
            return clock.asked(for: 256, now: now)
        }
        for _ in 0..<500 { _ = advance() }
        // All but the block that was asked for last.
        clock.report(queued: .milliseconds(20), at: now + .milliseconds(1))
        #expect(abs(advance().inMilliseconds - 21) < 0.5)
        clock.report(queued: .milliseconds(900), at: now + .milliseconds(1))
        clock.report(queued: .seconds(9000), at: now + .milliseconds(1))
        #expect(abs(advance().inMilliseconds - 21) < 0.5)
        clock.report(queued: .milliseconds(100), at: now + .milliseconds(1))
        #expect(abs(advance().inMilliseconds - 101) < 0.5)
        clock.assume(.milliseconds(7))
        #expect(abs(advance().inMilliseconds - 101) < 0.5)
    }

    /// The server demands `demand` samples whenever it has played so many. SDL gives it what it has of its block, and asks
    /// for the next block when that is used up.
    @Test(arguments: [64, 128, 240, 1024])
    func `What SDL has of a block counts, however much the server demands at once`(demand: Int) throws {
        var clock = OutputClock(usual: .milliseconds(7))
        let sample = SoundBlock.time(ofSamples: 1)
        // What was asked for, what of it the server has, and what of that was heard.
        var (asked, given, heard) = (0, 0, 0)
        var (latency, used, told) = (Duration.zero, 0, 0)
        var ask: MediaTime?
        func call(at now: MediaTime) {
            latency = clock.asked(for: 256, now: now) + (now - origin) - sample * asked
            asked += 256
        }
        call(at: origin)
        // The server begins with two demands' worth, so each sample is heard that much after its place.
        for turn in 0..<4000 {
            let now = origin + sample * (demand * turn)
            if turn > 0 { heard += demand }
            while given < heard + 2 * demand {
                let part = min(asked - given, heard + 2 * demand - given)
                given += part
                if given == asked { call(at: now) }
            }
            if turn % 40 == 39 { ask = clock.timeToAsk(after: now) }
            guard let time = ask, now <= time, time < now + sample * demand else { continue }
            ask = nil
            told += 1
            let place = heard + Int((time - now).inSeconds * 48_000)
            if clock.report(queued: sample * (given - place), at: time) { used += 1 }
        }
        #expect(used > told / 10, "\(used) of \(told)")
        // The first sample is heard at once, and all others in their turn. A demand that ends within a block takes a part
        // of the next one.
        let most = 256 % demand == 0 || demand % 256 == 0 ? 0.5 : 2.5
        #expect(abs(latency.inMilliseconds) < most, "\(latency)")
    }
}

struct OutputFeedTests {
    private let frequency = 100.0
    private let level = 0.8

    /// What the output gets of a sine while `change` is called before each of its blocks.
    private func played(blocks: Int, change: (Int, OutputFeed) -> Void) -> [Float] {
        let position = Atomic<Int>(0)
        let feed = OutputFeed { [frequency, level] samples, _, _ in
            let start = position.add(samples.count / 2, ordering: .relaxed).oldValue
            let tone = Tone.stereo(frequency, count: samples.count / 2, level: level, from: start)
            for (index, sample) in tone.enumerated() { samples[index] = sample }
        }
        feed.begin(OutputClock(usual: .zero))
        return (0..<blocks).flatMap { block in
            change(block, feed)
            var samples = [Float](repeating: 9, count: 2 * SoundOutput.step)
            samples.withUnsafeMutableBufferPointer { feed.play($0) }
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
        let feed = OutputFeed { samples, _, _ in
            for index in samples.indices { samples[index] = [.nan, .infinity, -7, 0.5][index % 4] }
        }
        feed.begin(OutputClock(usual: .zero))
        var samples = [Float](repeating: 9, count: 2 * 960)
        samples.withUnsafeMutableBufferPointer { feed.play($0) }
        #expect(samples.suffix(4) == [0, 1, -1, 0.5])
    }
}
