import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Viewers that don't take the full picture get the reduced layer in a size that they take.
struct PictureBoundsTests {
    private static let lan = LinkConditions(delay: .milliseconds(1))
    private static let wide = PixelSize(width: 5120, height: 1440)
    private static let tiny = PictureBounds(sides: PixelSize(width: 1, height: 1))

    private func simulation(_ picture: PixelSize? = wide) -> Simulation {
        var simulation = Simulation(seed: 1)
        let remembered = Dictionary(uniqueKeysWithValues: (1...8).map { (DeviceKey.made(UInt8($0)), "viewer") })
        simulation.startHost(acceptance: .none, trust: HostTrust(own: .host, remembered: remembered, code: .none))
        if let picture { simulation.handleAtHost(.pictureSize(picture)) }
        return simulation
    }

    private func eighths(_ simulation: Simulation) -> Int? {
        simulation.demands.last { $0.layer == 1 && $0.demand.isWatched }?.demand.eighths
    }

    private func limits(_ simulation: Simulation) -> [PictureLimit?] {
        simulation.hostEvents.compactMap { entry -> PictureLimit?? in
            guard case .pictureLimited(_, let limit) = entry.event else { return nil }
            return .some(limit)
        }
    }

    private func told(_ simulation: Simulation, _ viewer: Int) -> [PixelSize?] {
        simulation.viewers[viewer].events.compactMap { entry -> PixelSize?? in
            guard case .pictureLimited(let full) = entry.event else { return nil }
            return .some(full)
        }
    }

    @Test(
        "The largest part that fits",
        arguments: [
            (5120, 1440, 8), (5760, 1080, 8), (7680, 2160, 8), (4096, 4096, 8), (8192, 2048, 8), (8192, 2049, 7),
            (8194, 100, 7), (7680, 4320, 5), (11520, 2160, 5), (65535, 65535, 1), (65535, 2, 1),
        ])
    func standard(width: Int, height: Int, eighths: Int) {
        let full = PixelSize(width: width, height: height)
        #expect(PictureBounds.standard.eighths(of: full) == eighths)
        #expect(PictureBounds.unstated.eighths(of: Self.wide) == 6)
        #expect(Self.tiny.eighths(of: full) == 1)
    }

    /// A program from before says nothing, and takes 4096 × 4096.
    @Test func anOlderViewerGetsWhatItTakes() {
        var simulation = simulation()
        simulation.join(Self.lan, bounds: nil)
        simulation.join(Self.lan)
        simulation.drive(for: .seconds(2))
        #expect(simulation.viewers[0].frames.allSatisfy { $0.layer == 1 } && !simulation.viewers[0].frames.isEmpty)
        #expect(simulation.viewers[1].frames.allSatisfy { $0.layer == 0 } && !simulation.viewers[1].frames.isEmpty)
        #expect(eighths(simulation) == 6)
        #expect(limits(simulation).map { $0?.sent } == [PixelSize(width: 3840, height: 1080)])
        #expect(told(simulation, 0) == [] && told(simulation, 1) == [])
    }

    @Test func bothEndsAreToldAndAgainWhenItChanges() {
        var simulation = simulation(nil)
        simulation.join(Self.lan, bounds: PictureBounds(sides: PixelSize(width: 2560, height: 1440)))
        simulation.handleAtHost(.pictureSize(PixelSize(width: 1920, height: 1080)))
        simulation.drive(for: .seconds(1))
        #expect(simulation.viewers[0].frames.last?.layer == 0 && told(simulation, 0) == [])
        simulation.handleAtHost(.pictureSize(Self.wide))
        simulation.drive(for: .seconds(1))
        #expect(simulation.viewers[0].frames.last?.layer == 1 && eighths(simulation) == 4)
        #expect(told(simulation, 0) == [Self.wide])
        // A path that is fast doesn't bring it back, and nor does a window that is large.
        simulation.wish(0) { $0.shownSize = Self.wide }
        simulation.drive(for: .seconds(4))
        #expect(simulation.viewers[0].frames.last?.layer == 1 && eighths(simulation) == 4)
        // It may be smaller yet.
        simulation.wish(0) { $0.shownSize = PixelSize(width: 640, height: 180) }
        simulation.drive(for: .seconds(2))
        #expect(eighths(simulation) == 1)
        // A new connection is told again; the person at the host isn't.
        simulation.cutControl()
        simulation.drive(for: .milliseconds(100))
        simulation.restoreControl()
        simulation.drive(for: .seconds(3))
        simulation.handleAtHost(.pictureSize(PixelSize(width: 1920, height: 1080)))
        simulation.wish(0) { $0.shownSize = nil }
        simulation.drive(for: .seconds(2))
        #expect(simulation.viewers[0].frames.last?.layer == 0)
        #expect(told(simulation, 0) == [Self.wide, nil])
        #expect(limits(simulation).map { $0?.full } == [Self.wide, nil])
    }

    /// Whoever claims to take next to nothing costs others in its layer no more than the size of a usual screen.
    @Test func aLiarTakesLittleFromOthers() {
        var simulation = simulation()
        simulation.join(Self.lan)
        simulation.join(Self.lan, bounds: nil)
        simulation.join(Self.lan, bounds: Self.tiny)
        simulation.drive(for: .seconds(2))
        #expect(simulation.viewers[0].frames.allSatisfy { $0.layer == 0 })
        // 2560 × 720 pixels of 5120 × 1440.
        #expect(eighths(simulation) == 4)
        simulation.handleAtViewer(1, .shutdown)
        simulation.drive(for: .seconds(1))
        #expect(eighths(simulation) == 1)
    }

    /// A usual screen is no larger than what others are left in any case.
    @Test func ofAUsualScreenALiarTakesNothing() {
        var simulation = simulation(PixelSize(width: 1920, height: 1080))
        for bounds in [nil, Self.tiny] { simulation.join(Self.lan, bounds: bounds) }
        let slow = simulation.join(
            LinkConditions(delay: .milliseconds(5), bitsPerSecond: 1_000_000, queueBytes: 30_000))
        simulation.source.frameBytes = 16_000
        simulation.drive(for: .seconds(8))
        #expect(simulation.viewers[slow].frames.last?.layer == 1 && eighths(simulation) == StreamDemand.wholeSize)
    }

    /// A host that names sizes without end costs the person some lines.
    @Test func aHostThatNamesSizesWithoutEndIsBounded() {
        var simulation = simulation(nil)
        simulation.join(Self.lan, bounds: PictureBounds(sides: PixelSize(width: 640, height: 360)))
        simulation.drive(for: .seconds(1))
        for number in 0..<300 {
            simulation.handleAtHost(.pictureSize(PixelSize(width: 1000 + 2 * number, height: 1000)))
            simulation.drive(for: .milliseconds(20))
        }
        #expect((1...50).contains(told(simulation, 0).count))
    }
}
