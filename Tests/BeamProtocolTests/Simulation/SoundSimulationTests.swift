import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Sound beside moving pictures, in virtual time over a seeded link: what arrives, how late, and what it costs.
struct SoundSimulationTests {
    private static let lan = LinkConditions(delay: .milliseconds(1))

    private func simulation(
        _ conditions: LinkConditions = lan, seed: Int = 1, isStill: Bool = false, takesSound: Bool = true
    ) -> Simulation {
        var simulation = Simulation(seed: UInt64(seed))
        simulation.source.hasSound = true
        simulation.source.isStill = isStill
        simulation.media.conditions = conditions
        simulation.mediaBack.conditions = LinkConditions(delay: conditions.delay)
        simulation.controlDelay = conditions.delay
        simulation.startHost(
            acceptance: .none, trust: HostTrust(own: .host, remembered: [.viewer: "viewer"], code: .none))
        var configuration = ViewerSession.Configuration.secure(knows: true)
        configuration.takesSound = takesSound
        simulation.addViewer(configuration: configuration)
        return simulation
    }

    /// The share of packets since `start` that came within `patience` of their times; and how late the others were, in ms.
    private func arrived(
        _ simulation: Simulation, since start: MediaTime, within patience: Duration
    ) -> (share: Double, sent: Int) {
        let sounds = simulation.viewer.sounds.filter { $0.time >= start }
        let end = simulation.now - .milliseconds(400)
        let sent = Int((end - start).inMilliseconds / 10)
        let inTime = sounds.count { $0.time < end && $0.arrival - $0.time <= patience }
        return (Double(inTime) / Double(max(1, sent)), sent)
    }

    @Test(arguments: [false, true]) func onACleanNetworkEachPacketComesOnceAndAtOnce(isStill: Bool) throws {
        var simulation = simulation(isStill: isStill)
        simulation.drive(for: .seconds(10))
        let sounds = simulation.viewer.sounds
        #expect(sounds.count >= 980)
        #expect(zip(sounds, sounds.dropFirst()).allSatisfy { $1.number == $0.number + 1 })
        #expect(sounds.allSatisfy { $0.arrival - $0.time == .milliseconds(1) && !$0.isReduced })
        let host = try #require(simulation.host?.statistics)
        // Sound waits for the first picture.
        #expect(UInt64(simulation.soundCount) - host.soundPackets < 10 && host.soundRetransmissions == 0)
        let arrivals = simulation.viewer.session.statistics.sound
        #expect(arrivals.missed == 0 && arrivals.lost == 0 && arrivals.duplicates == 0 && arrivals.requested == 0)
        #expect(arrivals.packets == UInt64(sounds.count) && arrivals.expected == UInt32(sounds.count))
        // Nothing is repeated: 160 bytes, the packet's head and that of the datagram.
        let length = 160 + SoundDatagram.headLength + SoundDatagram.entryHeadLength + SealedHeader.overhead
        #expect(UInt64(simulation.bursts.count { $0.burst.range.count == length }) == host.soundPackets)
        // The clock's offset is known after the first answers.
        #expect(sounds.dropFirst(10).allSatisfy { $0.clockOffset.map { abs($0.inMilliseconds) <= 1 } ?? false })
    }

    @Test(
        "Little is lost for good",
        arguments: [
            (0.01, Duration.milliseconds(5), Duration.milliseconds(30), 0.0005),
            (0.05, .milliseconds(5), .milliseconds(40), 0.003), (0.05, .milliseconds(1), .milliseconds(20), 0.003),
        ])
    func lossIsRepaired(loss: Double, delay: Duration, patience: Duration, most: Double) {
        var (late, sent) = (0.0, 0)
        for seed in 1...5 {
            var simulation = simulation(LinkConditions(delay: delay, loss: loss), seed: seed)
            simulation.drive(for: .seconds(22))
            // The first loss is what turns repeats on.
            let result = arrived(simulation, since: .at(2), within: patience)
            late += (1 - result.share) * Double(result.sent)
            sent += result.sent
            #expect(simulation.viewer.session.statistics.sound.missed > 10)
        }
        #expect(late / Double(sent) <= most, "\(late) of \(sent)")
    }

    @Test func burstsOfLossesAreRepairedByMoreRepeats() {
        var (late, sent) = (0.0, 0)
        for seed in 1...5 {
            // 10 % in runs of 8 datagrams, on a path too long for retransmissions.
            var simulation = simulation(
                LinkConditions(delay: .milliseconds(20), burstBegins: 1 / 72, burstEnds: 1 / 8), seed: seed)
            simulation.drive(for: .seconds(32))
            let result = arrived(simulation, since: .at(7), within: .milliseconds(70))
            late += (1 - result.share) * Double(result.sent)
            sent += result.sent
            #expect(simulation.host?.statistics.soundRetransmissions == 0)
        }
        #expect(late / Double(sent) <= 0.02, "\(late) of \(sent)")
    }

    @Test func aSlowPathGetsTheReducedRateAndBothPictureAndSound() throws {
        var simulation = simulation(LinkConditions(delay: .milliseconds(5), bitsPerSecond: 500_000, queueBytes: 64_000))
        simulation.drive(for: .seconds(20))
        let late = simulation.viewer.sounds.filter { $0.time > .at(8) }
        #expect(late.count >= 1180 && late.allSatisfy(\.isReduced))
        #expect(simulation.soundDemand == SoundDemand(full: false, reduced: true))
        // Sound leaves room for pictures, and isn't delayed by them for long.
        let delays = late.map { ($0.arrival - $0.time).inMilliseconds }.sorted()
        #expect(delays[delays.count * 95 / 100] < 80, "\(delays[delays.count * 95 / 100]) ms")
        let frames = simulation.viewer.frames.count { $0.time > .at(10) }
        #expect(frames > 50, "\(frames) frames in 10 s")
        let demand = try #require(simulation.demands.last { $0.layer == 0 }?.demand.bitRate)
        #expect(demand < 420_000)
        // The path becomes fast.
        simulation.media.conditions.bitsPerSecond = nil
        simulation.drive(for: .seconds(30))
        #expect(simulation.viewer.sounds.last?.isReduced == false)
        #expect(simulation.soundDemand == SoundDemand(full: true, reduced: false))
        // Sound leaves too few bytes to pictures to fill the estimate, and yet it grows.
        #expect(try #require(simulation.demands.last { $0.layer == 0 }?.demand.bitRate) > 2_000_000)
    }

