import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A class behind one access point: all viewers share one queue.
struct ClassTests {
    private static func simulation(_ rate: Double, seed: Int) -> Simulation {
        var simulation = Simulation(seed: UInt64(seed))
        // 2.9 Mbit/s.
        simulation.source = Simulation.Source(framesPerSecond: 30, frameBytes: 12_000, keyframeBytes: 40_000)
        simulation.media.conditions = LinkConditions(
            delay: .milliseconds(1), bitsPerSecond: rate, queueBytes: Int(rate / 8 * 0.05) + 32_000)
        let remembered = (1...24).map { (DeviceKey.made(UInt8($0)), "viewer \($0)") }
        simulation.startHost(
            trust: HostTrust(own: .host, remembered: Dictionary(uniqueKeysWithValues: remembered), code: .none))
        return simulation
    }

    private struct Got {
        /// Frames a second, and bits a second sent, of each viewer.
        var frames: [Double]
        var bits: [Double]
    }

    /// What each viewer gets in the next seconds.
    private static func measure(_ simulation: inout Simulation, seconds: Int) -> Got {
        let begin = simulation.now
        let before = simulation.viewers.map(\.sent.bytes)
        simulation.drive(for: .seconds(seconds))
        return Got(
            frames: simulation.viewers.map { viewer in
                Double(viewer.frames.count { $0.time > begin }) / Double(seconds)
            },
            bits: zip(simulation.viewers, before).map { Double(($0.sent.bytes - $1) * 8) / Double(seconds) })
    }

    @Test(arguments: [12e6, 18e6], 1...1) func allGetTheSame(rate: Double, seed: Int) {
        var simulation = Self.simulation(rate, seed: seed)
        for _ in 0..<12 {
            simulation.joinShared()
            simulation.drive(for: .milliseconds(100))
        }
        simulation.drive(for: .seconds(12))
        let got = Self.measure(&simulation, seconds: 5)
        // All get the same frames, as many as their share carries; what is sent includes retransmissions.
        #expect(Set(simulation.host?.broadcast.layers.places.map(\.layer) ?? []).count == 1)
        let (least, most) = (got.frames.min() ?? 0, got.frames.max() ?? 0)
        #expect(least >= 0.6 * most && least >= 20, "\(got.frames)")
        #expect(got.bits.reduce(0, +) >= 0.7 * rate)
        #expect(simulation.viewers.allSatisfy { $0.decoder.errors.isEmpty })
    }
}
