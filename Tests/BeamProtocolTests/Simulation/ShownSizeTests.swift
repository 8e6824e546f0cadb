import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Viewers that show the picture small get the reduced layer in a size that is enough, and nobody else notices.
struct ShownSizeTests {
    private static let lan = LinkConditions(delay: .milliseconds(1))
    private static let picture = PixelSize(width: 1280, height: 720)
    private static let tile = PixelSize(width: 480, height: 300)

    private func simulation(_ count: Int, seed: Int = 1) -> Simulation {
        var simulation = Simulation(seed: UInt64(seed))
        let remembered = Dictionary(uniqueKeysWithValues: (1...8).map { (DeviceKey.made(UInt8($0)), "viewer") })
        simulation.startHost(acceptance: .none, trust: HostTrust(own: .host, remembered: remembered, code: .none))
        simulation.handleAtHost(.pictureSize(Self.picture))
        for _ in 0..<count { simulation.join(Self.lan) }
        return simulation
    }

    private func eighths(_ simulation: Simulation) -> Int? {
        simulation.demands.last { $0.layer == 1 && $0.demand.isWatched }?.demand.eighths
    }

    private func isWatched(_ simulation: Simulation, _ layer: Int) -> Bool {
        simulation.demands.last { $0.layer == layer }?.demand.isWatched ?? false
    }

    @Test(
        "What is enough",
        arguments: [
            (480, 300, 3), (640, 360, 4), (641, 361, 4), (660, 372, 5), (1280, 720, 8), (9, 9, 1), (5000, 90, 1),
        ])
    func enough(width: Int, height: Int, eighths: Int) {
        var shown = ShownSize()
        let counts = shown.received(PixelSize(width: width, height: height), now: .at(1))
        #expect(counts)
        shown.fit(Self.picture)
        #expect(shown.wanted == eighths)
        shown.fit(nil)
        #expect(shown.wanted == StreamDemand.wholeSize)
    }

    @Test(arguments: 1...3) func aSmallViewerGetsASmallPictureAndTheFullOneWhenItIsLarge(seed: Int) {
        var simulation = simulation(2, seed: seed)
        simulation.drive(for: .seconds(1))
        simulation.wish(1) { $0.shownSize = Self.tile }
        simulation.drive(for: .seconds(1))
        #expect(simulation.viewers[1].frames.last?.layer == 1)
        #expect(eighths(simulation) == 3)
        simulation.wish(1) { $0.shownSize = Self.picture }
        simulation.drive(for: .seconds(1))
        #expect(simulation.viewers[1].frames.last?.layer == 0)
        #expect(!isWatched(simulation, 1))
        for viewer in simulation.viewers {
            #expect(viewer.decoder.errors.isEmpty, "\(viewer.decoder.errors.prefix(3))")
            #expect(viewer.longestPause(from: .at(0.5), to: simulation.now) < .milliseconds(120))
        }
        #expect(simulation.viewers[0].frames.allSatisfy { $0.layer == 0 })
        #expect(simulation.viewers[0].longestPause(from: .at(0.5), to: simulation.now) < .milliseconds(60))
    }

    @Test func theFullLayerIsNotEncodedForNobody() {
        var simulation = simulation(1)
        simulation.wish(0) { $0.shownSize = Self.tile }
        simulation.drive(for: .seconds(2))
        #expect(isWatched(simulation, 1) && !isWatched(simulation, 0))
        #expect(eighths(simulation) == 3)
        #expect(simulation.viewers[0].frames.last?.layer == 1)
    }

    @Test func theSizeIsToldAgainToAHostThatWasRestarted() {
        var simulation = simulation(1)
        simulation.wish(0) { $0.shownSize = Self.tile }
        simulation.drive(for: .seconds(1))
        simulation.cutControl()
        simulation.drive(for: .milliseconds(100))
        simulation.restoreControl()
        simulation.drive(for: .seconds(3))
        #expect(simulation.host?.broadcast.layers.places.map(\.layer) == [1])
        #expect(simulation.host?.broadcast.layers.places.map(\.shown.applied) == [3])
    }

    @Test func theReducedLayerIsAsLargeAsTheNeediest() {
        var simulation = simulation(4)
        simulation.drive(for: .seconds(1))
        for (index, width) in [160, 320, 640].enumerated() {
            simulation.wish(index) { $0.shownSize = PixelSize(width: width, height: width) }
            simulation.drive(for: .seconds(1))
        }
        #expect(eighths(simulation) == 4)
        #expect(simulation.host?.broadcast.layers.places.map(\.layer) == [1, 1, 1, 0])
        simulation.handleAtViewer(2, .shutdown)
        simulation.drive(for: .seconds(1))
        #expect(eighths(simulation) == 2)
    }

    /// A viewer on a slow path needs the whole picture, whatever others in its layer say.
    @Test func aSmallViewerTakesNothingFromASlowOne() {
        var simulation = simulation(2)
        simulation.source.frameBytes = 16_000
        let slow = simulation.join(
            LinkConditions(delay: .milliseconds(5), bitsPerSecond: 1_000_000, queueBytes: 30_000))
        simulation.drive(for: .seconds(8))
        #expect(simulation.viewers[slow].frames.last?.layer == 1)
        simulation.wish(1) { $0.shownSize = PixelSize(width: 100, height: 100) }
        simulation.drive(for: .seconds(2))
        #expect(simulation.viewers[1].frames.last?.layer == 1)
        #expect(eighths(simulation) == StreamDemand.wholeSize)
    }

