import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Paths that drop long packets without a word.
struct BlackHoleTests {
    private func longestDatagram(_ simulation: Simulation, after time: MediaTime) -> Int {
        simulation.bursts.filter { $0.time > time }.map { min($0.burst.segmentSize, $0.burst.range.count) }.max() ?? 0
    }

    @Test(arguments: [1000, 576], [1, 20])
    func thePictureGoesOnWithinASecond(mtu: Int, delay: Int) throws {
        var simulation = Simulation.securePair()
        var conditions = LinkConditions(delay: .milliseconds(delay))
        simulation.setConditions(0, conditions)
        simulation.drive(for: .seconds(3))
        let before = simulation.now
        conditions.mtu = mtu
        simulation.setConditions(0, conditions, back: conditions)
        simulation.drive(for: .seconds(4))
        let viewer = simulation.viewer
        #expect(viewer.longestPause(from: before, to: before + .seconds(4)) < .seconds(1))
        #expect(viewer.frames.count { $0.time > before + .seconds(1) } > 80)
        #expect(viewer.decoder.errors.isEmpty)
        #expect(viewer.events.allSatisfy { if case .stalled = $0.event { false } else { true } })
        #expect(simulation.host?.statistics.viewers == 1)
        // Longer ones come back.
        conditions.mtu = 1500
        simulation.setConditions(0, conditions, back: conditions)
        simulation.drive(for: .seconds(30))
        #expect(longestDatagram(simulation, after: simulation.now - .seconds(2)) == 1200)
        #expect(simulation.viewer.longestPause(from: before + .seconds(4), to: simulation.now) < .milliseconds(200))
    }

    @Test(arguments: [1000, 576]) func aViewerBeginsOnSuchAPath(mtu: Int) throws {
        var simulation = Simulation.securePair()
        var conditions = LinkConditions(delay: .milliseconds(5))
        conditions.mtu = mtu
        simulation.setConditions(0, conditions, back: conditions)
        simulation.drive(for: .seconds(3))
        let first = try #require(simulation.viewer.frames.first)
        #expect(first.time < .at(1.2))
        #expect(simulation.viewer.frames.count > 40)
        #expect(simulation.viewer.decoder.errors.isEmpty)
    }

    /// Lost parts are sent again at the same length; each viewer gets its own.
    @Test func lossAndAViewerWithLongDatagramsBeside() {
        var simulation = Simulation()
        let remembered = [DeviceKey.made(1): "short", DeviceKey.made(2): "long"]
        simulation.startHost(acceptance: .none, trust: HostTrust(own: .host, remembered: remembered, code: .none))
        var short = LinkConditions(delay: .milliseconds(2), loss: 0.05)
        short.mtu = 576
        simulation.join(short, back: LinkConditions(delay: .milliseconds(2)))
        simulation.join(LinkConditions(delay: .milliseconds(2)))
        simulation.drive(for: .seconds(6))
        for viewer in simulation.viewers {
            #expect(viewer.frames.count { $0.time > .at(2) } > 100)
            #expect(viewer.decoder.errors.isEmpty)
            #expect(viewer.session.statistics.malformed == 0)
        }
        #expect(simulation.viewers[1].longestPause(from: .at(1), to: .at(6)) < .milliseconds(200))
        #expect(longestDatagram(simulation, after: .at(5)) == 1200)
    }

    /// Bursts of losses are no reason for shorter datagrams.
    @Test(arguments: [UInt64(1), 2, 3, 4, 5, 6]) func burstsOfLossesChangeNothing(seed: UInt64) {
        var simulation = Simulation.securePair(seed: seed)
        var conditions = LinkConditions(delay: .milliseconds(10))
        conditions.burstBegins = 0.014
        conditions.burstEnds = 0.125
        simulation.setConditions(0, conditions, back: conditions)
        simulation.drive(for: .seconds(20))
        #expect(longestDatagram(simulation, after: .at(18)) == 1200)
        #expect(simulation.viewer.decoder.errors.isEmpty)
    }
}
