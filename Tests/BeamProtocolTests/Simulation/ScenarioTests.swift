import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Networks that people complain about: what is shown, what it costs, and that no broken picture appears. In virtual
/// time over a seeded link. `Scripts/netlab` runs the real program on the same networks.
struct ScenarioTests {
    /// 30 frames a second, 4.8 Mbit/s; the first frame has 80 kB.
    private func simulation(
        _ seed: Int, _ conditions: LinkConditions, back: LinkConditions? = nil, frameBytes: Int = 20_000,
        keyframeBytes: Int = 80_000
    ) -> Simulation {
        var simulation = Simulation.securePair(seed: UInt64(seed))
        simulation.source.frameBytes = frameBytes
        simulation.source.keyframeBytes = keyframeBytes
        simulation.media.conditions = conditions
        simulation.mediaBack.conditions = back ?? LinkConditions(delay: conditions.delay)
        return simulation
    }

    @Test(arguments: 1...3) func aCleanNetworkHasNoOverhead(seed: Int) throws {
        var simulation = simulation(seed, LinkConditions(delay: .milliseconds(1)))
        simulation.drive(for: .seconds(6))
        let (viewer, host) = (simulation.viewer, try #require(simulation.host?.statistics))
        expectWhole(viewer)
        #expect((177...180).contains(viewer.frames.count))
        #expect(host.frames == UInt64(viewer.frames.count))
        #expect(host.keyframes == 1 && host.keyframeRequests == 0)
        #expect(host.retransmissions == 0 && host.parity == 0)
        #expect(viewer.session.statistics.missed == 0 && viewer.session.statistics.duplicates == 0)
        // The frames' own bytes and one `StreamState` for each hello, and no other datagram.
        let content = 80_000 + 18 + (viewer.frames.count - 1) * 20_000
        let parts = 70 + (viewer.frames.count - 1) * 18
        let words = simulation.bursts.count { $0.burst.range.count < 100 }
        #expect(words <= 10)
        #expect(host.datagrams == UInt64(parts + words))
        let overhead = (MediaForm.version2.headerLength + SealedHeader.overhead) * parts
        #expect(host.bytes <= UInt64(content + overhead + words * 100))
        // The way back: 40 reports a second at most.
        #expect(simulation.mediaBack.passed <= 6 * 41 + 10)
        #expect(viewer.ages.dropFirst(3).allSatisfy { $0 < .milliseconds(8) })
        #expect(viewer.session.statistics.buffer == .zero)
    }

    @Test(arguments: 1...3) func onePercentLossIsInvisible(seed: Int) throws {
        var simulation = simulation(seed, LinkConditions(delay: .milliseconds(5), loss: 0.01))
        simulation.drive(for: .seconds(8))
        let (viewer, host) = (simulation.viewer, try #require(simulation.host?.statistics))
        expectWhole(viewer)
        expectEveryFrame(simulation, missing: 1)
        #expect(host.keyframes == 1 && host.keyframeRequests == 0)
        #expect(simulation.media.lost >= 20)
        #expect(viewer.longestPause(from: .at(0.5), to: .at(8)) < .milliseconds(33 + 50))
        // The round trip is shorter than a frame interval: no parity, and each lost part is retransmitted once.
        #expect(host.parity == 0)
        let lost = UInt64(simulation.media.lost)
        #expect(
            (lost * 9 / 10...lost * 12 / 10 + 2).contains(host.retransmissions), "\(host.retransmissions) for \(lost)")
        #expect(viewer.session.statistics.lost == 0)
    }

    @Test(arguments: 1...3) func fivePercentLossIsHardlyVisible(seed: Int) throws {
        var simulation = simulation(seed, LinkConditions(delay: .milliseconds(5), loss: 0.05))
        simulation.drive(for: .seconds(8))
        let (viewer, host) = (simulation.viewer, try #require(simulation.host?.statistics))
        expectWhole(viewer)
        expectEveryFrame(simulation, missing: 2)
        #expect(host.keyframes == 1 && host.keyframeRequests == 0)
        #expect(viewer.longestPause(from: .at(0.5), to: .at(8)) < .milliseconds(150))
        let lost = UInt64(simulation.media.lost)
        #expect(lost >= 150)
        #expect(
            (lost * 9 / 10...lost * 12 / 10 + 2).contains(host.retransmissions), "\(host.retransmissions) for \(lost)")
        // The loss isn't taken for congestion.
        #expect(host.pathRate == nil)
    }

    /// Gilbert–Elliott losses in both directions, eight datagrams in a row on average.
    @Test func burstsOfEightAreRecoveredByParityOrRetransmission() throws {
        let conditions = LinkConditions(delay: .milliseconds(20), burstBegins: 0.1 / 0.9 / 8, burstEnds: 1.0 / 8)
        var shown = 0
        var captured = 0
        var (requests, keyframes) = (UInt64(0), UInt64(0))
        for seed in 1...3 {
            var simulation = simulation(seed, conditions, back: conditions)
            simulation.drive(for: .seconds(10))
            let (viewer, host) = (simulation.viewer, try #require(simulation.host?.statistics))
            expectWhole(viewer)
            let first = try #require(viewer.frames.first?.time)
            #expect(first < .at(1.5), "the first hello and the first keyframe may be lost")
            shown += viewer.frames.count
            captured += Int((simulation.now - first).inSeconds * 30)
            requests += viewer.session.statistics.keyframesRequested
            keyframes += host.keyframes
            #expect(viewer.session.statistics.reconstructed > 20 && host.retransmissions > 20)
            #expect(host.parity * 2 <= host.datagrams, "parity is at most half of what is sent")
            // Random losses don't reduce the rate below the stream's 4.8 Mbit/s.
            #expect(host.pathRate ?? .max > 6_000_000)
        }
        // At most one request in 10 s, besides the first ones (16 seeds gave one in 16 s).
        #expect(requests <= 3 && keyframes <= 6, "\(requests) requests, \(keyframes) keyframes")
        #expect(shown >= captured * 98 / 100, "\(shown) of \(captured)")
    }

    @Test(arguments: 1...3) func jitterAndReorderingLoseNoFrame(seed: Int) throws {
        var simulation = simulation(
            seed, LinkConditions(delay: .milliseconds(5), jitter: .milliseconds(30), reorder: 0.02))
        simulation.drive(for: .seconds(8))
        let (viewer, host) = (simulation.viewer, try #require(simulation.host?.statistics))
        expectWhole(viewer)
        expectEveryFrame(simulation, missing: 3)
        #expect(host.keyframes == 1 && host.keyframeRequests == 0)
        #expect(viewer.session.statistics.lost == 0)
        #expect(viewer.session.statistics.reordered > 100)
        #expect(viewer.longestPause(from: .at(0.5), to: .at(8)) < .milliseconds(33 + 50))
        // Before the delay of late parts is known, some are requested too early: one in 50 at most.
        #expect(host.retransmissions * 50 <= host.datagrams, "\(host.retransmissions) of \(host.datagrams)")
        #expect(host.pathRate == nil)
    }

    @Test(arguments: 1...3) func aBottleneckThatNarrowsAndWidensIsFollowed(seed: Int) throws {
        let wide = LinkConditions(delay: .milliseconds(5), bitsPerSecond: 20e6, queueBytes: 500_000)
        var simulation = simulation(seed, wide, frameBytes: 40_000, keyframeBytes: 150_000)
        // At different moments between two frames.
        simulation.drive(for: .seconds(2) + .milliseconds(Int64(seed) * 9))
        let narrowed = simulation.now
        simulation.media.conditions.bitsPerSecond = 2e6
        simulation.media.conditions.queueBytes = 50_000
        simulation.drive(for: .seconds(6))
        let widened = simulation.now
        simulation.media.conditions = wide
        simulation.drive(for: .seconds(6))
        let viewer = simulation.viewer
        expectWhole(viewer)
        func rates(_ from: MediaTime, _ to: MediaTime) -> [Int] {
            simulation.demands.filter { $0.layer == 0 && $0.time >= from && $0.time < to }.compactMap(\.demand.bitRate)
        }
        let settled = narrowed + .seconds(1)
        let narrow = viewer.frames.filter { $0.time >= settled && $0.time < widened }
        #expect(narrow.compactMap(\.age).allSatisfy { $0 < .milliseconds(150) })
        #expect(narrow.count >= 130, "about 30 a second for 5 s")
        let used = rates(settled, widened)
        #expect(!used.isEmpty && used.allSatisfy { (1_200_000...2_000_000).contains($0) }, "\(used)")
        #expect(viewer.longestPause(from: settled, to: simulation.now) < .milliseconds(150))
        // Back to at least the source's rate at 30 frames a second.
        let back = widened + .seconds(5)
        #expect(rates(back, simulation.now).allSatisfy { $0 > 10_000_000 })
        #expect((rates(.zero, simulation.now).last ?? 0) > 10_000_000)
        #expect(viewer.frames.last.flatMap(\.age) ?? .seconds(1) < .milliseconds(60))
        #expect(viewer.session.statistics.keyframesRequested <= 1)
    }

    @Test(arguments: 1...3) func halfAMegabitShowsARecentPicture(seed: Int) throws {
        var simulation = simulation(
            seed, LinkConditions(delay: .milliseconds(5 + Int64(seed)), bitsPerSecond: 500_000, queueBytes: 25_000),
            frameBytes: 40_000, keyframeBytes: 150_000)
        simulation.drive(for: .seconds(12))
        let viewer = simulation.viewer
        expectWhole(viewer)
        #expect((viewer.frames.first?.time ?? .distantFuture) < .at(3))
        let later = viewer.frames.filter { $0.time > .at(3) }
        #expect(later.count > 100)
        #expect(later.compactMap(\.age).allSatisfy { $0 < .milliseconds(300) })
        #expect(viewer.longestPause(from: .at(3), to: .at(12)) < .milliseconds(500))
        // Frames of two datagrams tell nothing about the path's capacity: it is probed now and then.
        let used = simulation.demands.filter { $0.layer == 0 && $0.time > .at(3) }.compactMap(\.demand.bitRate)
        #expect(used.allSatisfy { (250_000...650_000).contains($0) }, "\(used)")
        // A better path is therefore noticed.
        simulation.media.conditions = LinkConditions(delay: .milliseconds(5), bitsPerSecond: 20e6, queueBytes: 500_000)
        simulation.drive(for: .seconds(8))
        #expect((simulation.demands.last { $0.layer == 0 }?.demand.bitRate ?? .max) > 10_000_000)
        expectWhole(simulation.viewer)
    }

    @Test(arguments: 1...3) func afterAnOutageACurrentPictureComesAtOnce(seed: Int) throws {
        var simulation = simulation(seed, LinkConditions(delay: .milliseconds(5)))
        simulation.drive(for: .seconds(2) + .milliseconds(Int64(seed) * 9))
        let shown = simulation.viewer.frames.count
        simulation.media.conditions.isMuted = true
        simulation.mediaBack.conditions.isMuted = true
        let cut = simulation.now
        simulation.drive(for: .seconds(3))
        // Little is sent while nothing is heard: a probe each 25 ms for a second, then each 100 ms.
        let wasted = simulation.bursts.filter { $0.time > cut + .seconds(1) }
        #expect(wasted.allSatisfy { $0.burst.range.count < 100 } && wasted.count <= 45)
        simulation.media.conditions.isMuted = false
        simulation.mediaBack.conditions.isMuted = false
        let restored = simulation.now
        simulation.drive(for: .seconds(2))
        let viewer = simulation.viewer
        expectWhole(viewer)
        let first = try #require(viewer.frames.first { $0.time > restored })
        #expect(first.time - restored < .milliseconds(300))
        #expect(try #require(first.age) < .milliseconds(50), "no old picture is shown")
        #expect(first.isKeyframe)
        #expect(viewer.frames.filter(\.isKeyframe).count == 2)
        #expect(viewer.frames.count >= shown + 50)
        #expect(viewer.longestPause(from: first.time, to: simulation.now) < .milliseconds(50))
    }

    @Test func aLostHelloIsRepeatedSoon() {
        var simulation = simulation(1, LinkConditions(delay: .milliseconds(5)), back: LinkConditions(isMuted: true))
        simulation.drive(for: .milliseconds(200))
        #expect(simulation.viewer.frames.isEmpty)
        simulation.mediaBack.conditions = LinkConditions(delay: .milliseconds(5))
        simulation.drive(for: .seconds(3))
        #expect((simulation.viewer.frames.first?.time ?? .distantFuture) < .at(0.45))
        // Once answered, hellos come once a second.
        #expect(simulation.mediaBack.lost <= 4)
        let hellos = simulation.bursts.count { $0.burst.range.count < 100 }
        #expect(hellos <= 6, "each is answered")
    }

    // MARK: Expectations

    private func expectWhole(_ viewer: Simulation.Viewer, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(viewer.decoder.errors.isEmpty, "\(viewer.decoder.errors.prefix(3))", sourceLocation: sourceLocation)
        #expect(viewer.session.statistics.malformed == 0, sourceLocation: sourceLocation)
    }

    /// Every frame was shown; the last ones may still be in flight.
    private func expectEveryFrame(
        _ simulation: Simulation, missing: Int, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let numbers = simulation.viewer.frames.map(\.number)
        #expect(numbers == (0..<UInt32(numbers.count)).map { $0 }, sourceLocation: sourceLocation)
        let sent = Int(simulation.host?.statistics.frames ?? 0)
        #expect((numbers.count...numbers.count + missing).contains(sent), sourceLocation: sourceLocation)
    }
}
