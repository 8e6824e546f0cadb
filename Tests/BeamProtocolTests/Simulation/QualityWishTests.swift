import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Viewers that wish less than the host sends get no more than that, and nobody else notices.
struct QualityWishTests {
    private static let lan = LinkConditions(delay: .milliseconds(1))
    private static let picture = PixelSize(width: 1280, height: 720)
    private static let wish = QualityWish(maxSize: 700, bitRate: 1_000_000, frameRate: 15)

    private func simulation(_ count: Int, seed: Int = 1, hasSound: Bool = false) -> Simulation {
        var simulation = Simulation(seed: UInt64(seed))
        simulation.source.hasSound = hasSound
        let remembered = Dictionary(uniqueKeysWithValues: (1...8).map { (DeviceKey.made(UInt8($0)), "viewer") })
        simulation.startHost(acceptance: .none, trust: HostTrust(own: .host, remembered: remembered, code: .none))
        simulation.handleAtHost(.pictureSize(Self.picture))
        for _ in 0..<count { simulation.join(Self.lan) }
        return simulation
    }

    private func demand(_ simulation: Simulation, _ layer: Int) -> StreamDemand {
        simulation.demands.last { $0.layer == layer }?.demand ?? StreamDemand()
    }

    /// What a viewer gets in the next seconds.
    private struct Got {
        var frames: [Int]
        var bitsPerSecond: Int
        var longestPause: Duration
    }

    private func drive(_ simulation: inout Simulation, seconds: Int) -> [Got] {
        let (begin, before) = (simulation.now, simulation.viewers.map(\.sent.bytes))
        simulation.drive(for: .seconds(seconds))
        return simulation.viewers.indices.map { index in
            let viewer = simulation.viewers[index]
            return Got(
                frames: viewer.frames.filter { $0.time > begin }.map(\.layer),
                bitsPerSecond: (viewer.sent.bytes - before[index]) * 8 / seconds,
                longestPause: viewer.longestPause(from: begin, to: simulation.now))
        }
    }

    @Test(arguments: 1...3) func oneViewerIsBoundAndTheOtherIsNot(seed: Int) {
        var simulation = simulation(2, seed: seed)
        simulation.drive(for: .seconds(1))
        let free = drive(&simulation, seconds: 2)
        simulation.wish(1) { $0.quality = Self.wish }
        simulation.drive(for: .seconds(1))
        let bound = drive(&simulation, seconds: 5)
        #expect(demand(simulation, 1).eighths == 4 && demand(simulation, 1).frameRate == 15)
        #expect(bound[1].frames.allSatisfy { $0 == 1 })
        #expect((70...76).contains(bound[1].frames.count), "\(bound[1].frames.count) frames in 5 s")
        #expect(bound[1].bitsPerSecond < 1_000_000 && bound[1].bitsPerSecond > 300_000)
        #expect(bound[0].frames.allSatisfy { $0 == 0 } && bound[0].frames.count >= 149)
        #expect(bound[0].bitsPerSecond * 100 > free[0].bitsPerSecond * 98)
        #expect(
            simulation.demands.allSatisfy {
                $0.layer == 1 || $0.demand == StreamDemand(isWatched: true) || $0.time < .at(1)
            })

