import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Streams over simulated paths in virtual time, each with several seeds.
struct PathControlTests {
    private static let limit = 15_000_000
    private static let seeds: ClosedRange<UInt64> = 1...3

    private func lab(_ seed: UInt64, _ conditions: PathConditions = PathConditions()) -> PathLab {
        PathLab(limit: Self.limit, conditions: conditions, seed: seed)
    }

    @Test(arguments: Self.seeds) func aCleanNetworkDoesNotReduceTheRate(_ seed: UInt64) {
        var lab = lab(seed)
        lab.keyframeBytes = 200_000
        lab.run(for: 1)
        lab.keyframeBytes = 200_000
        lab.run(for: 3)
        #expect(lab.moments.allSatisfy { $0.rate == 15e6 && !$0.isBound && !$0.isSilent })
        #expect(lab.moments.greatestQueue < 0.003)
        #expect(lab.during(0.05..<4).allSatisfy { !$0.isHeld })
        #expect(lab.control.pacingRate == 200_000_000)
        #expect((lab.control.roundTrip ?? .seconds(1)) < .milliseconds(4))
        #expect(lab.framesMade >= 119)
    }

    @Test(arguments: [0.01, 0.05], Self.seeds) func randomLossIsNotCongestion(_ loss: Double, _ seed: UInt64) {
        for repairs in [false, true] {
            var lab = lab(seed, PathConditions(delay: 0.005, loss: loss))
            lab.repairs = repairs
            lab.run(for: 5)
            #expect(lab.moments.leastRate >= 0.65 * 15e6)
            #expect(abs(lab.control.loss - loss) < 0.04)
            #expect(lab.during(0.1..<5).heldShare < 0.01)
        }
    }

    @Test(arguments: Self.seeds) func burstsOfLossAreNotCongestion(_ seed: UInt64) {
        for repairs in [false, true] {
            var lab = lab(seed, PathConditions(delay: 0.02, burstBegins: 0.014))
            lab.repairs = repairs
            lab.run(for: 10)
            #expect(lab.moments.leastRate >= 0.7 * 15e6)
            #expect(lab.moments.medianRate == 15e6)
        }
    }

    @Test(arguments: Self.seeds) func aBottleneckWithAShortQueueIsFound(_ seed: UInt64) {
        var lab = lab(seed, PathConditions(rate: 5e6, queueBytes: 6250, delay: 0.005))
        lab.run(for: 12)
        let later = lab.during(2..<12)
        #expect(later.loss < 0.05)
        #expect(later.leastRate > 3.5e6)
        #expect(later.greatestRate < 6.5e6)
    }

    @Test(arguments: Self.seeds) func aPolicersRateIsFound(_ seed: UInt64) {
        var lab = lab(seed, PathConditions(delay: 0.01, policed: 5e6))
        lab.run(for: 12)
        let later = lab.during(2..<12)
        #expect(later.loss < 0.08)
        #expect(later.medianRate > 3e6)
        #expect(later.medianRate < 5.5e6)
    }

    @Test(arguments: Self.seeds) func jitterIsNotCongestion(_ seed: UInt64) {
        var lab = lab(seed, PathConditions(delay: 0.005, jitter: 0.03))
        lab.run(for: 15)
        #expect(lab.moments.leastRate >= 0.8 * 15e6)
        #expect(lab.moments.medianRate == 15e6)
        #expect(lab.during(0.2..<15).heldShare < 0.01)
    }

    @Test(arguments: [500_000, 50_000], Self.seeds)
    func theRateFollowsAPathThatCollapsesAndRecovers(_ queueBytes: Int, _ seed: UInt64) {
        var lab = lab(seed, PathConditions(rate: 20e6, queueBytes: 500_000, delay: 0.005))
        lab.run(for: 5)
        #expect(lab.moments.medianRate == 15e6)
        lab.conditions.rate = 2e6
        lab.conditions.queueBytes = queueBytes
        lab.run(for: 15)
        lab.conditions = PathConditions(rate: 20e6, queueBytes: 500_000, delay: 0.005)
        lab.run(for: 6)
        let narrow = lab.during(5.8..<20)
        #expect(narrow.greatestQueue < 0.1)
        #expect(narrow.medianQueue < 0.04)
        let settled = lab.during(7..<20)
        #expect(settled.leastRate >= 1.4e6)
        #expect(settled.greatestRate <= 2.02e6)
        #expect(settled.leastRate > 0.75 * settled.medianRate)
        #expect(settled.greatestRate < 1.25 * settled.medianRate)
        #expect(lab.during(22..<26).leastRate >= 14e6)
    }

