import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// What is heard over the laboratory's networks: 2 minutes of sound on each, from the first packet on.
@Suite struct SoundNetworkTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var conditions: SoundNetworkConditions
        /// The share of the time that may be concealed, in percent, after the first 3 s.
        var mostConcealed: Double
        /// The longest gap in milliseconds.
        var longestGap: Double
        /// How long packets wait on average at the end, in milliseconds.
        var buffer: ClosedRange<Double>
        var testDescription: String { name }
    }

    static let rows = [
        Row(
            name: "quiet", conditions: SoundNetworkConditions(delay: 0.0002, jitter: 0.0003, hold: 0),
            mostConcealed: 0, longestGap: 0, buffer: 3...5),
        Row(
            name: "1 %", conditions: SoundNetworkConditions(delay: 0.005, loss: 0.01, repeats: 1),
            mostConcealed: 0.05, longestGap: 20, buffer: 10...16),
        Row(
            name: "1 %, retransmission",
            conditions: SoundNetworkConditions(delay: 0.005, loss: 0.01, repeats: 1, retransmits: true),
            mostConcealed: 0.05, longestGap: 20, buffer: 10...20),
        // Two losses in a row are 0.25 %: without retransmission nothing can be done about them.
        Row(
            name: "5 %", conditions: SoundNetworkConditions(delay: 0.005, loss: 0.05, repeats: 1),
            mostConcealed: 0.35, longestGap: 30, buffer: 10...18),
        Row(
            name: "5 %, retransmission",
            conditions: SoundNetworkConditions(delay: 0.005, loss: 0.05, repeats: 1, retransmits: true),
            mostConcealed: 0.2, longestGap: 20, buffer: 12...45),
        // Every third datagram is sound, as beside a moving picture: bursts of 8 take 2.7 packets. The repeat brings back the
        // last one of them, a retransmission the others.
        Row(
            name: "10 % in bursts of 8, every third datagram",
            conditions: SoundNetworkConditions(
                delay: 0.02, loss: 0.1, burst: 8, datagramsPerPacket: 3, repeats: 1, retransmits: true),
            mostConcealed: 2, longestGap: 200, buffer: 60...170),
        Row(
            name: "10 % in bursts of 8, every other datagram",
            conditions: SoundNetworkConditions(
                delay: 0.02, loss: 0.1, burst: 8, datagramsPerPacket: 2, repeats: 1, retransmits: true),
            mostConcealed: 2.5, longestGap: 250, buffer: 60...190),
        Row(
            name: "10 % in bursts of 8, every third datagram, with the 3 packets before it",
            conditions: SoundNetworkConditions(
                delay: 0.02, loss: 0.1, burst: 8, datagramsPerPacket: 3, repeats: 3),
            mostConcealed: 3.5, longestGap: 250, buffer: 20...70),
        Row(
            name: "jitter of 30 ms",
            conditions: SoundNetworkConditions(delay: 0.001, jitter: 0.03, reorder: 0.02),
            mostConcealed: 0.5, longestGap: 20, buffer: 15...32),
    ]

    @Test(arguments: rows, 1...2)
    func soundIsHeard(_ row: Row, seed: Int) {
        var simulation = SoundSimulation(row.conditions, seed: UInt64(seed))
        simulation.measuresFrom = 3
        simulation.run(for: 123)
        let concealed = 100 * simulation.concealed / (simulation.concealed + Double(simulation.decoded))
        let statistics = simulation.buffer.statistics
        let buffer = statistics.buffer.inMilliseconds
        let facts = "\(row.name): \(concealed) %, gap \(simulation.longestGap), buffer \(buffer), \(statistics)"
        #expect(concealed <= row.mostConcealed, "\(facts)")
        #expect(simulation.longestGap * 1000 <= row.longestGap + 0.01, "\(facts)")
        #expect(row.buffer.contains(buffer), "\(facts)")
        // Everything is accounted for, but for what waits. Late packets may have been played.
        let known = statistics.played + statistics.lost + statistics.dropped
        #expect(known < 12_300 && known + statistics.late > 12_240, "\(facts)")
        #expect(
            abs(statistics.concealedPackets - simulation.missing) < 20 + simulation.missing / 8, "\(facts)")
    }
}
