import BeamMedia
import Testing

@testable import BeamSession
@testable import BeamWire

/// Exact patches beside the frames, in virtual time over a seeded link: who gets which, when, and what they cost.
struct PatchSimulationTests {
    private func simulation(
        takesPatches: [Bool] = [true], hasPatches: Bool = true, _ conditions: LinkConditions = lan
    ) -> Simulation {
        var simulation = Simulation(seed: 3)
        simulation.source.hasPatches = hasPatches
        simulation.source.isStill = true
        simulation.media.conditions = conditions
        simulation.mediaBack.conditions = LinkConditions(delay: conditions.delay)
        simulation.controlDelay = conditions.delay
        simulation.startHost(acceptance: .all)
        for (index, takes) in takesPatches.enumerated() {
            var configuration = ViewerSession.Configuration.secure(knows: true)
            configuration.takesPatches = takes
            simulation.addViewer(from: .v4(0x0A00_0002 + UInt32(index)), configuration: configuration)
        }
        return simulation
    }

    private static let lan = LinkConditions(delay: .milliseconds(1))

    private func patch(_ bytes: Int, of simulation: Simulation, isRepair: Bool = false) -> ExactPatch {
        ExactPatch(
            content: [UInt8](repeating: 7, count: bytes), captureTime: simulation.now,
            pictureSize: PixelSize(width: 640, height: 360), isRepair: isRepair)
    }

    @Test func aChangeGoesAtOnceToAllWhoTakeIt() throws {
        var simulation = simulation()
        // Before the first picture it is of no use.
        simulation.pass(patch(300, of: simulation))
        simulation.drive(for: .seconds(2))
        #expect(simulation.viewer.patches.isEmpty && !simulation.viewer.frames.isEmpty)
        let sent = simulation.now
        simulation.pass(patch(5000, of: simulation))
        simulation.drive(for: .milliseconds(20))
        let arrived = try #require(simulation.viewer.patches.first)
        #expect(arrived.content.count == 5000 && arrived.hostTime == sent.microseconds)
        #expect(arrived.arrival - sent == .milliseconds(1))
        #expect(arrived.captureTime.map { abs(($0 - sent).inMilliseconds) < 1.5 } == true)
        #expect(simulation.viewer.patches.count == 1 && simulation.host?.statistics.patches == 1)
    }

    @Test(arguments: [(true, false), (false, true)])
    func nobodyElseGetsOne(hasPatches: Bool, takesPatches: Bool) {
        var simulation = simulation(takesPatches: [takesPatches], hasPatches: hasPatches)
        simulation.drive(for: .seconds(1))
        let before = simulation.viewer.sent.datagrams
        simulation.pass(patch(300, of: simulation))
        simulation.want(exact: [PixelRect(x: 0, y: 0, width: 1, height: 1)], by: 0)
        simulation.drive(for: .milliseconds(30))
        simulation.pass(patch(300, of: simulation, isRepair: true))
        simulation.drive(for: .milliseconds(30))
        #expect(simulation.viewer.patches.isEmpty && simulation.viewer.sent.datagrams - before <= 2)
        #expect(simulation.exactWanted.isEmpty)
    }

    /// One of two viewers asks; what it gets isn't sent to the other.
    @Test func aRepairGoesToTheViewerThatAsked() {
        var simulation = simulation(takesPatches: [true, true])
        simulation.drive(for: .seconds(2))
        simulation.pass(patch(300, of: simulation, isRepair: true))
        let tiles = [PixelRect(x: 3, y: 4, width: 5, height: 6), PixelRect(x: 65_000, y: 0, width: 9, height: 1)]
        simulation.want(exact: tiles, by: 1)
        // Again and again, in one moment; and what isn't in the picture isn't asked for.
        for _ in 0..<50 { simulation.want(exact: tiles, by: 1) }
        simulation.drive(for: .milliseconds(100))
        #expect(simulation.exactWanted == [[tiles[0]]])
        simulation.pass(patch(300, of: simulation, isRepair: true))
        simulation.drive(for: .milliseconds(600))
        #expect(simulation.viewers.map(\.patches.count) == [0, 1])
        // It has what it wanted, or would have asked again.
        simulation.pass(patch(300, of: simulation, isRepair: true))
        simulation.drive(for: .milliseconds(20))
        #expect(simulation.viewers.map(\.patches.count) == [0, 1])
    }

    /// More than the path carries now isn't sent; the picture comes by frames.
    @Test func patchesGiveWayOnASlowPath() {
        var conditions = Self.lan
        conditions.bitsPerSecond = 2_000_000
        var simulation = simulation(conditions)
        simulation.source.isStill = false
        simulation.drive(for: .seconds(4))
        let frames = simulation.viewer.frames.count
        for _ in 0..<200 {
            simulation.pass(patch(10_000, of: simulation))
            simulation.drive(for: .milliseconds(10))
        }
        #expect(simulation.viewer.patches.count < 20)
        #expect(simulation.viewer.frames.count - frames > 20)
    }
}
