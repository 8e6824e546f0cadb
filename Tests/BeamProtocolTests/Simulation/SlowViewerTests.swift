import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// An admitted viewer that is slow, or pretends to be in any rhythm, doesn't disturb the others.
struct SlowViewerTests {
    enum Attack: CaseIterable {
        /// Feedback is withheld for a part of each period (in ms), so that the congestion window is full for most of
        /// the time.
        case silence100, silence200, silence290, silence350, silence600
        /// The delay grows for 400 ms, and is gone again.
        case growingDelay
        /// Half is lost for 800 ms, then nothing for 400 ms.
        case burstsOfLoss
        /// Delay and loss at once.
        case delayAndLoss
        /// Far slower than the others for 900 ms of each second.
        case slowFor900ms
        /// Everything is missing, on a path that seems narrow.
        case everythingMissing
        /// The path seems to collapse for 150 ms of every 700 ms.
        case shortCollapses
    }

    private static let lan = LinkConditions(delay: .milliseconds(1))
    private static let seconds = 6

    private static let fast = Simulation.Source(
        framesPerSecond: 60, frameBytes: 48_000, keyframeBytes: 120_000, encodes: .milliseconds(3))

    /// Honest feedback, apart from the lie.
    private func lie(_ attack: Attack, _ millisecond: Int, in simulation: Simulation) -> Feedback? {
        guard let broadcast = simulation.host?.broadcast, let viewer = broadcast.senders.all.last,
            let layer = broadcast.layers.places.last?.layer, broadcast.senders.count == 2
        else { return nil }
        let newest = broadcast.stream.layers[layer].newest ?? SequenceNumber(0)
        var (delay, lost, isNarrow) = (0.0, 0.0, false)
        func silence(_ period: Int, _ part: Int) -> Bool { millisecond % period < part }
        switch attack {
        case .silence100 where silence(100, 90), .silence200 where silence(200, 190),
            .silence290 where silence(290, 280),
            .silence350 where silence(350, 320), .silence600 where silence(600, 400):
            return nil
        case .silence100, .silence200, .silence290, .silence350, .silence600: break
        case .growingDelay: delay = Double(millisecond % 400) / 1000
        case .burstsOfLoss: lost = millisecond % 1200 < 800 ? 0.5 : 0
        case .delayAndLoss:
            delay = millisecond % 300 < 200 ? Double(millisecond % 300) / 2000 : 0
            lost = millisecond % 500 < 250 ? 0.6 : 0.01
        case .slowFor900ms: isNarrow = millisecond % 1000 < 900
        case .everythingMissing: isNarrow = true
        case .shortCollapses: isNarrow = millisecond % 700 < 150
        }
        let time = simulation.now + .seconds(clamping: delay)
        let expected = UInt32(millisecond * 2)
        var report = Feedback.Report(time: time, expected: expected, missed: UInt32(Double(expected) * lost))
        let back = { (frames: Int) in SequenceNumber(newest.value &- UInt32(frames)) }
        report.arrivals = (0..<6).reversed().compactMap { frames in
            let number = back(frames)
            guard let frame = viewer.delivery?.log.frame(number), frame.sent > 0 else { return nil }
            // Arrivals as old as is believable, and spread out as on a path that just carries the stream, or far less.
            let age = UInt32(clamping: (simulation.now - frame.firstSent).inNanoseconds / 1000)
            let spread: UInt32 = isNarrow ? 60_000 : 5_000
            return Feedback.Arrival(
                frame: number, received: UInt16(frame.sent), highest: UInt16(frame.sent - 1), firstAge: age,
                lastAge: age - min(age, spread))
        }
        let everything = (0..<3).map { Feedback.Missing(frame: back($0), parts: [0..<8191]) }
        return Feedback(
            layer: UInt8(layer), missing: attack == .everythingMissing ? everything : [], report: report)
    }

