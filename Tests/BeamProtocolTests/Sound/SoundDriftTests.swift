import BeamMedia
import Foundation
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Sound clocks that differ: the delay stays where it is, without a step. `BEAMROOM_SOUND_HOURS=24` runs the whole day.
@Suite struct SoundDriftTests {
    private static let hours = ProcessInfo.processInfo.environment["BEAMROOM_SOUND_HOURS"].flatMap(Double.init) ?? 0.2

    struct Clocks: Sendable, CustomTestStringConvertible {
        var name: String
        var host: @Sendable (Double) -> Double
        var device: Double
        var clock = 0.0
        /// The drift at a time, in ppm.
        var expected: @Sendable (Double) -> Double
        var testDescription: String { name }
    }

    static let clocks = [
        Clocks(name: "+200 ppm", host: { _ in 120e-6 }, device: -80e-6, expected: { _ in 200 }),
        Clocks(name: "-200 ppm", host: { _ in -120e-6 }, device: 80e-6, clock: 20e-6, expected: { _ in -200 }),
        Clocks(
            name: "wandering by 60 ppm around 30 in 40 minutes", host: { 60e-6 * sin($0 / 382) }, device: -30e-6,
            expected: { 30 + 60 * sin($0 / 382) }),
    ]

    @Test(arguments: clocks)
    func driftIsFollowedWithoutSteps(_ clocks: Clocks) {
        var simulation = SoundSimulation(SoundNetworkConditions(delay: 0.0002, jitter: 0.0005, hold: 0))
        simulation.hostDrift = clocks.host
        simulation.deviceDrift = clocks.device
        simulation.clockDrift = clocks.clock
        let track = Track()
        simulation.onHeard = { track.add($0) }
        let settled = 120.0
        simulation.run(for: settled)
        var ratios = (least: 2.0, most: 0.0)
        var (first, last, worstDrift) = (0.0, 0.0, 0.0)
        let end = max(Self.hours * 3600, 2 * settled)
        track.restart()
        while simulation.now < end {
            simulation.run(for: 1)
            let wobble = simulation.buffer.ratio - 1 - clocks.expected(simulation.now - 10) * 1e-6
            ratios = (min(ratios.least, wobble), max(ratios.most, wobble))
            worstDrift = max(
                worstDrift, abs(simulation.buffer.statistics.driftPPM - clocks.expected(simulation.now - 10)))
            if Int(simulation.now) % 60 == 0 {
                last = track.mean
                if first == 0 { first = last }
                track.restartMean()
            }
        }
        let facts = """
            \(clocks.name): delay \(first * 1000) to \(last * 1000) ms, between \(track.least * 1000) and \
            \(track.most * 1000), step \(track.largestStep * 1e6) µs, ratio off by \(ratios.least * 1e6) to \
            \(ratios.most * 1e6) ppm, drift off by \(worstDrift)
            """
        if Self.hours >= 1 { print(facts) }
        #expect(abs(last - first) < 0.001, "\(facts)")
        #expect(track.most - track.least < 0.0015, "\(facts)")
        // A ratio that is off by 3000 ppm moves a packet by 30 µs; a sample is 21 µs.
        #expect(track.largestStep < 10e-6, "\(facts)")
        // Less than 0.2 cents; 5 are heard.
        #expect(ratios.most < 110e-6 && ratios.least > -110e-6, "\(facts)")
        #expect(worstDrift < 25, "\(facts)")
        #expect(simulation.concealed == 0 && simulation.resets == 1)
        #expect(simulation.buffer.statistics.lost == 0)
    }

    /// Devices that ask for four callbacks at once, and late: the ratio's changes stay far below what is heard.
    @Test func unevenCallbacksDontWarpTheSound() {
        var simulation = SoundSimulation(SoundNetworkConditions(delay: 0.001, jitter: 0.01))
        simulation.callbackGroup = 4
        simulation.callbackJitter = 0.004
        simulation.deviceDrift = 100e-6
        simulation.run(for: 60)
        var ratios = (least: 2.0, most: 0.0)
        for _ in 0..<600 {
            simulation.run(for: 0.1)
            ratios = (min(ratios.least, simulation.buffer.ratio), max(ratios.most, simulation.buffer.ratio))
        }
        #expect(ratios.most - ratios.least < 300e-6, "\(ratios)")
        #expect(abs(simulation.buffer.statistics.driftPPM + 100) < 30)
    }

    private final class Track {
        private(set) var largestStep = 0.0
        private(set) var least = 1.0
        private(set) var most = 0.0
        private var last: Double?
        private var sum = 0.0
        private var count = 0.0
        var mean: Double { sum / max(1, count) }

        func add(_ heard: SoundSimulation.Heard) {
            if let last { largestStep = max(largestStep, abs(heard.latency - last)) }
            last = heard.latency
            least = min(least, heard.latency)
            most = max(most, heard.latency)
            sum += heard.latency
            count += 1
        }

        func restartMean() { (sum, count) = (0, 0) }

        func restart() { (sum, count, least, most, largestStep) = (0, 0, 1, 0, 0) }
    }
}
