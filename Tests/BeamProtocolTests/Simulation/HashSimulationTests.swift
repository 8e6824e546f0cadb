import BeamMedia
import Testing

@testable import BeamSession
@testable import BeamWire

/// Hashes of the picture between a host and its viewers, in virtual time: who is told them, how often, and at what cost.
struct HashSimulationTests {
    private static let lan = LinkConditions(delay: .milliseconds(1))

    private func simulation(takesPatches: [Bool] = [true], hasHashes: Bool = true) -> Simulation {
        var simulation = Simulation(seed: 7)
        simulation.source.hasPatches = true
        simulation.source.hasHashes = hasHashes
        simulation.source.isStill = true
        simulation.media.conditions = Self.lan
        simulation.mediaBack.conditions = Self.lan
        simulation.startHost(acceptance: .all)
        for (index, takes) in takesPatches.enumerated() {
            var configuration = ViewerSession.Configuration.secure(knows: true)
            configuration.takesPatches = takes
            simulation.addViewer(from: .v4(0x0A00_0002 + UInt32(index)), configuration: configuration)
        }
        simulation.drive(for: .seconds(2))
        return simulation
    }

    private func hashes(_ time: MediaTime, height: Int = 1080) -> PictureHashes {
        let size = PixelSize(width: 1920, height: height)
        return PictureHashes(
            size: size, time: time.microseconds, since: time.microseconds - 5,
            rows: (0..<ExactTiles.down(size)).map { UInt32($0 * 77) })
    }

    /// What a viewer was told, in one piece; nil: rows are missing.
    private func told(_ viewer: Simulation.Viewer) -> PictureHashes? {
        guard var whole = viewer.hashes.first?.hashes else { return nil }
        for next in viewer.hashes.dropFirst() {
            guard next.hashes.firstRow == whole.firstRow + whole.rows.count else { return nil }
            whole.rows += next.hashes.rows
        }
        return whole
    }

    @Test(arguments: [1080, 2160, 4320]) func whoAsksIsTold(height: Int) {
        var simulation = simulation(takesPatches: [true, true, false])
        // Nobody has asked.
        simulation.pass(hashes(simulation.now, height: height))
        simulation.drive(for: .milliseconds(50))
        #expect(simulation.viewers.allSatisfy { $0.hashes.isEmpty })
        for index in 0..<3 where index != 1 { simulation.wantHashes(by: index) }
        simulation.drive(for: .milliseconds(20))
        #expect(simulation.hashesWanted == 1)
        let before = simulation.viewers.map { $0.sent.bytes }
        let hashes = hashes(simulation.now, height: height)
        simulation.pass(hashes)
        simulation.drive(for: .milliseconds(20))
        #expect(told(simulation.viewers[0]) == hashes)
        #expect(simulation.viewers[0].sent.bytes - before[0] < 350 + height / 2)
        #expect(simulation.viewers[1].hashes.isEmpty && simulation.viewers[2].hashes.isEmpty)
        // Told once: the next ones are for those who ask again.
        simulation.pass(hashes)
        simulation.drive(for: .milliseconds(20))
        #expect(told(simulation.viewers[0]) == hashes)
    }

    /// Hosts that don't tell any aren't asked, and programs that tell none don't mind the request.
    @Test func aHostWithoutHashesIsNotAsked() {
        var simulation = simulation(hasHashes: false)
        simulation.drive(for: .milliseconds(40))
        let before = simulation.viewer.sent.datagrams
        for _ in 0..<20 { simulation.wantHashes(by: 0) }
        simulation.drive(for: .milliseconds(100))
        #expect(simulation.hashesWanted == 0 && simulation.viewer.sent.datagrams - before <= 2)
    }

    /// A viewer that asks all the time has the host hash five times a second, and not after it was answered.
    @Test func aViewerThatAsksAllTheTimeIsAnsweredSeldom() {
        var simulation = simulation()
        for _ in 0..<1000 {
            simulation.wantHashes(by: 0)
            simulation.drive(for: .milliseconds(1))
            if simulation.hashesWanted > 0 { simulation.pass(hashes(simulation.now)) }
        }
        #expect(simulation.hashesWanted <= 6)
        #expect(simulation.viewer.hashes.count <= 2 * 6)
    }

    /// An answer that the host has only long after it was asked is of no use.
    @Test func aLateAnswerIsNotSent() {
        var simulation = simulation()
        simulation.wantHashes(by: 0)
        simulation.drive(for: .milliseconds(700))
        #expect(simulation.hashesWanted == 1)
        simulation.pass(hashes(simulation.now))
        simulation.drive(for: .milliseconds(50))
        #expect(simulation.viewer.hashes.isEmpty)
    }
}