    /// A viewer that changes its size without end is moved now and then, and costs the others a few keyframes.
    @Test(arguments: 1...3) func aLiarCostsOthersNothing(seed: Int) {
        var simulation = simulation(3, seed: seed)
        simulation.drive(for: .seconds(1))
        simulation.wish(1) { $0.shownSize = Self.tile }
        simulation.drive(for: .seconds(1))
        let before = simulation.host?.statistics.keyframes ?? 0
        let begin = simulation.now
        // Below the limit of messages, for 20 s.
        for step in 0..<1500 {
            let size = [PixelSize(width: 8, height: 8), Self.picture, nil, Self.tile][step % 4]
            simulation.wish(2) { $0.shownSize = size }
            simulation.drive(for: .milliseconds(13))
        }
        let made = (simulation.host?.statistics.keyframes ?? 0) - before
        #expect(made < 30, "\(made) keyframes in 20 s")
        for index in [0, 1] {
            let viewer = simulation.viewers[index]
            #expect(viewer.decoder.errors.isEmpty)
            #expect(viewer.longestPause(from: begin, to: simulation.now) < .milliseconds(80), "viewer \(index)")
            #expect(viewer.frames.filter { $0.time > begin }.allSatisfy { $0.layer == index })
        }
        #expect(simulation.viewers[2].decoder.errors.isEmpty)
    }

    @Test func onlyOneChangeInAWhileCounts() {
        var shown = ShownSize()
        let counted = (0..<10_000).count { step in
            let now = MediaTime.at(1 + Double(step) / 1000)
            let size = PixelSize(width: 100 + step % 900, height: 100)
            return shown.received(size, now: now) || shown.deadlineReached(now: now)
        }
        #expect((15...22).contains(counted), "\(counted) in 10 s")
    }

    /// Of changes that come fast, the last one counts.
    @Test(arguments: [10, 100, 300, 480, 520]) func theLastOfSeveralChangesCounts(milliseconds: Int) {
        var simulation = simulation(1)
        simulation.source.isStill = true
        simulation.drive(for: .seconds(1))
        for size in [PixelSize(width: 320, height: 180), Self.tile, Self.picture] {
            simulation.wish(0) { $0.shownSize = size }
            simulation.drive(for: .milliseconds(milliseconds))
        }
        simulation.drive(for: .seconds(2))
        #expect(simulation.host?.broadcast.layers.places.map(\.layer) == [0])
        #expect(simulation.viewers[0].frames.last?.layer == 0)
    }

    /// A host that knows nothing of sizes isn't told.
    @Test func aHostWithoutTheFeatureIsNotTold() {
        let told: [SecureMessage] = [
            .shownSize(width: 1280, height: 720), .shownSize(width: 480, height: 300), .shownSize(width: 0, height: 0),
        ]
        for features in [[], .shownSize] as [SecureMessage.Welcome.Features] {
            var viewer = ViewerBench(.secure(knows: true))
            viewer.handle(.controlSecured(.host))
            viewer.handle(.wishes(ViewerWishes(shownSize: Self.tile)))
            viewer.handle(.wishes(ViewerWishes(shownSize: Self.picture)))
            #expect(viewer.takeSizes().isEmpty, "it isn't known yet whether the host wants to know")
            viewer.admit(features)
            for size in [Self.tile, Self.tile, nil] { viewer.handle(.wishes(ViewerWishes(shownSize: size))) }
            #expect(viewer.takeSizes() == (features.isEmpty ? [] : told))
        }
    }

    /// A relay asks for all of the picture, whatever is shown here.
    @Test func aRelayAsksForTheFullSize() {
        var viewer = ViewerBench(.secure(knows: true))
        viewer.handle(.wishes(ViewerWishes(shownSize: Self.tile)))
        viewer.handle(.controlSecured(.host))
        viewer.admit(.shownSize)
        #expect(viewer.takeSizes() == [.shownSize(width: 480, height: 300)])
        viewer.handle(.relayed([]))
        #expect(viewer.takeSizes() == [.shownSize(width: 0, height: 0)])
        viewer.handle(.wishes(ViewerWishes(shownSize: Self.picture)))
        #expect(viewer.takeSizes().isEmpty)
        viewer.handle(.relayed(nil))
        #expect(viewer.takeSizes() == [.shownSize(width: 1280, height: 720)])
    }
}

extension ViewerBench {
    /// The sizes that the host was told of.
    fileprivate mutating func takeSizes() -> [SecureMessage] {
        takeMessages().filter { if case .shownSize = $0 { true } else { false } }
    }

    /// The host, which has these features, lets it in.
    mutating func admit(_ features: SecureMessage.Welcome.Features) {
        say(
            .welcome(
                SecureMessage.Welcome(
                    features: features, isTrusted: true, methods: [], nonce: [UInt8](repeating: 1, count: 32),
                    name: "host")),
            .session(
                SecureMessage.Session(
                    id: [UInt8](repeating: 2, count: 16), mediaPort: 7, isBroadcasting: true, viewerKey: .made(2),
                    mediaKey: .made(1))))
    }
}
