import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Keyframes on request: version 2 makes one only when a viewer needs it, and then soon.
struct RequestTests {
    @Test func aStillScreenIsSentOnceAndConfirmed() {
        var simulation = Simulation.securePair()
        simulation.source.isStill = true
        simulation.drive(for: .seconds(60))
        #expect(simulation.viewer.frames.count == 1)
        #expect(simulation.host?.statistics.frames == 1)
        let told = simulation.viewer.events.map(\.event)
        #expect(!told.contains { if case .stalled = $0 { true } else { false } }, "\(told)")
        #expect(!told.contains { if case .mediaReconnecting = $0 { true } else { false } }, "\(told)")
        // One `StreamState` for each hello, and a few after the frame.
        #expect((60...75).contains(simulation.bursts.count - 1))
    }

    @Test func aMovingScreenNeedsOneKeyframe() {
        var simulation = Simulation.securePair()
        simulation.drive(for: .seconds(30))
        #expect(simulation.viewer.frames.count > 800)
        #expect(simulation.viewer.frames.filter(\.isKeyframe).count == 1)
        #expect(simulation.host?.statistics.keyframes == 1)
    }

    /// Version 1 viewers can't request keyframes: while one watches, keyframes are periodic.
    @Test func aVersion1ViewerMakesKeyframesPeriodic() {
        var simulation = Simulation.securePair(acceptance: .all)
        simulation.drive(for: .seconds(5))
        #expect(simulation.host?.statistics.keyframes == 1)
        simulation.addViewer(from: .v4(0x0A00_0003))
        simulation.drive(for: .seconds(20))
        #expect((10...13).contains(simulation.host?.statistics.keyframes ?? 0))
        let last = simulation.host?.statistics.keyframes ?? 0
        simulation.killViewer(1)
        // The version 1 viewer is removed after its silence.
        simulation.drive(for: .seconds(30))
        let then = simulation.host?.statistics.keyframes ?? 0
        #expect(then - last < 14)
        simulation.drive(for: .seconds(20))
        #expect(simulation.host?.statistics.keyframes == then)
    }

    @Test(arguments: 1...12)
    func aLossIsRecoveredWithinAFewRoundTrips(seed: Int) {
        var simulation = Simulation.securePair(seed: UInt64(seed))
        simulation.source.frameBytes = 4000
        simulation.source.keyframeBytes = 20_000
        simulation.drive(for: .seconds(1))
        simulation.media.conditions.loss = 0.01
        simulation.media.conditions.reorder = 0.05
        simulation.mediaBack.conditions.loss = 0.01
        simulation.drive(for: .seconds(30))
        let viewer = simulation.viewer
        #expect(simulation.media.lost > 10)
        #expect(viewer.decoder.errors.isEmpty, "\(viewer.decoder.errors.prefix(3))")
        // Missing parts are retransmitted, and no second keyframe is needed.
        #expect(viewer.longestPause(from: .at(1), to: .at(31)) < .milliseconds(150))
        #expect(viewer.frames.filter(\.isKeyframe).count == 1)
        #expect(viewer.frames.count > 900)
        #expect(viewer.session.statistics.lost == 0)
        #expect(viewer.session.statistics.recovered >= UInt64(10))
    }

    /// No later frame shows that the last one is missing.
    @Test func theLossOfTheLastFrameBeforeARestIsNoticed() {
        var simulation = Simulation.securePair()
        simulation.drive(for: .seconds(2))
        let shown = simulation.viewer.frames.count
        simulation.media.conditions.loss = 1
        simulation.drive(for: .milliseconds(60))
        simulation.source.isStill = true
        simulation.drive(for: .milliseconds(20))
        simulation.media.conditions.loss = 0
        simulation.drive(for: .milliseconds(500))
        let viewer = simulation.viewer
        #expect((shown + 1...shown + 2).contains(viewer.frames.count))
        #expect(viewer.decoder.errors.isEmpty)
        #expect(simulation.host?.statistics.frames == UInt64(viewer.frames.count))
    }
}
