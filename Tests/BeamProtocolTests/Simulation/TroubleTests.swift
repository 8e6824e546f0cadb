import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Outages, machines that vanish, and unknown peers that interfere.
struct TroubleTests {
    @Test func thePictureContinuesWhileControlIsCutAndRestored() {
        var simulation = Simulation.pair()
        simulation.drive(for: .seconds(3))
        simulation.cutControl()
        simulation.drive(for: .seconds(12))
        let port = simulation.viewer.localPort
        simulation.restoreControl()
        simulation.drive(for: .seconds(3))
        let viewer = simulation.viewer
        #expect(viewer.longestPause(from: .at(1), to: .at(18)) < .milliseconds(50))
        #expect(viewer.localPort == port, "the media socket stays the same")
        #expect(simulation.times { $0 == .controlRestored }.allSatisfy { $0 < 16.1 })
        #expect(simulation.times { $0 == .controlRestored }.count == 1)
        #expect(simulation.host?.statistics.viewers == 1)
        #expect(viewer.decoder.errors.isEmpty)
    }

    @Test(arguments: [1.0, 3.9, 4.2, 5, 9, 19])
    func thePictureReturnsSoonAfterMediaWereMuted(seconds: Double) {
        for isMutedBack in [false, true] {
            var simulation = Simulation.pair()
            simulation.drive(for: .seconds(3))
            simulation.media.conditions.isMuted = true
            simulation.mediaBack.conditions.isMuted = isMutedBack
            simulation.drive(for: .seconds(seconds))
            simulation.media.conditions.isMuted = false
            simulation.mediaBack.conditions.isMuted = false
            let restored = simulation.now
            simulation.drive(for: .seconds(5))
            let back = simulation.viewer.frames.first { $0.time > restored }?.time ?? .distantFuture
            #expect(back - restored < .seconds(2), "\(seconds) s, also the way back: \(isMutedBack)")
            #expect(simulation.viewer.decoder.errors.isEmpty)
            #expect(simulation.times { $0 == .mediaReconnecting }.count == (seconds >= 4.2 ? 1 : 0))
            #expect(simulation.times { $0 == .mediaResumed }.count == (seconds > 2.5 ? 1 : 0))
        }
    }

    /// In both directions, for control and media, longer than any of the host's deadlines.
    @Test func theStreamRecoversFromALongOutage() {
        var simulation = Simulation.pair()
        simulation.drive(for: .seconds(3))
        simulation.media.conditions.isMuted = true
        simulation.mediaBack.conditions.isMuted = true
        simulation.cutControl()
        simulation.drive(for: .seconds(60))
        #expect(simulation.host?.statistics.viewers == 0)
        simulation.media.conditions.isMuted = false
        simulation.mediaBack.conditions.isMuted = false
        simulation.restoreControl()
        simulation.drive(for: .seconds(2))
        let back = simulation.viewer.frames.first { $0.time > .at(63) }?.time ?? .distantFuture
        #expect(back < .at(65))
    }

    @Test(arguments: [52346, 50001] as [UInt16], [0.05, 1, 30])
    func aHostThatRestartsIsFoundAgain(port: UInt16, pause: Double) {
        var simulation = Simulation.pair()
        simulation.drive(for: .seconds(5))
        simulation.killHost()
        simulation.drive(for: .seconds(pause))
        simulation.startHost(port: port)
        let started = simulation.now
        simulation.drive(for: .seconds(4))
        let back = simulation.viewer.frames.first { $0.time > started }?.time ?? .distantFuture
        #expect(back - started < .milliseconds(1200))
        #expect(simulation.viewer.decoder.errors.isEmpty)
        let sessions = simulation.viewer.events.compactMap {
            if case .paired(let session, _, true, _) = $0.event { session } else { nil }
        }
        #expect(Set(sessions).count == 2)
    }

    @Test func aHostThatEndsNotifiesItsViewers() {
        var simulation = Simulation.pair()
        simulation.drive(for: .seconds(2))
        simulation.handleAtHost(.shutdown)
        simulation.drive(for: .seconds(1))
        #expect(simulation.times { $0 == .broadcast(false) }.count == 1)
        #expect(simulation.times { if case .hostEnded = $0 { true } else { false } }.count == 1)
        #expect(simulation.times { if case .controlLost = $0 { true } else { false } }.isEmpty)
    }

    @Test func aVanishedViewerIsRemoved() {
        var simulation = Simulation.pair()
        simulation.addViewer(from: .v4(0x0A00_0003))
        simulation.drive(for: .seconds(2))
        #expect(simulation.host?.statistics.watching == 2)
        simulation.killViewer(0)
        simulation.drive(for: .seconds(16))
        #expect(simulation.host?.statistics.viewers == 1)
        #expect(simulation.viewers[1].decoder.errors.isEmpty)
        #expect(simulation.viewers[1].longestPause(from: .at(1), to: .at(18)) < .milliseconds(50))
    }

