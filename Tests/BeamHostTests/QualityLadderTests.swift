import BeamMedia
import Foundation
import Testing

@testable import BeamHost

/// The ladder in virtual time, with a model of an encoder that meets the rate by its quantiser alone.
@Suite struct QualityLadderTests {
    private struct Run {
        var ladder: QualityLadder
        var now = MediaTime(nanoseconds: 1_000_000_000)
        var lastFrame = MediaTime.zero
        var lastChange = MediaTime.zero
        var qualities: [StreamQuality] = []
        let frameRate: Double

        init(frameRate: Double = 60, size: PixelSize = PixelSize(width: 1920, height: 1080)) {
            self.frameRate = frameRate
            ladder = QualityLadder(frameRate: frameRate, size: size)
        }

        /// How many bits a step of the quantiser saves: twice as many for each so many steps less. Real content is often far
        /// from what the ladder predicts.
        var doubling = 8.0
        /// Changes of size.
        var sizeChanges: Int { zip(qualities, qualities.dropFirst()).count { $0.quarters != $1.quarters } }

        /// `need`: bits a second that full quality takes at quantiser 36; 0 is a still screen.
        mutating func go(_ seconds: Double, need: Double, rate: Int, isPathBound: Bool = true) {
            for _ in 0..<Int(seconds * frameRate) {
                now = now + .nanoseconds(Int64(1e9 / frameRate))
                if need > 0 { lastChange = now }
                ladder.advance(rate: rate, isPathBound: isPathBound, rest: now - lastChange, at: now)
                note()
                let interval = Double(ladder.quality.divisor) / frameRate
                guard need > 0, (now - lastFrame).inSeconds >= interval - 0.5 / frameRate else { continue }
                lastFrame = now
                let side = Double(ladder.quality.quarters) / 4
                let taken = need * pow(1 / Double(ladder.quality.divisor), 0.7) * pow(side, 1.6)
                let quantiser = min(51, max(12, Int((36 + doubling * log2(taken / Double(rate))).rounded(.up))))
                let bits = taken * exp2(Double(36 - quantiser) / doubling) * interval
                ladder.coded(
                    quantiser: quantiser, bits: Int(bits), interval: interval, rate: rate, isPathBound: isPathBound,
                    at: now)
                note()
            }
        }

        private mutating func note() {
            if qualities.last != ladder.quality { qualities.append(ladder.quality) }
        }
    }