        simulation.wish(1) { $0.quality = .any }
        simulation.drive(for: .seconds(1))
        let lifted = drive(&simulation, seconds: 2)
        #expect(lifted[1].frames.allSatisfy { $0 == 0 } && lifted[1].frames.count >= 59)
        #expect(lifted[1].bitsPerSecond * 100 > free[1].bitsPerSecond * 98)
        #expect(!demand(simulation, 1).isWatched)
        for viewer in simulation.viewers { #expect(viewer.decoder.errors.isEmpty) }
        #expect(simulation.viewers[0].longestPause(from: .at(1), to: simulation.now) < .milliseconds(60))
        // It isn't the path's fault.
        #expect(!simulation.hostEvents.contains { if case .layerChanged = $0.event { true } else { false } })
        #expect(
            simulation.hostEvents.compactMap {
                if case .layerFitted(_, let isReduced, true) = $0.event { isReduced } else { nil }
            }
                == [true, false])
        #expect(simulation.host?.viewerStatistics.allSatisfy { $0.pathRate == nil } == true)
    }

    /// A wish from the beginning costs no stream that nobody watches.
    @Test func theFullLayerIsNotEncodedForNobody() {
        var simulation = simulation(1)
        simulation.wish(0) { $0.quality = QualityWish(bitRate: 500_000) }
        let got = drive(&simulation, seconds: 5)
        #expect(!simulation.demands.contains { $0.layer == 0 && $0.demand.isWatched })
        #expect(demand(simulation, 1).eighths == StreamDemand.wholeSize && demand(simulation, 1).frameRate == nil)
        #expect(got[0].frames.count > 120 && got[0].bitsPerSecond < 500_000)
    }

    /// What isn't less than the host has changes nothing.
    @Test func aLargeWishChangesNothing() {
        var simulation = simulation(2)
        simulation.wish(1) { $0.quality = QualityWish(maxSize: 1280, bitRate: 20_000_000) }
        simulation.drive(for: .seconds(2))
        #expect(!simulation.demands.contains { $0.layer == 1 && $0.demand.isWatched })
    }

    /// The encoder can't make frames as small as the wish asks for: some wait, and the encoder with them.
    @Test(arguments: [false, true]) func theRateHoldsWhateverTheEncoderMakes(isAlone: Bool) {
        var simulation = simulation(isAlone ? 1 : 2)
        (simulation.source.leastFrameBytes, simulation.source.leastKeyframeBytes) = (12_000, 60_000)
        simulation.wish(0) { $0.quality = QualityWish(bitRate: 1_000_000) }
        simulation.drive(for: .seconds(1))
        let got = drive(&simulation, seconds: 8)
        #expect(got[0].bitsPerSecond < 1_000_000 && got[0].bitsPerSecond > 800_000, "\(got[0].bitsPerSecond)")
        #expect(got[0].longestPause < .milliseconds(600), "\(got[0].longestPause)")
        #expect(simulation.viewers[0].decoder.errors.isEmpty)
        if !isAlone { #expect(got[1].frames.count >= 239) }
    }

    /// Two in one layer: who wishes fewer frames gets every other one, and the other all.
    @Test func aLayerHasTheFramesThatItsNeediestViewerWishes() {
        var simulation = simulation(3)
        simulation.wish(0) { $0.shownSize = PixelSize(width: 320, height: 180) }
        simulation.wish(1) { $0.quality = QualityWish(frameRate: 16) }
        simulation.drive(for: .seconds(1))
        let got = drive(&simulation, seconds: 4)
        #expect(demand(simulation, 1).frameRate == nil && demand(simulation, 1).eighths == StreamDemand.wholeSize)
        #expect(got[0].frames.count >= 119 && got[2].frames.count >= 119)
        #expect((58...66).contains(got[1].frames.count), "\(got[1].frames.count) frames in 4 s")
        for viewer in simulation.viewers { #expect(viewer.decoder.errors.isEmpty) }
        #expect(!demand(simulation, 0).wantsTemporalLayers)
    }

    /// Sound counts, and is sent at the reduced rate.
    @Test func soundIsPartOfTheRate() {
        var simulation = simulation(0, hasSound: true)
        var configuration = ViewerSession.Configuration.secure(knows: true, device: .made(1))
        configuration.takesSound = true
        simulation.addViewer(configuration: configuration)
        simulation.wish(0) { $0.quality = QualityWish(bitRate: 400_000) }
        simulation.drive(for: .seconds(1))
        let got = drive(&simulation, seconds: 5)
        #expect(got[0].bitsPerSecond < 400_000 && got[0].frames.count > 100)
        #expect(simulation.soundDemand.reduced && !simulation.soundDemand.full)
        #expect(simulation.viewers[0].sounds.count > 550)
    }

    /// A viewer that changes its wish without end costs the others a few keyframes.
    @Test(arguments: 1...2) func aLiarCostsOthersNothing(seed: Int) {
        var simulation = simulation(3, seed: seed)
        simulation.drive(for: .seconds(1))
        simulation.wish(1) { $0.quality = Self.wish }
        simulation.drive(for: .seconds(1))
        let (before, begin) = (simulation.host?.statistics.keyframes ?? 0, simulation.now)
        let wishes = [
            QualityWish(maxSize: 0, bitRate: 0, frameRate: 0), .any, QualityWish(bitRate: 1_500_000),
            QualityWish(maxSize: 1),
        ]
        // Said to the host directly, and below its limit of messages.
        for step in 0..<1500 {
            simulation.say(.qualityWanted(wishes[step % 4]), of: 2)
            simulation.drive(for: .milliseconds(13))
        }
        let made = (simulation.host?.statistics.keyframes ?? 0) - before
        #expect(made < 30, "\(made) keyframes in 20 s")
        for index in [0, 1] {
            let viewer = simulation.viewers[index]
            #expect(viewer.decoder.errors.isEmpty)
            let pause: Duration = index == 0 ? .milliseconds(80) : .milliseconds(160)
            #expect(viewer.longestPause(from: begin, to: simulation.now) < pause, "viewer \(index)")
            #expect(viewer.frames.filter { $0.time > begin }.allSatisfy { $0.layer == index })
        }
        let events = simulation.hostEvents.count { if case .layerFitted = $0.event { true } else { false } }
        #expect(events < 12, "\(events) lines")
    }

    /// What has changed while the connection was lost is told afterwards.
    @Test func theWishIsToldAgain() {
        var simulation = simulation(1)
        simulation.wish(0) { $0.quality = Self.wish }
        simulation.drive(for: .seconds(1))
        for wish in [QualityWish.any, Self.wish] {
            simulation.cutControl()
            simulation.drive(for: .milliseconds(100))
            simulation.wish(0) { $0.quality = wish }
            simulation.restoreControl()
            simulation.drive(for: .seconds(3))
            #expect(simulation.host?.broadcast.layers.places.map(\.wish.current) == [wish])
            #expect(simulation.viewers[0].frames.last?.layer == (wish == .any ? 0 : 1))
        }
    }
}

/// What a viewer tells its host of it.
struct QualityMessageTests {
    private static let wish = QualityWish(maxSize: 640)

    @Test func aHostWithoutTheFeatureIsNotTold() {
        for features in [[], .quality] as [SecureMessage.Welcome.Features] {
            var viewer = ViewerBench(.secure(knows: true))
            viewer.handle(.controlSecured(.host))
            viewer.handle(.wishes(ViewerWishes(quality: Self.wish)))
            viewer.admit(features)
            #expect(viewer.takeWishes() == (features.isEmpty ? [] : [.qualityWanted(Self.wish)]))
            let isTaken = viewer.events.compactMap {
                if case .quality(Self.wish, let isTaken) = $0 { isTaken } else { nil }
            }
            #expect(isTaken == [!features.isEmpty])
        }
    }

    /// A relay asks for all: others watch what it gets.
    @Test func aRelayWishesNothing() {
        var viewer = ViewerBench(.secure(knows: true))
        viewer.handle(.relayed([]))
        viewer.handle(.wishes(ViewerWishes(quality: Self.wish)))
        viewer.handle(.controlSecured(.host))
        viewer.admit(.quality)
        #expect(viewer.takeWishes().isEmpty)
    }

    /// A program may change it as often as it likes; the host would send away who says more than it takes.
    @Test func fewChangesAreTold() {
        var simulation = Simulation.securePair()
        simulation.drive(for: .seconds(1))
        for step in 0..<5000 {
            simulation.wish(0) { $0.quality = QualityWish(bitRate: 1_000_000 + step) }
            simulation.drive(for: .milliseconds(2))
        }
        simulation.drive(for: .seconds(1))
        let told = simulation.viewer.events.count { if case .quality(_, true) = $0.event { true } else { false } }
        #expect((15...23).contains(told), "\(told) in 10 s")
        #expect(simulation.host?.broadcast.layers.places.map(\.wish.current.bitRate) == [1_004_999])
    }
}

extension ViewerBench {
    /// The wishes that the host was told.
    fileprivate mutating func takeWishes() -> [SecureMessage] {
        takeMessages().filter { if case .qualityWanted = $0 { true } else { false } }
    }
}
