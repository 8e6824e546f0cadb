import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Host and viewer on many kinds of networks.
struct NetworkTests {
    @Test func everyFrameArrivesOnACleanNetwork() {
        var simulation = Simulation.pair()
        simulation.drive(for: .seconds(20))
        let viewer = simulation.viewer
        #expect(viewer.decoder.errors.isEmpty)
        #expect((595...605).contains(viewer.frames.count))
        #expect(viewer.frames.map(\.number) == (0..<UInt32(viewer.frames.count)).map { $0 })
        #expect((viewer.frames.first?.time ?? .distantFuture) < .at(0.06), "two round trips and an encode")
        let statistics = viewer.session.statistics
        #expect(statistics.lost == 0 && statistics.dropped == 0 && statistics.malformed == 0)
        #expect(statistics.duplicates == 0 && statistics.reordered == 0)
        let keyframes = viewer.frames.filter(\.isKeyframe).map(\.time)
        let gaps = zip(keyframes, keyframes.dropFirst()).map { $1 - $0 }
        #expect(gaps.allSatisfy { $0 <= .seconds(2) })
        #expect(simulation.host?.statistics.frames == UInt64(viewer.frames.count))
        let told = viewer.events.map(\.event)
        #expect(told.count == 5 && told.last == .connection(.stable), "\(told)")
    }

    @Test func aStillScreenIsShownAtOnceAndStays() {
        var simulation = Simulation.pair()
        simulation.source.isStill = true
        simulation.drive(for: .seconds(30))
        let viewer = simulation.viewer
        #expect(viewer.frames.allSatisfy { $0.isKeyframe })
        #expect((14...17).contains(viewer.frames.count))
        #expect((viewer.frames.first?.time ?? .distantFuture) < .at(0.05))
        let told = viewer.events.map(\.event)
        #expect(told.count == 5 && told.last == .connection(.stable), "no stall, no reconnection: \(told)")
    }

    /// No broken picture is shown, and the stream resumes with the next keyframe.
    @Test(arguments: 1...12)
    func lossAndReorderingNeverBreakAPicture(seed: Int) {
        var simulation = Simulation.pair(seed: UInt64(seed))
        simulation.source.frameBytes = 4000
        simulation.source.keyframeBytes = 20_000
        simulation.media.conditions.loss = 0.02
        simulation.media.conditions.reorder = 0.05
        simulation.mediaBack.conditions.loss = 0.02
        simulation.drive(for: .seconds(30))
        let viewer = simulation.viewer
        #expect(viewer.decoder.errors.isEmpty, "\(viewer.decoder.errors.prefix(3))")
        #expect(simulation.media.lost > 30)
        #expect(viewer.session.statistics.lost > 20)
        #expect(viewer.session.statistics.reordered > 20)
        #expect(viewer.session.statistics.malformed == 0)
        // A keyframe of 17 parts arrives whole in 7 of 10 cases, a frame of 4 parts in 9.
        #expect(viewer.frames.filter(\.isKeyframe).count >= 6)
        #expect(viewer.frames.count >= 60)
    }

    @Test func reorderingAloneLosesNoFrame() {
        var simulation = Simulation.pair(seed: 3)
        simulation.media.conditions.reorder = 0.1
        simulation.media.conditions.jitter = .milliseconds(3)
        simulation.media.conditions.duplication = 0.02
        simulation.drive(for: .seconds(20))
        let viewer = simulation.viewer
        #expect(viewer.decoder.errors.isEmpty)
        #expect(viewer.frames.count >= 590)
        #expect(viewer.session.statistics.lost == 0 && viewer.session.statistics.dropped == 0)
        #expect(viewer.session.statistics.duplicates > 100)
        #expect(viewer.session.statistics.reordered > 100)
    }

    @Test(arguments: 1...6)
    func burstsOfLossNeverBreakAPicture(seed: Int) {
        var simulation = Simulation.pair(seed: UInt64(seed))
        simulation.media.conditions.burstBegins = 0.002
        simulation.media.conditions.burstEnds = 0.1
        simulation.drive(for: .seconds(30))
        let viewer = simulation.viewer
        #expect(simulation.media.lost > 10)
        #expect(viewer.decoder.errors.isEmpty)
        #expect(viewer.frames.count > 100)
        #expect(viewer.longestPause(from: .at(1), to: .at(30)) < .seconds(7))
    }

    @Test func aNarrowLinkDropsFramesButNeverBreaksAPicture() {
        var simulation = Simulation.pair(seed: 5)
        simulation.media.conditions.bitsPerSecond = 2_500_000  // the stream takes 3.2 Mbit/s
        simulation.media.conditions.queueBytes = 100_000
        simulation.drive(for: .seconds(30))
        #expect(simulation.viewer.decoder.errors.isEmpty)
        #expect(simulation.viewer.session.statistics.lost > 500)
    }

    @Test func manyFaultsAtOnceNeverBreakAPicture() {
        for seed: UInt64 in 1...4 {
            var simulation = Simulation.pair(seed: seed)
            simulation.media.conditions = LinkConditions(
                delay: .milliseconds(15), jitter: .milliseconds(10), loss: 0.005, duplication: 0.05, reorder: 0.05,
                burstBegins: 0.0002, burstEnds: 0.2, bitsPerSecond: 20_000_000)
            simulation.mediaBack.conditions.loss = 0.2
            simulation.controlDelay = .milliseconds(20)
            for second in 1...60 {
                switch second {
                case 10: simulation.cutControl()
                case 14: simulation.restoreControl()
                case 20: simulation.media.conditions.isMuted = true
                case 27: simulation.media.conditions.isMuted = false
                case 35: simulation.killHost()
                case 38: simulation.startHost(port: 50001)
                case 45: simulation.handleAtViewer(0, .decoderFailed)
                default: break
                }
                simulation.drive(for: .seconds(1))
            }
            #expect(simulation.viewer.decoder.errors.isEmpty, "seed \(seed)")
            #expect(simulation.viewer.longestPause(from: .at(45), to: .at(60)) < .seconds(8))
        }
    }

    /// The same seed gives the same run.
    @Test func runsCanBeRepeated() {
        func run() -> [String] {
            var simulation = Simulation.pair(seed: 11)
            simulation.media.conditions.loss = 0.03
            simulation.media.conditions.jitter = .milliseconds(4)
            simulation.drive(for: .seconds(8))
            return simulation.viewer.frames.map { "\($0.time.nanoseconds) \($0.number)" }
        }
        #expect(run() == run())
    }
}
