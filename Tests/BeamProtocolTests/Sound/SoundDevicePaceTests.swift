import BeamMedia
import BeamPlayout
import Testing

struct SoundDevicePaceTests {
    /// A device that asks for `step` samples whenever it has played so many, up to 4 ms late, by a clock that is slower by
    /// `drift`. Returns the calls, of `count`, at which it is said to have stood still. It does so before call `pauseAt`.
    private func stops(
        step: Int, drift: Double = 0, pauseAt: Int = .max, pause: Duration = .zero, count: Int = 10_000
    ) -> [Int] {
        var random = SeededGenerator(seed: 5)
        var pace = SoundDevicePace()
        return (0..<count).filter { call in
            var now = MediaTime(nanoseconds: 7) + .seconds(Double(step * call) / 48_000 * (1 + drift))
            now = now + .microseconds(Int.random(in: 0...4000, using: &random))
            if call >= pauseAt { now = now + pause }
            return pace.asked(for: step, now: now)
        }
    }

    @Test(arguments: [64, 96, 256, 2400, 9600])
    func `A device that asks seldom or irregularly doesn't stand still`(step: Int) {
        #expect(stops(step: step) == [0])
        #expect(stops(step: step, drift: 0.0005) == [0])
        #expect(stops(step: step, drift: -0.0005) == [0])
    }

    @Test(arguments: [96, 256, 2400], [30, 100, 5000])
    func `One that falls behind is said to have stood still, once`(step: Int, milliseconds: Int) {
        let stops = stops(step: step, pauseAt: 5000, pause: .milliseconds(milliseconds))
        #expect(stops == [0, 5000])
    }

    /// One that takes what it gets, a packet or little, when it has played what it got before.
    @Test(arguments: [0, 30, 400])
    func `One that doesn't say how much it wants`(milliseconds: Int) {
        var (pace, now, stops) = (SoundDevicePace(), MediaTime.zero, 0)
        for call in 0..<5000 {
            let count = call % 7 == 0 ? 120 : 480
            if call == 3000 { now = now + .milliseconds(milliseconds) }
            if pace.asked(for: 0, now: now) { stops += 1 }
            pace.got(count)
            now = now + SoundBlock.time(ofSamples: count)
        }
        #expect(stops == (milliseconds > 0 ? 2 : 1))
    }

    @Test func `One that catches up doesn't`() {
        var pace = SoundDevicePace()
        var stops = [pace.asked(for: 4800, now: .zero)]
        // It is late by 30 ms with 4 steps, and has them at once.
        for call in 1..<100 { stops.append(pace.asked(for: 480, now: .zero + .milliseconds(10 * call))) }
        stops.append(pace.asked(for: 1920, now: .zero + .milliseconds(1030)))
        #expect(stops == [true] + Array(repeating: false, count: 100))
    }
}