    /// A shaper with a token bucket lets a few datagrams pass at full speed, so trains tell far more than it carries. Small
    /// frames fit into it.
    @Test(arguments: [600e3, 800e3], Self.seeds) func aTokenBucketMisleadsOnlyTwice(_ rate: Double, _ seed: UInt64) {
        var lab = lab(seed, PathConditions(rate: rate, queueBytes: 12_000, bucketBytes: 5_000, delay: 0.002))
        lab.wanted = 0.8 * rate
        for second in 0..<40 {
            // The picture is at times simple, and the path isn't filled.
            lab.wanted = second % 4 < 2 ? 0.7 * rate : 4 * rate
            lab.run(for: 1)
        }
        let settled = lab.during(20..<40)
        #expect(settled.greatestRate < 1.8 * rate)
        #expect(settled.leastRate > 0.5 * rate)
        // The path improves, and its trains tell that.
        lab.conditions = PathConditions(rate: 20e6, queueBytes: 500_000, delay: 0.002)
        lab.wanted = 15e6
        lab.run(for: 8)
        #expect(lab.during(46..<48).leastRate > 6e6)
    }

    @Test(arguments: Self.seeds) func aNarrowPathIsFoundByTheFirstKeyframe(_ seed: UInt64) {
        var lab = lab(seed, PathConditions(rate: 500e3, queueBytes: 200_000, delay: 0.005))
        lab.keyframeBytes = 100_000
        lab.run(for: 15)
        #expect(lab.during(0.15..<15).greatestRate <= 600e3)
        #expect(lab.during(1..<15).greatestQueue < 0.3)
        #expect(lab.during(3..<15).leastRate > 350e3)
        #expect(lab.during(3..<15).medianQueue < 0.06)
    }

    @Test(arguments: Self.seeds) func theEstimateOutlastsARest(_ seed: UInt64) {
        var lab = lab(seed, PathConditions(rate: 4e6, queueBytes: 100_000, delay: 0.005))
        lab.run(for: 5)
        lab.wanted = 50_000
        lab.run(for: 20)
        let rest = lab.during(6..<25)
        #expect(rest.leastRate > 3e6 && rest.greatestRate < 4.1e6)
        lab.wanted = 15e6
        lab.run(for: 5)
        #expect(lab.during(25..<30).greatestQueue < 0.1)
        #expect(lab.during(25..<30).leastRate > 3e6)
    }

    @Test(arguments: [1e9, 8e6], Self.seeds)
    func afterAnOutageTheRateReturns(_ rate: Double, _ seed: UInt64) throws {
        var lab = lab(seed, PathConditions(rate: rate, queueBytes: 200_000, delay: 0.005))
        lab.run(for: 4)
        let before = Double(lab.control.rate)
        lab.conditions.isDown = true
        lab.run(for: 3)
        lab.conditions.isDown = false
        lab.run(for: 3)
        #expect(lab.during(4.4..<7).allSatisfy { $0.isSilent && $0.window == 0 })
        #expect(lab.during(7.2..<10).allSatisfy { !$0.isSilent })
        #expect(lab.during(7.2..<10).leastRate >= 0.45 * before)
        #expect(lab.during(8..<10).leastRate >= 0.85 * before)
        #expect(lab.during(7..<10).greatestQueue < 0.1)
    }

    @Test(arguments: Self.seeds) func aLongerRouteReducesTheRateOnlyBriefly(_ seed: UInt64) {
        var lab = lab(seed, PathConditions(delay: 0.005, drift: 1e-4))
        lab.run(for: 12)
        #expect(lab.moments.allSatisfy { !$0.isBound })
        lab.conditions.delay = 0.045
        lab.run(for: 10)
        #expect(lab.during(12..<22).leastRate > 3e6)
        #expect(lab.during(13..<22).leastRate == 15e6)
    }

    @Test(arguments: Self.seeds) func aNarrowPathWithJitterAndLossIsUsed(_ seed: UInt64) {
        var lab = lab(seed, PathConditions(rate: 3e6, queueBytes: 75_000, delay: 0.01, jitter: 0.03, loss: 0.02))
        lab.repairs = true
        lab.run(for: 20)
        let later = lab.during(3..<20)
        #expect(later.leastRate > 1e6)
        #expect(later.medianRate > 1.8e6)
        #expect(later.medianQueue < 0.06)
        #expect(later.greatestQueue < 0.25)
    }
}
