import BeamMedia
import Testing

@testable import BeamSound

struct FragmentPaceTests {
    /// What a reader did that sleeps until a block is whole, and waits if that was too soon.
    private struct Reading {
        var wakes = 0
        /// How much later than they were whole the blocks were read, in ms.
        var delays: [Double] = []
    }

    /// Fragments of `length` samples come every so often, each up to `jitter` late; `pause` before fragment 3000.
    private func read(length: Int, jitter: Duration, drift: Double = 0, pause: Duration = .zero) -> Reading {
        var random = SeededGenerator(seed: 9)
        var arrivals: [MediaTime] = []
        for index in 0..<6000 {
            let even = MediaTime(nanoseconds: 3_000_000_000) + .seconds(Double(index * length) / 48_000 * (1 + drift))
            let late = jitter * Double.random(in: 0...1, using: &random) + (index >= 3000 ? pause : .zero)
            arrivals.append(max(even + late, arrivals.last ?? even))
        }
        var (pace, reading) = (FragmentPace(), Reading())
        var (now, read, got) = (arrivals[0], 0, 0)
        while read < arrivals.count {
            let missing = SoundBlock.length - got % SoundBlock.length
            var hasWaited = true
            if let time = pace.time(ofNext: missing), time > now {
                now = time
                hasWaited = false
            } else {
                now = max(now, arrivals[read])
            }
            reading.wakes += 1
            let before = got
            var whole = now
            while read < arrivals.count, arrivals[read] <= now {
                if got / SoundBlock.length < (got + length) / SoundBlock.length { whole = arrivals[read] }
                got += length
                read += 1
            }
            guard got > before else { continue }
            if got / SoundBlock.length > before / SoundBlock.length {
                reading.delays.append((now - whole).inMilliseconds)
            }
            pace.came(samples: got - before, length: length, hasWaited: hasWaited, now: now)
        }
        return reading
    }

    @Test(arguments: [64, 120, 128, 240, 480, 1000])
    func `A block is read soon after it is whole, mostly with one waking`(length: Int) {
        for drift in [0, 0.0002, -0.0002] {
            let reading = read(length: length, jitter: .microseconds(50), drift: drift)
            let blocks = reading.delays.count
            #expect(Double(reading.wakes) < 1.3 * Double(blocks) + 5, "\(drift)")
            #expect(reading.delays.sorted()[blocks * 99 / 100] < 0.3, "\(drift)")
        }
    }

    @Test func `Fragments that come irregularly are waited for`() {
        let reading = read(length: 120, jitter: .milliseconds(2))
        #expect(reading.delays.sorted()[reading.delays.count * 9 / 10] < 2.5)
    }

    @Test(arguments: [1, 4, 30, 700])
    func `After a pause it is as before`(milliseconds: Int) {
        let reading = read(length: 120, jitter: .microseconds(50), pause: .milliseconds(milliseconds))
        #expect(reading.wakes < 1200 * reading.delays.count / 750)
        #expect(reading.delays.suffix(300).allSatisfy { $0 < 0.5 })
    }

    @Test func `Absurd times don't let the reader sleep`() {
        var pace = FragmentPace()
        #expect(pace.time(ofNext: 480) == nil)
        for time in [MediaTime.zero, .distantFuture, .distantPast, .zero] {
            pace.came(samples: 24_000, length: 0, hasWaited: true, now: time)
            pace.came(samples: 1, length: -5, hasWaited: false, now: .zero)
        }
        pace.came(samples: 120, length: 120, hasWaited: true, now: .zero)
        #expect(pace.time(ofNext: 480).map { $0 <= .zero + .milliseconds(11) } == true)
    }
}
