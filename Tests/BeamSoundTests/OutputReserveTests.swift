import BeamMedia
import Testing

@testable import BeamSound

struct OutputReserveTests {
    /// Plays for 3 hours on a device that runs dry whenever the reserve is below what it needs, once a second at most.
    private func play(need: Duration) -> (dry: Int, reserve: OutputReserve) {
        var (reserve, dry) = (OutputReserve(), 0)
        for second in 0..<10_800 {
            let now = MediaTime.zero + .seconds(second)
            reserve.follow(now: now)
            guard reserve.duration < need else { continue }
            dry += 1
            reserve.ranDry(now: now)
        }
        return (dry, reserve)
    }

    @Test func `A device that never runs dry keeps the least`() {
        let (dry, reserve) = play(need: .milliseconds(2))
        #expect(dry == 0 && reserve.duration == .microseconds(2500))
    }

    @Test(arguments: [4, 5, 10, 20, 40])
    func `One that needs more runs dry seldom`(milliseconds: Int) {
        let (dry, reserve) = play(need: .milliseconds(milliseconds))
        #expect(dry <= 15, "\(dry)")
        #expect(reserve.duration >= .milliseconds(milliseconds) && reserve.duration <= .milliseconds(milliseconds * 2))
    }

    @Test func `One stall is forgotten, and the reserve is bounded`() {
        var reserve = OutputReserve()
        reserve.ranDry(now: .zero)
        #expect(reserve.duration == .milliseconds(3))
        for second in 0..<100 { reserve.follow(now: .zero + .seconds(second)) }
        #expect(reserve.duration == .microseconds(2500))
        for second in 0..<100 { reserve.ranDry(now: .zero + .seconds(200 + second)) }
        #expect(reserve.duration == .milliseconds(60))
    }

    @Test func `Several stalls at a time aren't taken for what the device needs`() {
        var (stalled, needed) = (OutputReserve(), OutputReserve())
        for step in 0..<4 {
            let now = MediaTime.zero + .milliseconds(300 * step)
            stalled.woke(now: now, late: .milliseconds(15))
            stalled.ranDry(now: now + .milliseconds(20))
            needed.woke(now: now, late: .microseconds(80))
            needed.ranDry(now: now + .milliseconds(20))
        }
        #expect(stalled.duration == .microseconds(4500))
        #expect(needed.duration > .milliseconds(10))
        // What the writer was late for long ago says nothing of now.
        for step in 0..<2 { stalled.ranDry(now: .zero + .milliseconds(5000 + 300 * step)) }
        #expect(stalled.duration > .milliseconds(7))
    }

    /// The mean and the largest reserve of a day on a machine that stalls once in so many seconds on the average, each time
    /// for longer than any reserve would last.
    private func day(between seconds: Int, seed: UInt64) -> (mean: Duration, most: Duration) {
        var (random, reserve) = (SeededGenerator(seed: seed), OutputReserve())
        var (sum, most) = (Duration.zero, Duration.zero)
        for second in 0..<86_400 {
            let now = MediaTime.zero + .seconds(second)
            reserve.follow(now: now)
            if Int.random(in: 0..<seconds, using: &random) == 0 { reserve.ranDry(now: now) }
            sum += reserve.duration
            most = max(most, reserve.duration)
        }
        return (sum / 86_400, most)
    }

    @Test(arguments: [(60, 6), (120, 4), (400, 4)], 1...5)
    func `Stalls don't add up over a day`(_ rate: (seconds: Int, mostMean: Int), seed: UInt64) {
        let (mean, most) = day(between: rate.seconds, seed: seed)
        #expect(mean < .milliseconds(rate.mostMean) && most < .milliseconds(30), "\(mean) \(most)")
    }
}