    @Test func aRefusedViewerGivesUpAndGetsNoFrames() {
        var simulation = Simulation.pair(acceptance: .none)
        simulation.drive(for: .seconds(60))
        #expect(simulation.times { $0 == .refused(.other(says: "Declined")) }.count == 1)
        #expect(simulation.viewer.events.count == 3)
        #expect(simulation.bursts.isEmpty)
        #expect(simulation.viewer.deadline == .distantFuture)
    }

    @Test func aViewerRetriesUntilThePersonDecides() {
        var simulation = Simulation.pair(acceptance: .ask)
        simulation.drive(for: .seconds(30))
        let questions = simulation.hostEvents.compactMap {
            if case .viewerAsks(let id, PairingCode("482913"), _) = $0.event { id } else { nil }
        }
        #expect(questions.count == 1)
        #expect(simulation.hostEvents.count == 1)
        let attempts = simulation.times { if case .connecting = $0 { true } else { false } }
        // 8 s for the answer, then pauses of 1, 2 and, until just after these 30 s, 3 s.
        #expect(attempts.count == 3)
        let differences = zip(attempts, [0, 9, 19]).map { abs($0 - $1) }
        #expect(differences.allSatisfy { $0 < 0.02 }, "\(attempts)")
        // The decision comes between two attempts.
        simulation.handleAtHost(.decision(questions[0], accept: true))
        simulation.drive(for: .seconds(2))
        #expect(simulation.viewer.frames.count > 30)
    }

    @Test func anUnknownPeerNeverGetsADatagram() {
        var simulation = Simulation.pair()
        let unknownPeers = [
            NetworkAddress(ip: .v4(0x0A00_0009), port: 40001), NetworkAddress(ip: .v4(0x0A00_0002), port: 666),
        ]
        for tenth in 0..<200 {
            // One peer sends hellos from the beginning, the other, on the viewer's machine, once the stream runs.
            simulation.datagram(Array("BRHI!".utf8), from: unknownPeers[0])
            if tenth > 10 { simulation.datagram(Array("BRHI!".utf8), from: unknownPeers[1]) }
            simulation.drive(for: .milliseconds(100))
        }
        let addresses = Set(simulation.bursts.map(\.burst.address))
        #expect(addresses.isDisjoint(with: unknownPeers) && addresses.count == 1)
        #expect(simulation.viewer.longestPause(from: .at(1), to: .at(20)) < .milliseconds(50))
    }

    @Test func twoViewersOnOneMachineBothGetTheStream() {
        var simulation = Simulation.pair()
        simulation.addViewer(code: "000000")
        simulation.drive(for: .seconds(4))
        simulation.media.conditions.isMuted = true
        simulation.drive(for: .seconds(5))
        simulation.media.conditions.isMuted = false
        simulation.drive(for: .seconds(4))
        for viewer in simulation.viewers {
            #expect(viewer.longestPause(from: .at(1), to: .at(4)) < .milliseconds(50))
            #expect(viewer.longestPause(from: .at(11), to: .at(13)) < .milliseconds(50))
            #expect(viewer.decoder.errors.isEmpty)
        }
        #expect(simulation.host?.statistics.watching == 2)
        #expect(simulation.host?.statistics.viewers == 2)
    }

    @Test func manyViewersShareOneEncoder() {
        var simulation = Simulation()
        simulation.startHost()
        for index in 0..<20 {
            simulation.addViewer(from: .v4(0x0A00_0100 + UInt32(index)))
            simulation.drive(for: .milliseconds(130))
        }
        simulation.drive(for: .seconds(2))
        for viewer in simulation.viewers {
            #expect(viewer.decoder.errors.isEmpty)
            #expect(viewer.longestPause(from: .at(3), to: simulation.now) < .milliseconds(50))
        }
        let frames = Int(simulation.host?.statistics.frames ?? 0)
        #expect(frames <= simulation.viewers[0].frames.count + 1)
    }

    @Test func pausingTheBroadcastPausesThePictureOnly() {
        var simulation = Simulation.pair()
        simulation.drive(for: .seconds(2))
        simulation.handleAtHost(.broadcast(false))
        simulation.drive(for: .seconds(30))
        simulation.handleAtHost(.broadcast(true))
        simulation.drive(for: .seconds(1))
        let viewer = simulation.viewer
        #expect(simulation.times { $0 == .mediaReconnecting }.isEmpty)
        #expect(simulation.times { if case .stalled = $0 { true } else { false } }.isEmpty)
        #expect((viewer.frames.first { $0.time > .at(32) }?.time ?? .distantFuture) < .at(32.1))
        #expect(viewer.decoder.errors.isEmpty)
    }
}
