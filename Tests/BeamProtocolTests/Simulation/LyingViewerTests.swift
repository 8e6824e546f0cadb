import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// An admitted viewer that lies, to get more than its share or to disturb the others.
///
/// What limits it: it has a sender of its own. The host reads at most 400 of its datagrams a second; its
/// retransmissions count against the rate of its own path, which never exceeds the options' rate; keyframes have a
/// budget (`ViewerRateLimits`). A viewer that exceeds what any honest one needs is evicted.
struct LyingViewerTests {
    enum Lie: CaseIterable {
        /// Impossible times, counts and numbers.
        case impossibleNumbers
        /// Everything has arrived at once, without any transit time.
        case everythingArrived
        /// Nothing has ever arrived.
        case nothingArrived
        /// All parts of all frames are missing, again and again.
        case everythingMissing
        /// The same, with reports of a narrow path.
        case everythingMissingOnANarrowPath
        /// Reports come late on purpose, so that the congestion window is full.
        case lateReports
        /// A keyframe is needed all the time.
        case keyframes
        /// Frames have arrived that the host hasn't made yet.
        case futureArrivals
    }

    private static let seconds = 3

    private static let source = Simulation.Source(frameBytes: 12_000, keyframeBytes: 60_000)

    private func say(_ lie: Lie, _ random: inout SeededGenerator, in simulation: Simulation) -> Feedback {
        let newest =
            simulation.host?.broadcast.stream.layers[simulation.host?.broadcast.layers.places.last?.layer ?? 0].newest
            ?? SequenceNumber(0)
        let layer = UInt8(simulation.host?.broadcast.layers.places.last?.layer ?? 0)
        let back = { (frames: Int) in SequenceNumber(newest.value &- UInt32(truncatingIfNeeded: frames)) }
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
        case .impossibleNumbers:
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
                layer: random.chance(0.9) ? layer : 7,
                missing: [Feedback.Missing(frame: back(3), parts: [65_000..<130_000, 0..<1])],
                report: Feedback.Report(
                    time: MediaTime(nanoseconds: Int64.random(in: 0 ... .max, using: &random)),
                    expected: UInt32(truncatingIfNeeded: random.next()),
                    missed: UInt32(truncatingIfNeeded: random.next()), arrivals: random.chance(0.5) ? arrivals : near,
                    recovery: Feedback.Recovery(frame: back(random.chance(0.5) ? 1 : 1 << 20), part: .max)))
        case .everythingArrived: return Feedback(layer: layer, report: report(11, 0..<20, time: simulation.now))
        case .nothingArrived: return Feedback(layer: layer, report: report(1, 0..<1, time: simulation.now, lost: 1))
        case .everythingMissing:
            return Feedback(layer: layer, missing: everything, report: report(11, 0..<3, time: simulation.now))
        case .everythingMissingOnANarrowPath:
            // Each report's clock runs ahead by a quarter, as if the transit time grew.
            let time = simulation.now + (simulation.now - .at(2)) / 4
            return Feedback(layer: layer, missing: everything, report: report(2, 0..<1, time: time))
        case .lateReports:
            let isTime = simulation.now.nanoseconds / 1_000_000 % 290 == 0
            return isTime ? Feedback(layer: layer, report: report(11, 1..<3, time: simulation.now)) : Feedback()
        case .futureArrivals: return Feedback(layer: layer, report: report(11, -20 ..< -1, time: simulation.now))
        case .keyframes:
            return Feedback(layer: layer, keyframeAfter: newest, report: report(11, 0..<3, time: simulation.now))
        }
    }

    @Test(arguments: Lie.allCases) func aLyingViewerDoesNotDisturbOthers(lie: Lie) throws {
        var simulation = Simulation.honestAndLiar(seed: 3, Self.source)
        var random = SeededGenerator(seed: 17)
        let from = (simulation.viewers[1].sent.bytes, simulation.now)
        for millisecond in 0..<Self.seconds * 1000 {
            try simulation.liarSays(say(lie, &random, in: simulation), hello: millisecond % 1000 == 0)
            simulation.drive(for: .milliseconds(1))
        }
        let (honest, end) = (simulation.viewers[0], simulation.now)
        let host = try #require(simulation.host)
        // A liar that went too far is evicted; it and the person at the host learn the reason.
        let left = simulation.hostEvents.compactMap { entry -> String? in
            if case .viewerLeft(_, _, let reason) = entry.event { reason } else { nil }
        }
        let told = simulation.viewers[1].events.compactMap { entry -> String? in
            if case .refused(let refusal) = entry.event { refusal.reason } else { nil }
        }
        let reason: String? =
            switch lie {
            case .futureArrivals: "it acknowledged datagrams that were never sent"
            case .everythingMissing: "it requested too many retransmissions"
            case .keyframes: "it sent too many keyframe requests"
            case .impossibleNumbers, .everythingArrived, .nothingArrived, .everythingMissingOnANarrowPath, .lateReports:
                nil
            }
        if let reason {
            #expect(left.count == 1 && left[0].contains(reason), "\(left)")
            #expect(told.count == 1 && told[0].contains(reason), "\(told)")
        } else {
            #expect(left.isEmpty && told.isEmpty, "\(left)")
        }
        // The honest viewer gets all frames at full quality.
        #expect(host.broadcast.layers.places.first?.layer == SimulcastLayer.full)
        #expect(honest.decoder.errors.isEmpty, "\(honest.decoder.errors.prefix(3))")
        let shown = honest.frames.filter { $0.time > end - .seconds(1) }
        #expect(shown.count >= 29 && honest.longestPause(from: end - .seconds(1), to: end) < .milliseconds(50))
        #expect(shown.compactMap(\.age).allSatisfy { $0 < .milliseconds(20) })
        #expect(host.broadcast.stream.layers[SimulcastLayer.full].demand == StreamDemand(isWatched: true))
        #expect(honest.longestPause(from: from.1, to: end) < .milliseconds(80))
        // The liar gets at most the frames, and retransmissions at its path's rate.
        let rate = Double(simulation.viewers[1].sent.bytes - from.0) * 8 / (end - from.1).inSeconds
        #expect(rate < 30e6 + 6e6, "\(Int(rate / 1000)) kbit/s")
        #expect(host.statistics.keyframes <= UInt64(1 + 5 * Self.seconds + 1))
    }
}
