import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Several viewers on different paths: a slow path costs only its own viewer.
struct SeveralViewersTests {
    private static let lan = LinkConditions(delay: .milliseconds(1))
    private static let slow = LinkConditions(delay: .milliseconds(5), bitsPerSecond: 1_000_000, queueBytes: 30_000)

    /// A host with `count` version 2 viewers, each with its own link; they join one after the other.
    private func simulation(_ count: Int, seed: Int = 1, usesFullChroma: Bool = false) -> Simulation {
        var simulation = Simulation(seed: UInt64(seed))
        simulation.source.frameBytes = 16_000
        simulation.source.keyframeBytes = 80_000
        let devices = (1...8).map { DeviceKey.made(UInt8($0)) }
        let remembered = Dictionary(uniqueKeysWithValues: devices.map { ($0, "viewer") })
        simulation.startHost(
            acceptance: .all, trust: HostTrust(own: .host, remembered: remembered, code: .none),
            usesFullChroma: usesFullChroma)
        for _ in 0..<count { simulation.join(Self.lan) }
        return simulation
    }

    private func changes(of simulation: Simulation) -> [(time: MediaTime, isReduced: Bool)] {
        simulation.hostEvents.compactMap {
            if case .layerChanged(_, let isReduced) = $0.event { ($0.time, isReduced) } else { nil }
        }
    }

    @Test(arguments: 1...3) func aSlowViewerIsMovedToTheReducedLayerAndBack(seed: Int) throws {
        var simulation = simulation(2, seed: seed)
        simulation.drive(for: .seconds(1))
        let slow = simulation.join(Self.slow)
        simulation.drive(for: .seconds(7))
        // The viewer is moved within some seconds, and doesn't oscillate.
        let moved = changes(of: simulation)
        #expect(moved.map(\.isReduced) == [true])
        let move = try #require(moved.first?.time)
        #expect(move < .at(5))
        #expect(simulation.viewers[slow].frames.last?.layer == 1)
        let after = simulation.viewers[slow].frames.filter { $0.time > move + .seconds(1) }
        #expect(after.count > 60)
        #expect(after.allSatisfy { $0.layer == 1 && ($0.age ?? .zero) < .milliseconds(300) })
        // The reduced layer has the rate of the slow path.
        let reduced = simulation.demands.last { $0.layer == 1 }?.demand.bitRate
        #expect((600_000...1_000_000).contains(reduced ?? 0), "\(reduced ?? 0) bit/s")
        for viewer in simulation.viewers.prefix(2) {
            #expect(viewer.frames.allSatisfy { $0.layer == 0 })
            #expect(viewer.longestPause(from: move + .seconds(1), to: simulation.now) < .milliseconds(50))
        }
        // The viewers on fast paths get the full rate again.
        let full = simulation.demands.last { $0.layer == 0 }?.demand
        #expect(full == StreamDemand(isWatched: true, bitRate: nil, isHeld: false))

        simulation.setConditions(slow, Self.lan)
        simulation.drive(for: .seconds(9))
        #expect(changes(of: simulation).map(\.isReduced) == [true, false])
        #expect(simulation.viewers[slow].frames.last?.layer == 0)
        #expect(simulation.demands.last { $0.layer == 1 }?.demand.isWatched == false)
        for viewer in simulation.viewers {
            #expect(viewer.decoder.errors.isEmpty, "\(viewer.decoder.errors.prefix(3))")
            #expect(viewer.longestPause(from: simulation.now - .seconds(2), to: simulation.now) < .milliseconds(50))
        }
    }

    @Test func aSingleSlowViewerKeepsTheFullLayer() {
        var simulation = simulation(0)
        simulation.join(Self.slow)
        simulation.drive(for: .seconds(6))
        #expect(changes(of: simulation).isEmpty)
        #expect(simulation.viewers[0].frames.allSatisfy { $0.layer == 0 })
    }

