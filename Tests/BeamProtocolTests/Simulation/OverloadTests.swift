import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// A host whose machine can't send everything to its viewers.
struct OverloadTests {
    private static let lan = LinkConditions(delay: .milliseconds(1))
    private static let words = "This machine can't serve more than the 12 viewers that it has at the moment"

    private static func simulation(viewers: Int = 12) -> Simulation {
        var simulation = Simulation()
        // 2.9 Mbit/s.
        simulation.source = Simulation.Source(framesPerSecond: 30, frameBytes: 12_000, keyframeBytes: 40_000)
        let remembered = (1...24).map { (DeviceKey.made(UInt8($0)), "viewer \($0)") }
        simulation.startHost(
            trust: HostTrust(own: .host, remembered: Dictionary(uniqueKeysWithValues: remembered), code: .none),
            bitRate: 4_000_000)
        for _ in 0..<viewers { simulation.join(lan) }
        simulation.drive(for: .seconds(2))
        return simulation
    }

    /// Time passes for a machine that sends `capacity` bits a second.
    private static func run(_ simulation: inout Simulation, seconds: Double, capacity: Double) {
        for _ in 0..<Int(seconds * 4) {
            let before = simulation.host?.statistics.bytes ?? 0
            simulation.drive(for: .milliseconds(250))
            let sent = Double((simulation.host?.statistics.bytes ?? 0) - before) * 8 * 4
            simulation.handleAtHost(
                .machineLoad(
                    MachineLoad(
                        lateness: sent > capacity ? .milliseconds(120) : .milliseconds(1), busy: sent / capacity)))
        }
    }

    private static func stages(_ simulation: Simulation) -> [Shedding] {
        simulation.hostEvents.compactMap { if case .overloaded(let sheds, _) = $0.event { sheds } else { nil } }
    }

    /// Frames of each viewer in the next two seconds.
    private static func frames(_ simulation: inout Simulation, capacity: Double) -> [Int] {
        let begin = simulation.now
        run(&simulation, seconds: 2, capacity: capacity)
        return simulation.viewers.prefix(12).map { viewer in viewer.frames.count { $0.time > begin } }
    }

    @Test func aLowerRateForAllIsEnoughIfItCan() throws {
        var simulation = Self.simulation()
        Self.run(&simulation, seconds: 8, capacity: 20e6)
        #expect(Self.stages(simulation) == [.rate])
        let rate = try #require(simulation.demands.last { $0.layer == 0 }?.demand.bitRate)
        #expect((1_000_000...1_600_000).contains(rate), "\(rate)")
        let frames = Self.frames(&simulation, capacity: 20e6)
        #expect(frames.allSatisfy { $0 >= 58 }, "\(frames)")
        // Whoever comes gets a part of it.
        simulation.join(Self.lan)
        Self.run(&simulation, seconds: 3, capacity: 20e6)
        #expect(simulation.viewers[12].frames.count > 60)
        #expect((simulation.demands.last { $0.layer == 0 }?.demand.bitRate ?? .max) < rate)

        // Whoever leaves makes room at once.
        for index in 4..<13 { simulation.killViewer(index) }
        Self.run(&simulation, seconds: 18, capacity: 20e6)
        #expect(simulation.demands.last { $0.layer == 0 }?.demand.bitRate == nil)
        Self.run(&simulation, seconds: 10, capacity: 20e6)
        #expect(Self.stages(simulation) == [.rate, .nothing])
        #expect(simulation.viewers.allSatisfy { $0.decoder.errors.isEmpty })
    }

    @Test func thenFewerFramesThenNobodyElseUntilThereIsRoom() throws {
        var simulation = Self.simulation()
        Self.run(&simulation, seconds: 12, capacity: 1e6)
        #expect(Self.stages(simulation) == [.rate, .frames, .places])
        let demand = try #require(simulation.demands.last { $0.layer == 0 }?.demand)
        #expect(demand.bitRate == 500_000 && demand.frameDivisor == 3)
        let frames = Self.frames(&simulation, capacity: 1e6)
        #expect(frames.allSatisfy { (18...22).contains($0) }, "nobody's stream ends: \(frames)")

        // A newcomer is told why, and tries again by itself.
        simulation.join(Self.lan)
        Self.run(&simulation, seconds: 3, capacity: 1e6)
        #expect(simulation.host?.statistics.viewers == 12 && simulation.viewers[12].frames.isEmpty)
        let refused = simulation.hostEvents.contains {
            if case .viewerRefused(_, Self.words) = $0.event { true } else { false }
        }
        let heard = simulation.viewers[12].events.contains {
            if case .retrying(_, let reason) = $0.event { reason.contains(Self.words) } else { false }
        }
        #expect(refused && heard)
        // Who was here comes back.
        simulation.cutControl()
        simulation.drive(for: .seconds(1))
        simulation.restoreControl()
        Self.run(&simulation, seconds: 4, capacity: 1e6)
        #expect(simulation.host?.guests.count == 12)

        Self.run(&simulation, seconds: 25, capacity: 1e9)
        #expect(Self.stages(simulation) == [.rate, .frames, .places, .frames, .rate, .nothing])
        let last = try #require(simulation.demands.last { $0.layer == 0 }?.demand)
        #expect(last.bitRate == nil && last.frameDivisor == 1)
        #expect(simulation.host?.statistics.viewers == 13 && !simulation.viewers[12].frames.isEmpty)
    }

    /// What is recorded stays whole, whatever the viewers cost.
    @Test func aRecordingKeepsItsRateAndFrames() throws {
        var simulation = Self.simulation()
        simulation.handleAtHost(.fullLayerKept(true))
        Self.run(&simulation, seconds: 12, capacity: 1e6)
        let demand = try #require(simulation.demands.last { $0.layer == 0 }?.demand)
        #expect(demand.bitRate == nil && demand.frameDivisor == 1)
        #expect(Self.stages(simulation).last == .places)
    }

    @Test func aVersion1ViewerIsRefusedWithTheSameWords() {
        var host = HostBench()
        host.introduce(0)
        host.hello(40_000)
        for _ in 0..<40 {
            host.advance(by: .milliseconds(250))
            host.handle(.machineLoad(MachineLoad(lateness: .seconds(1), busy: 1)))
        }
        host.introduce(1, from: .v4(0xC000_0208))
        #expect(host.take(1).contains { $0.contains("can't serve more than the 1 viewer that it has at the moment") })
        #expect(host.isClosed(1) && !host.isClosed(0))
        // Nobody watches any more, so nothing can be too much.
        host.handle(.connectionClosed(ConnectionID(0)))
        host.advance(by: .seconds(21))
        host.introduce(2, from: .v4(0xC000_0208))
        #expect(!host.isClosed(2))
    }
}
