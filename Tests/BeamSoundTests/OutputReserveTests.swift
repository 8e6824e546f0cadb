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
        #expect(dry == 0 && reserve.duration == .milliseconds(3))
    }

    @Test(arguments: [5, 10, 20, 40])
    func `One that needs more runs dry seldom`(milliseconds: Int) {
        let (dry, reserve) = play(need: .milliseconds(milliseconds))
        #expect(dry <= 12, "\(dry)")
        #expect(reserve.duration >= .milliseconds(milliseconds) && reserve.duration <= .milliseconds(milliseconds * 2))
    }

    @Test func `One accident is forgotten, and it is bounded`() {
        var reserve = OutputReserve()
        reserve.ranDry(now: .zero)
        #expect(reserve.duration == .milliseconds(5))
        for second in 0..<600 { reserve.follow(now: .zero + .seconds(second)) }
        #expect(reserve.duration == .milliseconds(3))
        for second in 0..<100 { reserve.ranDry(now: .zero + .seconds(second)) }
        #expect(reserve.duration == .milliseconds(60))
    }
}