    /// While the host records, one slow viewer gets a layer of its own, and the recording's layer is neither slowed down nor
    /// held.
    @Test(arguments: [400e3, 1e6], 1...3) func aSlowViewerLeavesTheRecordingAlone(rate: Double, seed: Int) throws {
        var simulation = simulation(0, seed: seed)
        simulation.handleAtHost(.fullLayerKept(true))
        simulation.join(LinkConditions(delay: .milliseconds(5), bitsPerSecond: rate, queueBytes: 30_000))
        simulation.drive(for: .seconds(20))
        for (_, demand, layer) in simulation.demands where layer == 0 && demand.isWatched {
            #expect(demand.bitRate == nil && !demand.isHeld && demand.eighths == StreamDemand.wholeSize)
        }
        #expect(changes(of: simulation).map(\.isReduced) == [true])
        let viewer = simulation.viewers[0]
        #expect(viewer.decoder.errors.isEmpty)
        #expect(viewer.frames.last?.layer == SimulcastLayer.reduced)
        #expect(viewer.longestPause(from: .at(4), to: simulation.now) < .milliseconds(400))
        let reduced = try #require(simulation.demands.last { $0.layer == 1 }?.demand.bitRate)
        #expect((0.5 * rate...1.1 * rate).contains(Double(reduced)))
        // When the recording has ended, nobody else watches the full layer.
        simulation.handleAtHost(.fullLayerKept(false))
        simulation.drive(for: .seconds(2))
        #expect(simulation.host?.broadcast.layers.places.map(\.layer) == [SimulcastLayer.full])
        #expect(simulation.demands.last { $0.layer == 0 }?.demand.bitRate != nil)
    }

    @Test(arguments: 1...3) func aFastViewerSharesTheRecordingsLayer(seed: Int) {
        var simulation = simulation(0, seed: seed)
        simulation.handleAtHost(.fullLayerKept(true))
        simulation.join(Self.lan)
        simulation.drive(for: .seconds(6))
        #expect(changes(of: simulation).isEmpty)
        #expect(simulation.viewers[0].frames.allSatisfy { $0.layer == 0 })
        #expect(!simulation.demands.contains { $0.layer == 1 && $0.demand.isWatched })
    }

    @Test(arguments: 1...3) func aVanishedViewerDoesNotHoldTheOthers(seed: Int) throws {
        var simulation = simulation(3, seed: seed)
        simulation.drive(for: .seconds(2))
        let cut = simulation.now
        simulation.setConditions(1, LinkConditions(isMuted: true), back: LinkConditions(isMuted: true))
        // Shorter than the time after which a viewer replaces its socket.
        simulation.drive(for: .seconds(3))
        let restored = simulation.now
        simulation.setConditions(1, Self.lan)
        simulation.drive(for: .seconds(2))
        for index in [0, 2] {
            let viewer = simulation.viewers[index]
            #expect(viewer.decoder.errors.isEmpty)
            // It takes a moment to tell silence from delay.
            #expect(viewer.longestPause(from: cut, to: cut + .seconds(1)) < .milliseconds(400))
            #expect(viewer.longestPause(from: cut + .seconds(1), to: simulation.now) < .milliseconds(50))
            let numbers = viewer.frames.map(\.number)
            #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 + 1 }, "every frame")
        }
        let back = try #require(simulation.viewers[1].frames.first { $0.time > restored })
        #expect(back.time - restored < .milliseconds(300) && back.isKeyframe)
        #expect(simulation.viewers[1].decoder.errors.isEmpty)
    }

    @Test func aJoinerCausesOneKeyframe() {
        var simulation = simulation(2)
        simulation.drive(for: .seconds(2))
        for count in 2...5 {
            #expect(simulation.host?.statistics.keyframes == UInt64(count - 1))
            simulation.join(Self.lan)
            simulation.drive(for: .seconds(1))
        }
        for viewer in simulation.viewers {
            #expect(viewer.decoder.errors.isEmpty)
            #expect(viewer.longestPause(from: viewer.frames[0].time, to: simulation.now) < .milliseconds(60))
            #expect(viewer.session.statistics.lost == 0 && viewer.session.statistics.keyframesRequested == 0)
        }
    }

    @Test func onlyViewersThatDecodeFullChromaGetIt() {
        var simulation = simulation(1, usesFullChroma: true)
        let plain = simulation.join(Self.lan, decodesFullChroma: false)
        simulation.addViewer(from: .v4(0x0A00_0063))
        let old = simulation.viewers.count - 1
        simulation.setConditions(old, Self.lan)
        simulation.drive(for: .seconds(4))
        for (index, viewer) in simulation.viewers.enumerated() {
            #expect(viewer.frames.count > 100)
            #expect(viewer.decoder.errors.isEmpty)
            // Version 1 has no layers on the wire: its frames count as layer 0.
            if index != old { #expect(viewer.frames.allSatisfy { $0.layer == (index == plain ? 1 : 0) }) }
        }
        let layers = simulation.host?.broadcast.layers.places.map(\.layer)
        #expect(layers == [0, 1, 1])
        #expect(simulation.demands.contains { $0.layer == 1 && $0.demand.isWatched })
        // The two other viewers begin in layer 1, so no change of layer is reported.
        #expect(changes(of: simulation).isEmpty)
        simulation.killViewer(plain)
        simulation.killViewer(old)
        simulation.drive(for: .seconds(25))
        #expect(simulation.demands.last { $0.layer == 1 }?.demand.isWatched == false)
    }
}
