import BeamMedia
import Testing

@testable import BeamSession
@testable import BeamWire

/// The pointer beside the frames, in virtual time over a seeded link: who is told, what a move costs, and what becomes
/// of places and looks that are lost.
struct PointerSimulationTests {
    private func simulation(
        takesPointer: [Bool] = [true], hasPointer: Bool = true, seed: UInt64 = 3, _ conditions: LinkConditions = lan
    ) -> Simulation {
        var simulation = Simulation(seed: seed)
        simulation.source.hasPointer = hasPointer
        simulation.source.isStill = true
        simulation.media.conditions = conditions
        simulation.mediaBack.conditions = conditions
        simulation.controlDelay = conditions.delay
        simulation.startHost(acceptance: .all)
        for (index, takes) in takesPointer.enumerated() { add(takes, UInt8(index + 1), to: &simulation) }
        return simulation
    }

    private func add(_ takesPointer: Bool, _ number: UInt8, to simulation: inout Simulation) {
        var configuration = ViewerSession.Configuration.secure(
            knows: true, device: .made(number), instance: UInt64(number))
        configuration.takesPointer = takesPointer
        simulation.addViewer(from: .v4(0x0A00_0001 + UInt32(number)), configuration: configuration)
    }

    private static let lan = LinkConditions(delay: .milliseconds(1))

    private func shown(_ look: PointerLook, _ x: Int, _ y: Int = 50) -> ScreenPointer {
        .shown(look, at: PixelPoint(x: x, y: y), in: PixelSize(width: 640, height: 360))
    }

    @Test func aMoveIsOneDatagramAtOnce() throws {
        var simulation = simulation()
        let look = try PointerTests.look(24, 24)
        simulation.drive(for: .seconds(2))
        #expect(simulation.demands.last { $0.layer == 0 }?.demand.hasOnlyPointerTakers == true)
        simulation.pass(shown(look, 1))
        simulation.drive(for: .milliseconds(5))
        #expect(simulation.viewer.pointers.last?.pointer == shown(look, 1))
        let (before, frames) = (simulation.bursts.count, simulation.viewer.frames.count)
        for x in 2...60 {
            let sent = simulation.now
            simulation.pass(shown(look, x))
            simulation.drive(for: .milliseconds(8))
            let last = try #require(simulation.viewer.pointers.last)
            #expect(last.pointer == shown(look, x) && last.time - sent == .milliseconds(1))
        }
        // No frame; and nothing else but a hello's answer, or the state that follows a last frame.
        #expect(simulation.viewer.frames.count == frames)
        let bursts = simulation.bursts[before...]
        #expect((59...63).contains(bursts.count), "\(bursts.count)")
        #expect(bursts.allSatisfy { $0.burst.range.count <= 100 })
        // The last one is sent twice more.
        let end = simulation.bursts.count
        simulation.drive(for: .milliseconds(150))
        let repeats = simulation.bursts[end...].filter { $0.burst.range.count == 50 }.map(\.time)
        #expect(repeats.count >= 2)
    }

    @Test(arguments: [(true, false), (false, true)])
    func nobodyElseIsTold(hasPointer: Bool, takesPointer: Bool) throws {
        var simulation = simulation(takesPointer: [takesPointer], hasPointer: hasPointer)
        simulation.drive(for: .seconds(1))
        #expect(simulation.demands.allSatisfy { !$0.demand.hasOnlyPointerTakers })
        simulation.pass(shown(try PointerTests.look(), 1))
        simulation.drive(for: .seconds(2))
        #expect(simulation.viewer.pointers.isEmpty && simulation.host?.statistics.pointers == 0)
    }

    /// The demand says when the pointer has to be in the pictures, and when no more.
    @Test func whoWatchesDecidesWhereThePointerIs() {
        var simulation = simulation()
        var isApart: Bool? { simulation.demands.last { $0.layer == 0 }?.demand.hasOnlyPointerTakers }
        simulation.drive(for: .seconds(1))
        #expect(isApart == true)
        add(false, 2, to: &simulation)
        simulation.drive(for: .seconds(1))
        #expect(isApart == false)
        simulation.handleAtViewer(1, .shutdown)
        simulation.drive(for: .seconds(1))
        #expect(isApart == true)
        // A recording of this layer.
        simulation.handleAtHost(.fullLayerKept(true))
        #expect(isApart == false)
        simulation.handleAtHost(.fullLayerKept(false))
        #expect(isApart == true)
        // Of the protocol's first version.
        simulation.addViewer(from: .v4(0x0A00_0009))
        simulation.drive(for: .seconds(1))
        #expect(isApart == false)
    }

