import BeamMedia
import Testing

@testable import BeamProtocol

/// A viewer that was let in, and lies: to get more than its share, or to spoil what the others see.
///
/// What bounds it: the host looks at 400 datagrams a second of what one viewer says; what it asks for again is paid for at the rate
/// of its own path, which is never above what the options allow; and who holds the others back has a lane of his own after some seconds,
/// or is silent, and sent nothing. Five keyframes a second remain that anybody may ask for.
struct LiarTests {
    enum Lie: CaseIterable {
        /// Times, counts and numbers without sense.
        case nonsense
        /// Everything has arrived at once, and in no time.
        case flattery
        /// Nothing of what was sent has arrived, ever.
        case poverty
        /// All parts of all frames, again and again.
        case greed
        /// The same, on a path that is said to be narrow.
        case greedOnANarrowPath
        /// Reports that are late on purpose, so that its window is full.
        case sloth
        /// A keyframe, always.
        case keyframes
    }

    private static let lan = Weather(delay: .milliseconds(1))
    private static let seconds = 3

    /// One that tells the truth, and one whose own words are lost, and who says these instead, a thousand times a second.
    private func simulation(_ lie: Lie, seed: UInt64) -> Simulation {
        var simulation = Simulation(seed: seed)
        simulation.source.frameBytes = 12_000
        simulation.source.keyframeBytes = 60_000
        let remembered = [DeviceKey.made(1): "honest", DeviceKey.made(2): "liar"]
        simulation.startHost(acceptance: .none, trust: HostTrust(own: .host, remembered: remembered, code: .none))
        simulation.join(Self.lan)
        simulation.join(Self.lan)
        simulation.drive(for: .seconds(2))
        simulation.setWeather(1, Self.lan, back: Weather(isMuted: true))
        return simulation
    }

    private func say(_ lie: Lie, _ random: inout SeededGenerator, in simulation: Simulation) -> Feedback {
        let newest =
            simulation.host?.stream.layers[simulation.host?.senders.all.last?.layer ?? 0].newest ?? SequenceNumber(0)
        let lane = UInt8(simulation.host?.senders.all.last?.layer ?? 0)
        let back = { (frames: Int) in SequenceNumber(newest.value &- UInt32(frames)) }
        func report(_ received: UInt16, _ arrivals: Range<Int>, time: MediaTime, lost: Double = 0) -> Feedback.Report {
            let expected = UInt32(simulation.now.nanoseconds / 1_000_000)
            return Feedback.Report(
                time: time, expected: expected, missed: UInt32(Double(expected) * lost),
                arrivals: arrivals.map {
                    Feedback.Arrival(
                        frame: back($0), received: received, highest: received - 1, firstAge: 1, lastAge: 1)
                })
        }
        let everything = (0..<3).map { _ in
            Feedback.Missing(frame: back(Int.random(in: 0..<24, using: &random)), parts: [0..<8191])
        }
        switch lie {
        case .nonsense:
            let arrivals = (0..<20).map { _ in
                Feedback.Arrival(
                    frame: SequenceNumber(UInt32(truncatingIfNeeded: random.next())),
                    received: UInt16.random(in: 1 ... .max, using: &random),
                    highest: UInt16.random(in: 0 ... .max, using: &random), firstAge: .max,
                    lastAge: UInt32(truncatingIfNeeded: random.next()))
            }
            let near = (0..<10).map {
                Feedback.Arrival(
                    frame: back($0), received: UInt16.random(in: 1...12, using: &random),
                    highest: UInt16.random(in: 0...12, using: &random),
                    firstAge: .max, lastAge: UInt32(truncatingIfNeeded: random.next()))
            }
            return Feedback(
                lane: random.chance(0.9) ? lane : 7,
                missing: [Feedback.Missing(frame: back(3), parts: [65_000..<130_000, 0..<1])],
                report: Feedback.Report(
                    time: MediaTime(nanoseconds: Int64.random(in: 0 ... .max, using: &random)),
                    expected: UInt32(truncatingIfNeeded: random.next()),
                    missed: UInt32(truncatingIfNeeded: random.next()), arrivals: random.chance(0.5) ? arrivals : near,
                    again: Feedback.Again(frame: back(random.chance(0.5) ? 1 : 1 << 20), part: .max)))
        case .flattery: return Feedback(lane: lane, report: report(11, 0..<20, time: simulation.now))
        case .poverty: return Feedback(lane: lane, report: report(1, 0..<1, time: simulation.now, lost: 1))
        case .greed: return Feedback(lane: lane, missing: everything, report: report(11, 0..<3, time: simulation.now))
        case .greedOnANarrowPath:
            // Each later than the one before.
            let time = simulation.now + (simulation.now - .at(2)) / 4
            return Feedback(lane: lane, missing: everything, report: report(2, 0..<1, time: time))
        case .sloth:
            let isTime = simulation.now.nanoseconds / 1_000_000 % 290 == 0
            return isTime ? Feedback(lane: lane, report: report(11, 1..<3, time: simulation.now)) : Feedback()
        case .keyframes:
            return Feedback(lane: lane, keyframeAfter: newest, report: report(11, 0..<3, time: simulation.now))
        }
    }

    @Test(arguments: Lie.allCases) func aLiarHarmsNobody(lie: Lie) throws {
        var simulation = simulation(lie, seed: 3)
        var random = SeededGenerator(seed: 17)
        let from = (simulation.viewers[1].sent.bytes, simulation.now)
        for millisecond in 0..<Self.seconds * 1000 {
            let liar = simulation.viewers[1]
            if let port = liar.localPort, let sealer = liar.session.sealing?.hellos {
                let address = NetworkAddress(ip: liar.address, port: port)
                let feedback = say(lie, &random, in: simulation)
                if !feedback.isEmpty {
                    simulation.datagram(try sealer.seal(.feedback, feedback.plaintext), from: address)
                }
                if millisecond % 1000 == 0 {
                    simulation.datagram(
                        try sealer.seal(.hello, SealedHello(time: simulation.now).plaintext), from: address)
                }
            }
            simulation.drive(for: .milliseconds(1))
        }
        let (honest, end) = (simulation.viewers[0], simulation.now)
        let host = try #require(simulation.host)
        // The honest one gets all there is.
        #expect(host.senders.all.first?.layer == SimulcastLayer.full)
        #expect(honest.decoder.errors.isEmpty, "\(honest.decoder.errors.prefix(3))")
        let shown = honest.frames.filter { $0.time > end - .seconds(1) }
        #expect(shown.count >= 29 && honest.longestPause(from: end - .seconds(1), to: end) < .milliseconds(50))
        #expect(shown.compactMap(\.age).allSatisfy { $0 < .milliseconds(20) })
        #expect(host.stream.layers[SimulcastLayer.full].demand == StreamDemand(isWatched: true))
        // Until it is known for what it is, it may hold the others up, but not for long.
        #expect(honest.longestPause(from: from.1, to: end) < .seconds(1))
        // What it is sent is at most its path's rate in repairs, and the frames.
        let rate = Double(simulation.viewers[1].sent.bytes - from.0) * 8 / (end - from.1).inSeconds
        #expect(rate < 30e6 + 6e6, "\(Int(rate / 1000)) kbit/s")
        #expect(host.statistics.keyframes <= UInt64(1 + 5 * Self.seconds + 1))
    }
}