    @Test(arguments: Attack.allCases) func theOtherViewersLoseNoFrames(attack: Attack) throws {
        var simulation = Simulation.honestAndLiar(seed: 11, Self.fast)
        let begin = simulation.now
        for millisecond in 0..<Self.seconds * 1000 {
            let feedback = millisecond % 5 == 0 ? lie(attack, millisecond, in: simulation) : nil
            try simulation.liarSays(feedback, hello: millisecond % 1000 == 0)
            simulation.drive(for: .milliseconds(1))
        }
        let (honest, end) = (simulation.viewers[0], simulation.now)
        #expect(honest.decoder.errors.isEmpty, "\(honest.decoder.errors.prefix(3))")
        func shown(_ from: MediaTime, _ to: MediaTime) -> Int {
            honest.frames.count { $0.time > from && $0.time <= to }
        }
        let rates = (0..<Self.seconds).map { second in
            shown(begin + .seconds(second), begin + .seconds(second + 1))
        }
        #expect(rates.allSatisfy { $0 >= 58 }, "\(attack): \(rates)")
        #expect(honest.longestPause(from: begin, to: end) < .milliseconds(50), "\(attack)")
        #expect(simulation.host?.broadcast.layers.places.first?.layer == SimulcastLayer.full)
    }

    /// Guests with a new key each join one after the other, prove their address, and fall silent before their first
    /// report, or after it.
    @Test(arguments: [false, true]) func silentGuestsDoNotDisturbOthers(report: Bool) {
        var simulation = Simulation(seed: 12)
        simulation.source = Self.fast
        simulation.startHost(trust: HostTrust(own: .host, remembered: [.made(1): "honest"], code: .none))
        simulation.join(Self.lan)
        simulation.drive(for: .seconds(2))
        let begin = simulation.now
        var muted = 0
        for millisecond in 0..<Self.seconds * 1000 {
            if millisecond % 300 == 0, millisecond < 4500 { simulation.join(Self.lan) }
            simulation.drive(for: .milliseconds(1))
            guard let guest = simulation.host?.broadcast.senders.all.last, simulation.viewers.count > muted + 1,
                simulation.host?.broadcast.senders.count == simulation.viewers.count, guest.destination.isSet,
                !report || guest.delivery?.path.roundTrip != nil
            else { continue }
            muted = simulation.viewers.count - 1
            simulation.setConditions(muted, Self.lan, back: LinkConditions(isMuted: true))
        }
        #expect(muted == 15)
        let honest = simulation.viewers[0]
        #expect(honest.decoder.errors.isEmpty, "\(honest.decoder.errors.prefix(3))")
        let rates = (0..<Self.seconds).map { second in
            honest.frames.count {
                $0.time > begin + .seconds(second) && $0.time <= begin + .seconds(second + 1)
            }
        }
        #expect(rates.allSatisfy { $0 >= 58 }, "\(rates)")
        #expect(simulation.host?.broadcast.layers.places.first?.layer == SimulcastLayer.full)
    }

    /// The path carries most of the stream, but not all: its viewer gets fewer frames, and the others are not affected.
    @Test(arguments: 1...3) func aSlowViewerGetsFewerFrames(seed: UInt64) {
        var simulation = Simulation(seed: seed)
        simulation.source = Simulation.Source(framesPerSecond: 30, frameBytes: 20_000, keyframeBytes: 60_000)
        let remembered = (1...3).map { (DeviceKey.made(UInt8($0)), "viewer \($0)") }
        simulation.startHost(
            trust: HostTrust(own: .host, remembered: Dictionary(uniqueKeysWithValues: remembered), code: .none))
        simulation.join(Self.lan)
        simulation.join(Self.lan)
        simulation.drive(for: .seconds(1))
        // The frames take 4.8 Mbit/s; the path carries 3.9 Mbit/s.
        let slow = simulation.join(
            LinkConditions(delay: .milliseconds(5), bitsPerSecond: 3_900_000, queueBytes: 40_000))
        simulation.drive(for: .seconds(10))
        let (begin, end) = (simulation.now - .seconds(5), simulation.now)
        func shown(_ index: Int) -> Int { simulation.viewers[index].frames.count { $0.time > begin } }
        #expect(simulation.viewers.allSatisfy { $0.decoder.errors.isEmpty })
        for index in 0..<2 {
            #expect(shown(index) >= 149)
            #expect(simulation.viewers[index].longestPause(from: begin, to: end) < .milliseconds(60))
        }
        #expect(simulation.viewers[slow].longestPause(from: begin, to: end) < .milliseconds(250))
        let sender = simulation.host?.broadcast.senders.all.last
        #expect(simulation.host?.broadcast.layers.places.last?.layer == SimulcastLayer.full)
        #expect((75...149).contains(shown(slow)), "\(shown(slow)) frames")
        #expect(sender?.totals.skipped ?? 0 > 0)
        #expect(simulation.demands.contains { $0.demand.wantsTemporalLayers })
        #expect(simulation.host?.broadcast.stream.layers[SimulcastLayer.full].demand.bitRate == nil, "the others' rate")
    }