    /// Whoever comes later is told, too, and asks for the look.
    @Test func aViewerThatComesIsTold() throws {
        var simulation = simulation()
        let look = try PointerTests.look(128, 128)
        simulation.drive(for: .seconds(1))
        simulation.pass(shown(look, 7))
        simulation.drive(for: .seconds(1))
        add(true, 2, to: &simulation)
        simulation.drive(for: .seconds(1))
        #expect(simulation.viewers[1].pointers.last?.pointer == shown(look, 7))
        // In a session that begins anew nothing is known at first.
        simulation.killHost()
        simulation.startHost(acceptance: .all)
        simulation.drive(for: .seconds(20))
        #expect(simulation.viewers[1].pointers.last?.pointer == .inPicture)
    }

    /// Motion, looks that change and rests, where a fifth of all datagrams is lost.
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func whatIsLostComes(seed: UInt64) throws {
        var conditions = LinkConditions(delay: .milliseconds(15), jitter: .milliseconds(4))
        conditions.loss = 0.2
        var simulation = simulation(seed: seed, conditions)
        simulation.drive(for: .seconds(3))
        let looks = try (0..<3).map { try PointerTests.look(48, 48, seed: $0) }
        for round in 0..<6 {
            for x in 0..<20 {
                simulation.pass(shown(looks[round % 3], 20 * round + x))
                simulation.drive(for: .milliseconds(8))
            }
            simulation.drive(for: .seconds(5))
            #expect(
                simulation.viewer.pointers.last?.pointer == shown(looks[round % 3], 20 * round + 19),
                "seed \(seed), round \(round)")
        }
        simulation.pass(.hidden)
        simulation.drive(for: .seconds(5))
        #expect(simulation.viewer.pointers.last?.pointer == .hidden)
        simulation.pass(.inPicture)
        simulation.drive(for: .seconds(5))
        #expect(simulation.viewer.pointers.last?.pointer == .inPicture)
    }

    /// Motion gives way to the pictures where the path is slow, but where it ends arrives.
    @Test func placesGiveWayOnASlowPath() throws {
        var conditions = Self.lan
        conditions.bitsPerSecond = 600_000
        var simulation = simulation(conditions)
        simulation.source.isStill = false
        simulation.drive(for: .seconds(6))
        let look = try PointerTests.look()
        let (before, frames) = (simulation.viewer.pointers.count, simulation.viewer.frames.count)
        for x in 0..<1000 {
            simulation.pass(shown(look, x))
            simulation.drive(for: .milliseconds(4))
        }
        simulation.drive(for: .seconds(1))
        #expect(simulation.viewer.pointers.count - before < 500)
        #expect(simulation.viewer.frames.count - frames > 30)
        #expect(simulation.viewer.pointers.last?.pointer == shown(look, 999))
    }

    /// A viewer that asks for looks without end, for those that there are and others, gets little.
    @Test func aViewerThatAsksForLooksForEverGetsLittle() throws {
        var simulation = Simulation(seed: 5)
        simulation.source.isStill = true
        simulation.source.hasPointer = true
        let remembered = [DeviceKey.made(1): "honest", DeviceKey.made(2): "liar"]
        simulation.startHost(acceptance: .none, trust: HostTrust(own: .host, remembered: remembered, code: .none))
        for number in [1, 2] as [UInt8] { add(true, number, to: &simulation) }
        simulation.drive(for: .seconds(2))
        let look = try PointerTests.look(128, 128)
        simulation.pass(shown(look, 3))
        simulation.drive(for: .seconds(1))
        let before = simulation.viewers.map(\.sent.bytes)
        for step in 0..<1000 {
            var feedback = Feedback()
            feedback.look = step % 3 == 0 ? UInt32(step) : 1
            try simulation.liarSays(feedback, hello: false)
            simulation.drive(for: .milliseconds(5))
        }
        let bytes = zip(simulation.viewers, before).map { $0.sent.bytes - $1 }
        // 1 Mbit/s for 5 s, and a burst.
        #expect(bytes[1] > 100_000 && bytes[1] < 5 * 125_000 + 120_000, "\(bytes)")
        #expect(bytes[0] < 5000, "\(bytes)")
        #expect(simulation.viewers[0].pointers.last?.pointer == shown(look, 3))
    }
}
