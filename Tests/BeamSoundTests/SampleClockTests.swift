import BeamMedia
import Testing

@testable import BeamSound

struct SampleClockTests {
    private let origin = MediaTime(nanoseconds: 1_000_000_000_000)

    /// What the clock says of a card that is `ppm` fast, minus the truth, in milliseconds, for each observation.
    private func errors(
        ppm: Double, seconds: Double, fragment: Double = 0.0025, jitter: (Int) -> Double, clock: inout SampleClock
    ) -> [Double] {
        let count = Int(seconds / fragment)
        return (0..<count).map { index in
            let position = Int64(Double(index) * fragment * 48_000)
            let truth = origin + .seconds(clamping: Double(position) / 48_000 / (1 + ppm * 1e-6))
            clock.observe(position, at: truth + .seconds(clamping: jitter(index)))
            return clock.time(of: position).map { ($0 - truth).inMilliseconds } ?? .infinity
        }
    }

    @Test(arguments: [-300.0, 0, 300])
    func `Drift is followed, jitter is smoothed`(ppm: Double) {
        var random = SeededGenerator(seed: 5)
        var clock = SampleClock()
        let all = errors(
            ppm: ppm, seconds: 120, jitter: { _ in .random(in: -0.005...0.005, using: &random) }, clock: &clock)
        let settled = all[(10 * 400)...]
        #expect(settled.allSatisfy { abs($0) < 0.5 })
        #expect(abs(clock.partsPerMillion - ppm) < 30)
        #expect(clock.restarts == 0)
        // Evenly: what it says of two samples 10 ms apart is 10 ms.
        let steps = zip(settled.dropFirst(4), settled).map { abs($0 - $1) }
        #expect(steps.allSatisfy { $0 < 0.1 })
    }

    @Test(arguments: [-300.0, 300])
    func `Bursts that come late are a constant, not a wobble`(ppm: Double) {
        var random = SeededGenerator(seed: 6)
        var clock = SampleClock()
        // Fragments of 10 ms that are read in four parts at once, and one of 50 that is 8 ms late.
        let all = errors(
            ppm: ppm, seconds: 60,
            jitter: { index in
                Double(3 - index % 4) * 0.0025 + (.random(in: 0..<50, using: &random) == 0 ? 0.008 : 0)
            }, clock: &clock)
        let settled = all[(20 * 400)...]
        let mean = settled.reduce(0, +) / Double(settled.count)
        #expect(settled.allSatisfy { abs($0 - mean) < 0.5 })
        #expect(mean > 3.5 && mean < 4.5)
    }

    @Test func `It begins with what it sees first`() {
        var clock = SampleClock()
        #expect(clock.time(of: 0) == nil)
        clock.observe(480, at: origin)
        #expect(clock.time(of: 480) == origin)
        #expect(clock.time(of: 960) == origin + .milliseconds(10))
    }

    @Test func `A jump begins anew, with the rate that was learnt; a single outlier doesn't`() {
        var clock = SampleClock()
        _ = errors(ppm: 200, seconds: 60, jitter: { $0 == 9000 ? 0.5 : 0 }, clock: &clock)
        #expect(clock.restarts == 0)
        let position = Int64(60 * 48_000)
        for part in 0..<3 {
            clock.observe(position + Int64(part) * 120, at: origin + .seconds(61) + .microseconds(2500 * part))
        }
        #expect(clock.restarts == 1)
        #expect(abs(clock.partsPerMillion - 200) < 20)
        let expected = origin + .seconds(61) + .milliseconds(5)
        #expect(abs(((clock.time(of: position + 240) ?? .zero) - expected).inMilliseconds) < 0.01)
    }

    /// A card that takes steps of 128 samples, 200 ppm too fast, is observed each 100 ms, and pauses for `pause` after 30 s.
    /// If `isTold`, the clock is told, and asks for more observations. What it says of the card minus the truth, in
    /// milliseconds, for each observation.
    private func errors(pause: Double, isTold: Bool = false, clock: inout SampleClock) -> [Double] {
        var random = SeededGenerator(seed: 7)
        var (errors, time, hasPaused) = ([Double](), 0.0, false)
        while time < 60 {
            time += .random(in: 0.098...0.102, using: &random) * (clock.isSettling ? 0.1 : 1)
            let paused = time > 30 ? pause : 0
            if isTold, time > 30, !hasPaused {
                hasPaused = true
                clock.pause()
            }
            let taken = Int64((time - paused) * 48_000 * 1.0002 / 128) * 128
            clock.observe(taken, at: origin + .seconds(clamping: time))
            let truth = origin + .seconds(clamping: Double(taken) / 48_000 / 1.0002 + paused)
            // It sees the middle of a step.
            errors.append(((clock.time(of: taken) ?? .zero) - truth).inMilliseconds - 64 / 48.0)
        }
        return errors
    }

    @Test(arguments: [-0.008, -0.005, 0, 0.005, 0.008, 0.015])
    func `A pause is followed at once, and says nothing of the rate`(pause: Double) {
        var clock = SampleClock(followsPauses: true)
        let all = errors(pause: pause, clock: &clock)
        let later = all.suffix(295)
        #expect(later.allSatisfy { abs($0) < 1.5 }, "\(later.map { abs($0) }.max() ?? 0)")
        #expect(abs(clock.partsPerMillion - 200) < 40)
        #expect(clock.restarts == 0)
    }

    @Test(arguments: [0, 0.001, 0.002, 0.003, 0.005, 0.008, 0.015])
    func `If it is told of a pause, it has the new times after 0.2 s`(pause: Double) {
        var clock = SampleClock(followsPauses: true)
        let all = errors(pause: pause, isTold: true, clock: &clock)
        // 0.2 s of it are 17 observations: one before it is told, and 16 that tell the new times.
        let later = all.suffix(298)
        #expect(later.allSatisfy { abs($0) < 0.75 }, "\(later.map { abs($0) }.max() ?? 0)")
        #expect(abs(clock.partsPerMillion - 200) < 40)
        #expect(clock.restarts == 0 && !clock.isSettling)
    }

    @Test func `Without that, the line moves slowly`() {
        var clock = SampleClock()
        let all = errors(pause: 0.008, clock: &clock)
        let steps = zip(all.dropFirst(250), all.dropFirst(251)).map { abs($0 - $1) }.filter { $0 < 7 }
        #expect(all.suffix(295).contains { abs($0) > 3 })
        #expect(steps.allSatisfy { $0 < 0.6 })
    }

    @Test func `Absurd observations do no harm`() {
        var clock = SampleClock()
        let times = [MediaTime.distantFuture, .distantPast, .zero, origin]
        for (index, time) in (times + times + times).enumerated() {
            clock.observe(Int64(index) * 120, at: time)
            clock.observe(.max / 2, at: time)
            clock.observe(.min / 2, at: time)
            #expect(clock.time(of: 0) != nil)
        }
    }
}