    @Test func whoTakesNoSoundIsSentNone() {
        var simulation = simulation(takesSound: false)
        simulation.drive(for: .seconds(3))
        #expect(simulation.viewer.sounds.isEmpty && simulation.soundCount == 0)
        #expect(simulation.viewer.frames.count > 60)
        #expect(simulation.soundDemand == SoundDemand())
        #expect(simulation.host?.statistics.soundPackets == 0)
    }

    @Test func aHostWithoutSoundIsAskedForNone() {
        var simulation = Simulation(seed: 1)
        simulation.startHost(
            acceptance: .none, trust: HostTrust(own: .host, remembered: [.viewer: "viewer"], code: .none))
        var configuration = ViewerSession.Configuration.secure(knows: true)
        configuration.takesSound = true
        simulation.addViewer(configuration: configuration)
        simulation.drive(for: .seconds(2))
        #expect(!simulation.viewer.events.contains { $0.event == .hostHasSound })
        simulation.wish(0) { $0.sound = false }
        simulation.drive(for: .seconds(1))
        #expect(simulation.viewer.frames.count > 60 && simulation.soundDemand == SoundDemand())
    }

    @Test func whoMutesIsSentNoneUntilSoundIsWantedAgain() {
        var simulation = simulation()
        simulation.drive(for: .seconds(2))
        simulation.wish(0) { $0.sound = false }
        simulation.drive(for: .milliseconds(100))
        let count = simulation.viewer.sounds.count
        simulation.drive(for: .seconds(1))
        #expect(simulation.viewer.sounds.count == count)
        // The host goes on to capture for a moment, in case it is wanted again.
        #expect(simulation.soundDemand.isAny)
        simulation.drive(for: .seconds(3))
        #expect(!simulation.soundDemand.isAny)
        // The wish outlives the connection.
        simulation.cutControl()
        simulation.drive(for: .milliseconds(100))
        simulation.restoreControl()
        simulation.drive(for: .seconds(4))
        #expect(simulation.viewer.sounds.count - count < 5)
        simulation.wish(0) { $0.sound = true }
        simulation.drive(for: .seconds(1))
        #expect(simulation.viewer.sounds.count > count + 90)
        #expect(simulation.soundDemand == SoundDemand(full: true))
        // What wasn't wanted isn't lost.
        let arrivals = simulation.viewer.session.statistics.sound
        #expect(arrivals.missed == 0 && arrivals.lost == 0 && arrivals.requested == 0)
    }

    @Test func nothingIsSentDuringSilenceAndItIsNoLoss() {
        var simulation = simulation(isStill: true)
        simulation.drive(for: .seconds(2))
        let (count, bursts) = (simulation.viewer.sounds.count, simulation.bursts.count)
        simulation.source.playsSound = false
        simulation.drive(for: .seconds(5))
        #expect(simulation.viewer.sounds.count - count <= 1)
        #expect(simulation.bursts.count - bursts < 20, "hellos are answered, nothing more")
        simulation.source.playsSound = true
        simulation.drive(for: .seconds(1))
        let arrivals = simulation.viewer.session.statistics.sound
        #expect(simulation.viewer.sounds.count > count + 90)
        #expect(simulation.viewer.sounds.filter(\.begins).count >= 1)
        #expect(arrivals.missed == 0 && arrivals.lost == 0)
        // The end came unannounced, so a few packets were asked for that didn't exist.
        #expect(arrivals.requested <= 18, "\(arrivals.requested)")
    }

    @Test func soundGoesOnWhenTheMediaKeyChanges() {
        var simulation = simulation()
        simulation.drive(for: .seconds(1))
        let key = simulation.host?.broadcast.stream.keys.current.number
        // A viewer that leaves makes the host change the key.
        simulation.addViewer(configuration: .secure(knows: true, instance: 7))
        simulation.drive(for: .milliseconds(500))
        simulation.handleAtViewer(1, .shutdown)
        simulation.drive(for: .milliseconds(1500))
        #expect(simulation.host?.broadcast.stream.keys.current.number != key)
        let arrivals = simulation.viewer.session.statistics.sound
        #expect(simulation.viewer.sounds.count > 280)
        #expect(arrivals.missed == 0 && arrivals.lost == 0)
        #expect(simulation.viewer.session.statistics.malformed == 0)
    }

    @Test func aRestartedHostBeginsANewCount() {
        var simulation = simulation()
        simulation.drive(for: .seconds(3))
        simulation.killHost()
        simulation.drive(for: .seconds(1))
        simulation.startHost(
            acceptance: .none, trust: HostTrust(own: .host, remembered: [.viewer: "viewer"], code: .none))
        simulation.drive(for: .seconds(8))
        let numbers = simulation.viewer.sounds.map(\.number)
        #expect(numbers.count { $0 == 10 } == 2)
        let arrivals = simulation.viewer.session.statistics.sound
        #expect(arrivals.lost <= 2 && arrivals.duplicates == 0)
    }
}