    /// Large keyframes, made for viewers who join, take long on a path that just carries the stream. Its viewer is late
    /// for a moment, but isn't moved to the reduced layer.
    @Test(arguments: 1...3) func keyframesForOthersMoveNobody(seed: UInt64) {
        var simulation = Simulation(seed: seed)
        simulation.source = Simulation.Source(framesPerSecond: 30, frameBytes: 12_000, keyframeBytes: 150_000)
        let remembered = (1...8).map { (DeviceKey.made(UInt8($0)), "viewer \($0)") }
        simulation.startHost(
            trust: HostTrust(own: .host, remembered: Dictionary(uniqueKeysWithValues: remembered), code: .none))
        simulation.join(Self.lan)
        // The frames take 2.9 Mbit/s, and a keyframe 0.3 s of this path.
        let slow = simulation.join(
            LinkConditions(delay: .milliseconds(2), bitsPerSecond: 4_000_000, queueBytes: 60_000))
        simulation.drive(for: .seconds(4))
        let begin = simulation.now
        for _ in 0..<6 {
            simulation.join(Self.lan)
            simulation.drive(for: .milliseconds(1500))
        }
        simulation.drive(for: .seconds(1))
        let moves = simulation.hostEvents.filter { if case .layerChanged = $0.event { $0.time > begin } else { false } }
        #expect(moves.isEmpty, "\(moves.map(\.time))")
        #expect(simulation.host?.broadcast.layers.places.allSatisfy { $0.layer == SimulcastLayer.full } == true)
        for viewer in simulation.viewers { #expect(viewer.decoder.errors.isEmpty) }
        let from = simulation.now - .seconds(1)
        #expect(simulation.viewers[slow].frames.count { $0.time > from } >= 14)
    }

    /// The rate that the desktop really takes counts, not the options' rate: a path that carries it isn't slow.
    @Test func aSlowPathThatCarriesTheStreamChangesNothing() {
        var simulation = Simulation(seed: 4)
        simulation.source = Simulation.Source(framesPerSecond: 30, frameBytes: 3000, keyframeBytes: 60_000)
        let remembered = [DeviceKey.made(1): "fast", DeviceKey.made(2): "slow"]
        simulation.startHost(trust: HostTrust(own: .host, remembered: remembered, code: .none))
        simulation.join(Self.lan)
        simulation.drive(for: .seconds(1))
        // The frames take 0.7 Mbit/s.
        let slow = simulation.join(
            LinkConditions(delay: .milliseconds(5), bitsPerSecond: 2_000_000, queueBytes: 40_000))
        simulation.drive(for: .seconds(10))
        #expect(simulation.host?.broadcast.layers.places.map(\.layer) == [SimulcastLayer.full, SimulcastLayer.full])
        #expect(simulation.host?.broadcast.senders.all.last?.delivery?.path.isBound == true)
        let from = simulation.now - .seconds(5)
        #expect(simulation.viewers.allSatisfy { viewer in viewer.frames.count { $0.time > from } >= 149 })
        #expect(!simulation.demands.contains { $0.demand.wantsTemporalLayers && $0.time > from })
        #expect(simulation.viewers[slow].decoder.errors.isEmpty)
    }

    /// Noise on a path that collapses: the smallest keyframe takes seconds, which is longer than a late picture may wait.
    /// Dropped for the next one again and again, none would ever arrive, and what was never sent would count as lost.
    @Test(arguments: 1...3) func picturesThatTakeSecondsArrive(seed: UInt64) {
        var simulation = Simulation(seed: seed)
        simulation.source = Simulation.Source(
            framesPerSecond: 30, frameBytes: 20_000, keyframeBytes: 60_000, leastFrameBytes: 10_000,
            leastKeyframeBytes: 60_000)
        simulation.startHost(trust: HostTrust(own: .host, remembered: [.made(1): "slow"], code: .none))
        let slow = simulation.join(Self.lan)
        simulation.drive(for: .seconds(2))
        simulation.setConditions(
            slow, LinkConditions(delay: .milliseconds(5), bitsPerSecond: 150_000, queueBytes: 20_000))
        simulation.drive(for: .seconds(5))
        let begin = simulation.now
        simulation.drive(for: .seconds(20))
        let shown = simulation.viewers[slow].frames.count { $0.time > begin }
        #expect(shown >= 4)
        #expect(simulation.host?.broadcast.senders.all.first?.delivery?.path.loss ?? 1 < 0.2)
    }

    @Test func aLayersUseIsMeasuredOverTheLastMinute() {
        var use = LayerUse()
        #expect(use.current(now: .at(1000)) == 0 && use.peak(now: .at(1000)) == 0)
        for tenth in 0..<10 { use.count(1000, now: .at(1001 + Double(tenth) / 10)) }
        #expect(use.current(now: .at(1001.9)) == 80_000 && use.current(now: .at(1002.5)) == 80_000)
        use.count(500, now: .at(1002.6))
        #expect(use.current(now: .at(1002.9)) == 80_000 && use.current(now: .at(1003)) == 4000)
        #expect(use.current(now: .at(1004.1)) == 0)
        #expect(use.peak(now: .at(1061.9)) == 80_000)
        #expect(use.peak(now: .at(1062.1)) == 4000 && use.peak(now: .at(1090)) == 0)
    }

    /// Each return to the full layer that fails doubles the wait for the next one.
    @Test func failedReturnsBecomeRarer() {
        var hysteresis = LayerHysteresis()
        var now = MediaTime.at(1)
        var waits: [Double] = []
        for _ in 0..<10 {
            var isOut = hysteresis.isFarSlower(true, now: now)
            for _ in 0..<2000 where !isOut {
                now = now + .milliseconds(1)
                isOut = hysteresis.isFarSlower(true, now: now)
            }
            #expect(isOut)
            hysteresis.left(now: now)
            let left = now
            while !hysteresis.isFastEnough(true, now: now) { now = now + .milliseconds(100) }
            waits.append((now - left).inSeconds.rounded())
            hysteresis.cameBack(now: now)
        }
        #expect(waits == [4, 8, 16, 32, 64, 128, 256, 512, 512, 512])
    }

    /// Short periods of slowness add up if they are frequent; rare ones don't count.
    @Test func frequentSlownessMovesAViewer() {
        for (period, part, leaves) in [(1000, 900, true), (100, 50, true), (1000, 300, false), (500, 10, false)] {
            var hysteresis = LayerHysteresis()
            var isOut = false
            for millisecond in 0..<20_000 where !isOut {
                isOut = hysteresis.isFarSlower(
                    millisecond % period < part, now: .at(1 + Double(millisecond) / 1000))
            }
            #expect(isOut == leaves, "\(part) of \(period) ms")
        }
    }

    /// The full layer's rate follows the fastest viewers: no single slow viewer reduces it for all.
    @Test func theFullLayerFollowsTheFastestViewers() {
        var scratch: [Int] = []
        func choose(_ paths: [LayerRate.Path], isReduced: Bool = false) -> Int? {
            LayerRate.choose(paths, isReduced: isReduced, scratch: &scratch)
        }
        #expect(choose([]) == nil)
        #expect(choose([.unknown]) == nil)
        #expect(choose([.bound(5)]) == 5)
        // A new viewer whose path is unknown doesn't change the rate.
        #expect(choose([.bound(5), .unknown]) == 5)
        #expect(choose([.bound(5), .unbound]) == nil)
        #expect(choose([.bound(100), .bound(1)]) == 100)
        #expect(choose([.bound(100), .bound(90), .bound(85), .bound(1)]) == 85)
        #expect(choose([.bound(100), .bound(99), .bound(98), .bound(85), .bound(1)]) == 98)
        #expect(choose([.bound(100), .bound(81)]) == 81)
        #expect(choose([.bound(100), .bound(79)]) == 100)
        // The reduced layer follows the slowest viewer, but no lower than half of the median.
        #expect(choose([.bound(3), .bound(4), .bound(5)], isReduced: true) == 3)
        #expect(choose([.bound(1), .bound(10)], isReduced: true) == 5)
        #expect(choose([.bound(1), .bound(10), .bound(12)], isReduced: true) == 5)
    }
}