    @Test(arguments: [30.0, 60, 144]) func theFrameRateIsReducedBeforeTheSize(_ frameRate: Double) {
        let steps = QualityLadder(frameRate: frameRate, size: PixelSize(width: 1920, height: 1080)).steps
        #expect(steps.first == StreamQuality())
        #expect(steps.allSatisfy { frameRate / Double($0.divisor) >= 10 && 1920 * $0.quarters / 4 >= 640 })
        let firstSmall = steps.firstIndex { $0.quarters < 4 } ?? 0
        #expect(steps[1..<firstSmall].allSatisfy { $0.divisor > 1 })
        #expect(firstSmall > 1)
        #expect(zip(steps, steps.dropFirst()).allSatisfy { $0.divisor <= $1.divisor && $0.quarters >= $1.quarters })
        // Small pictures are never scaled down.
        #expect(
            QualityLadder(frameRate: frameRate, size: PixelSize(width: 800, height: 600)).steps
                .allSatisfy { $0.quarters == 4 })
    }

    @Test func qualityFollowsARateThatFallsAndReturns() {
        var run = Run()
        run.go(3, need: 8e6, rate: 20_000_000)
        #expect(run.qualities == [StreamQuality()])
        run.go(2, need: 8e6, rate: 2_000_000)
        let low = run.ladder.quality
        #expect(low != StreamQuality())
        run.qualities = []
        // No oscillation.
        run.go(20, need: 8e6, rate: 2_000_000)
        #expect(run.qualities.count <= 3, "\(run.qualities)")
        run.qualities = []
        run.go(5, need: 8e6, rate: 20_000_000)
        #expect(run.ladder.quality == StreamQuality(), "\(run.qualities)")
        run.qualities = []
        run.go(10, need: 8e6, rate: 20_000_000)
        #expect(run.qualities == [StreamQuality()])
    }

    /// The rate rises in steps, as a path's bandwidth estimate does.
    @Test func qualityReturnsWithARateThatRisesInSteps() {
        var run = Run()
        run.go(1, need: 8e6, rate: 20_000_000)
        run.go(10, need: 8e6, rate: 1_000_000)
        #expect(run.ladder.quality.quarters == 2)
        for rate in [1.5e6, 2.2e6, 3.3e6, 5e6, 7.5e6, 11e6, 17e6, 20e6] { run.go(0.5, need: 8e6, rate: Int(rate)) }
        run.go(3, need: 8e6, rate: 20_000_000)
        #expect(run.ladder.quality == StreamQuality(), "\(run.qualities)")
    }

    @Test func qualityIsFullWhereThePathIsNoBound() {
        var run = Run()
        run.go(10, need: 8e6, rate: 1_000_000)
        #expect(run.ladder.level > 0)
        run.go(3, need: 8e6, rate: 20_000_000, isPathBound: false)
        #expect(run.ladder.quality == StreamQuality())
        // The quantiser alone follows a rate that the options set.
        run.go(10, need: 80e6, rate: 1_000_000, isPathBound: false)
        #expect(run.ladder.quality == StreamQuality())
    }

    /// Content near the edge of a step, for 90 s. The quality may change 16 times at most.
    @Test(arguments: [2.2e6, 2.6e6, 3e6, 3.5e6, 4e6, 5e6, 8e6, 12e6, 20e6, 40e6]) func qualityDoesNotOscillate(
        _ need: Double
    ) {
        var run = Run()
        for second in 0..<90 {
            // The path's estimate varies by 15 %, and the scene by 20 %.
            let waver = 1 + 0.15 * sin(Double(second))
            run.go(1, need: need * (1 + 0.2 * cos(Double(second) * 0.7)), rate: Int(2e6 * waver))
        }
        #expect(run.qualities.count <= 16, "\(run.qualities)")
    }

    /// A path that stays the same, and whose estimate wavers. The ladder predicts too little for better steps, as quantisers
    /// save fewer bits than it expects.
    @Test(arguments: [8.0, 14, 20], [1e6, 2e6, 4e6, 8e6]) func theSizeSettlesOnAConstantPath(
        _ doubling: Double, _ need: Double
    ) {
        var run = Run(frameRate: 30, size: PixelSize(width: 1280, height: 720))
        run.doubling = doubling
        for tenth in 0..<300 {
            run.go(0.1, need: need, rate: Int(360e3 * (1 + 0.12 * sin(Double(tenth) / 7))))
        }
        #expect(run.sizeChanges <= 3, "\(run.qualities)")
        let settled = run.qualities.count
        for tenth in 0..<300 {
            run.go(0.1, need: need, rate: Int(360e3 * (1 + 0.12 * sin(Double(tenth) / 7))))
        }
        run.qualities.removeFirst(settled - 1)
        #expect(run.sizeChanges <= 2, "\(run.qualities)")
        // A path that really improves is used at once.
        run.go(4, need: need, rate: 20_000_000)
        #expect(run.ladder.quality == StreamQuality())
    }

    @Test func simplerContentGetsFullQuality() {
        var run = Run()
        run.go(10, need: 20e6, rate: 2_000_000)
        #expect(run.ladder.level > 2)
        run.go(6, need: 0.4e6, rate: 2_000_000)
        #expect(run.ladder.quality == StreamQuality())
    }

    @Test func theFullSizeReturnsAtRestAndTheLevelIsRemembered() {
        var run = Run()
        run.go(10, need: 20e6, rate: 1_000_000)
        let low = run.ladder.quality
        #expect(low.quarters == 2)
        #expect(run.ladder.requiredRest != nil)
        run.go(1, need: 0, rate: 1_000_000)
        #expect(run.ladder.quality.quarters == 4 && run.ladder.quality.divisor == low.divisor)
        #expect(run.ladder.requiredRest == nil)
        // Motion resumes: the ladder returns to the earlier level at once.
        run.go(1, need: 20e6, rate: 1_000_000)
        #expect(run.ladder.quality == low)
        // When motion stops and resumes often, each next rest has to be longer before the size changes.
        run.qualities = []
        for _ in 0..<20 {
            run.go(0.6, need: 0, rate: 1_000_000)
            run.go(1, need: 20e6, rate: 1_000_000)
        }
        #expect(run.qualities.count <= 8, "\(run.qualities)")
    }
}
