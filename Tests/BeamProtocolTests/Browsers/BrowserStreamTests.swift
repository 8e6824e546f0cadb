import BeamMedia
import Testing

@testable import BeamSession
@testable import BeamWire

/// The stream to browsers in virtual time.
struct BrowserStreamTests {
    @Test func aBrowserBeginsWithAKeyframeAndGetsAll() throws {
        var simulation = BrowserSimulation()
        simulation.add(1)
        #expect(simulation.keyframeRequests.map(\.layer) == [0])
        simulation.run(5)
        let browser = simulation.browsers[0]
        #expect(simulation.faults == [])
        // All but what is on the way.
        #expect(browser.decoder.decoded >= simulation.framesMade[0] - 1 && browser.decoder.decoded > 140)
        #expect(simulation.keyframeRequests.count == 1 && browser.keyframeRequests == 0)
        let figures = simulation.figures(1)
        #expect(figures.frames == UInt64(simulation.framesMade[0]) && figures.keyframes == 1 && figures.skipped == 0)
        #expect(figures.loss == 0 && figures.roundTrip == .milliseconds(6) || figures.roundTrip != nil)
        guard case .started(_, let after) = try #require(simulation.events.first).event else {
            Issue.record("\(simulation.events)")
            return
        }
        #expect(after < .milliseconds(100))
    }

    /// What is lost is sent again; nobody asks for keyframes, and nobody is taken for slow.
    @Test(arguments: [0.01, 0.03, 0.05]) func lossesAreRecovered(loss: Double) {
        var simulation = BrowserSimulation(seed: 7)
        simulation.add(1, link: .init(loss: loss))
        simulation.add(2)
        simulation.run(12)
        #expect(simulation.faults == [])
        let (lossy, clean) = (simulation.browsers[0], simulation.browsers[1])
        #expect(lossy.decoder.decoded >= clean.decoder.decoded - 5 && clean.decoder.decoded > 350)
        #expect(lossy.keyframeRequests == 0 && simulation.keyframeRequests.count <= 2)
        let figures = simulation.figures(1)
        let share = Double(figures.resent) / Double(figures.packets)
        #expect(share > loss * 0.7 && share < loss * 2.5, "\(share)")
        #expect(!figures.isReduced && abs((figures.loss ?? 1) - loss) < 0.04)
        // Tail probes only.
        #expect(simulation.figures(2).resent == 0)
        #expect(simulation.events.allSatisfy { if case .started = $0.event { true } else { false } })
    }

    /// A member of a room ends its share, and begins another one much later: its browsers wait, and nothing of the first
    /// one comes any more.
    @Test func browsersStayFromOneShareToTheNext() throws {
        var simulation = BrowserSimulation()
        simulation.add(1)
        simulation.addPage(2)
        simulation.run(2)
        let (before, units) = (simulation.browsers[0].decoder.decoded, simulation.units[ConnectionID(2)]?.count ?? 0)
        #expect(before > 50 && units > 50)
        simulation.makesNothing = true
        simulation.restart(bitRate: 0)
        simulation.run(0.1)
        let sent = simulation.bursts.count
        // Chromium doesn't report while it has nothing to report of.
        simulation.browsers[0].isAsleep = true
        simulation.run(60)
        simulation.browsers[0].isAsleep = false
        #expect(simulation.bursts.count == sent && simulation.units[ConnectionID(2)]?.count == units)
        // Asked for each second, and nobody is given up.
        #expect((60...62).contains(simulation.keyframeRequests.count))
        simulation.makesNothing = false
        simulation.restart(bitRate: 40_000_000)
        simulation.run(2)
        #expect(simulation.faults == [])
        #expect(simulation.browsers[0].decoder.decoded > before + 50)
        let news = try #require(simulation.units[ConnectionID(2)]?.dropFirst(units))
        guard case .keyframe = news.first?.unit.kind else {
            Issue.record("\(String(describing: news.first?.unit.kind))")
            return
        }
        #expect(news.count > 50)
        #expect(
            simulation.events.allSatisfy {
                switch $0.event {
                case .started, .caughtUp, .behind: true
                case .layer, .evict: false
                }
            })
    }

    @Test func aKeyframeIsPacedAndSmallPicturesAreNot() {
        var simulation = BrowserSimulation()
        simulation.source.keyframeBytes = 1_180_000
        simulation.add(1)
        simulation.run(1)
        let first = simulation.bursts[0].time
        let keyframe = simulation.bursts.filter { $0.time - first < .milliseconds(245) }
        // Per step of a millisecond: four, and what may have gathered before.
        #expect(keyframe.allSatisfy { $0.count <= 16 })
        for start in stride(from: 0, to: 240, by: 20) {
            let packets = keyframe.filter {
                $0.time >= first + .milliseconds(start) && $0.time < first + .milliseconds(start + 20)
            }.reduce(0) { $0 + $1.count }
            #expect(packets <= 80 + 16 && packets >= 70, "\(start): \(packets)")
        }
        // Of 12,000 bytes, in one burst.
        #expect(simulation.bursts.suffix(5).allSatisfy { $0.count == 11 })
        #expect(simulation.faults == [])
    }

    @Test func aFasterStreamIsPacedFaster() {
        #expect(PacketDelivery.packetsPerMillisecond(bitRate: 1) == 4)
        #expect(PacketDelivery.packetsPerMillisecond(bitRate: 60_000_000) == 12)
        #expect(PacketDelivery.packetsPerMillisecond(bitRate: .max / 4) == 1000)
    }

    @Test func senderReportsComeEachSecondWithOneName() throws {
        var simulation = BrowserSimulation(hasSound: true)
        simulation.add(1)
        simulation.run(5.5)
        let browser = simulation.browsers[0]
        func source(_ bytes: [UInt8]) -> [UInt8] { Array(bytes[4..<8]) }
        let sound = try #require(browser.sources.sound)
        for own in [browser.sources.video, sound] {
            let reports = browser.reports.filter { source($0.bytes) == TestFrame.big(own) }
            #expect((5...7).contains(reports.count), "\(reports.count)")
            #expect(reports.allSatisfy { Array($0.bytes.suffix(4)) == [1, 1, UInt8(ascii: "b"), 0] })
            // RTP's clock and the reports' agree.
            let rate: Double = own == sound ? 48_000 : 90_000
            func value(_ bytes: [UInt8], _ range: Range<Int>) -> Double {
                bytes[range].reduce(0) { $0 * 256 + Double($1) }
            }
            let (first, last) = (reports[0].bytes, reports[reports.count - 1].bytes)
            let seconds = (value(last, 8..<16) - value(first, 8..<16)) / 4_294_967_296
            let ticks = UInt32(value(last, 16..<20)) &- UInt32(value(first, 16..<20))
            #expect(abs(Double(ticks) - seconds * rate) < rate / 500, "\(ticks) in \(seconds) s")
            // It counts what was sent, and says so truly.
            #expect(value(last, 20..<24) > value(first, 20..<24) && value(last, 24..<28) > value(first, 24..<28))
        }
    }

    /// A picture every 2 s keeps the path known; the reports come with them.
    @Test func aStillScreenNeedsFewReports() {
        var simulation = BrowserSimulation()
        simulation.add(1)
        simulation.run(1)
        simulation.source.interval = 2000
        simulation.source.frameBytes = 30
        let before = simulation.browsers[0].reports.count
        simulation.run(20)
        #expect((9...11).contains(simulation.browsers[0].reports.count - before))
    }

    /// Of one browser the person hears the sound: its pictures may wait, and no other's.
    @Test func picturesWaitWhereSoundIsHeardOnly() {
        var stream = BrowserStream(
            configuration: .init(bitRate: 8_000_000, usesFullChroma: false, hasSound: true),
            random: SeededGenerator(seed: 1))
        let (heard, muted) = (ConnectionID(1), ConnectionID(2))
        stream.admit(heard, form: .packets(BrowserSources(video: 7, sound: 8)), now: .at(1))
        stream.admit(muted, form: .packets(BrowserSources(video: 9, sound: 10)), now: .at(1))
        func delays(_ number: UInt32, at now: MediaTime) -> [ConnectionID: PlayoutDelay] {
            var found: [ConnectionID: PlayoutDelay] = [:]
            stream.handleFrame(
                TestFrame.make(number, reference: number == 1 ? nil : number - 1, bytes: 900, time: now), now: now)
            while true {
                switch stream.pollOutput(now: now) {
                case .wait: return found
                case .packets(let id, let burst): found[id] = burst.first.playoutDelay
                default: break
                }
            }
        }
        #expect(delays(1, at: .at(1)) == [heard: .immediate, muted: .immediate])
        stream.setHears(true, by: heard)
        #expect(delays(2, at: .at(1.1)) == [heard: .forSound, muted: .immediate])
        stream.setHears(false, by: heard)
        #expect(delays(3, at: .at(1.2)) == [heard: .immediate, muted: .immediate])
    }

    @Test func soundCountsItsSamples() {
        var simulation = BrowserSimulation(hasSound: true)
        simulation.run(0.005)
        simulation.add(1)
        simulation.run(2)
        let sound = simulation.browsers[0].soundPackets
        #expect(sound.count > 190 && sound[0].isMarked && sound.dropFirst().allSatisfy { !$0.isMarked })
        for (one, next) in zip(sound, sound.dropFirst()) {
            #expect(next.sequence == one.sequence &+ 1 && next.timestamp == one.timestamp &+ 480)
        }
        #expect(simulation.soundDemands == [SoundDemand(full: true)])
        // A gap of half a second counts in whole packets; a clock that is a little off doesn't.
        var source = BrowserSound(offset: 0)
        source.push(EncodedSound(full: [1], time: .at(1)))
        source.push(EncodedSound(full: [1], time: .at(1.5101)))
        #expect(source.timestamp == 51 * 480)
        source.push(EncodedSound(full: [1], time: .at(1.5)))
        #expect(source.timestamp == 52 * 480)
    }

    // MARK: Keyframes

    /// A storm of requests by all makes the encoder make one a second at most, and not for ever.
    @Test func keyframeRequestsAreLimited() {
        var simulation = BrowserSimulation()
        for id in 1...5 as ClosedRange<UInt64> { simulation.add(id) }
        simulation.run(1)
        for _ in 0..<2000 {
            for id in 1...5 as ClosedRange<UInt64> {
                simulation.say(FakeBrowser.keyframe(of: simulation.browsers[Int(id - 1)].sources.video), id)
            }
            simulation.run(0.01)
        }
        for layer in 0...1 {
            let times = simulation.keyframeRequests.filter { $0.layer == layer }.map(\.time)
            #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= .seconds(1) })
        }
        // In 21 s each pays for 5 and 5 more; and it has one for each change of layers.
        let count = simulation.keyframeRequests.count
        let changes = simulation.events.count { if case .layer = $0.event { true } else { false } }
        #expect(count < 1 + 5 * 10 + changes && count > 5, "\(count), \(changes)")
        #expect(simulation.faults == [])
    }

    /// Whoever asks all the time is moved to the other layer, and has to wait there.
    @Test func aLiarPaysForItself() {
        var simulation = BrowserSimulation()
        simulation.add(1)
        simulation.add(2)
        simulation.run(1)
        let before = simulation.keyframeRequests.count
        for _ in 0..<3000 {
            simulation.say(FakeBrowser.keyframe(of: simulation.browsers[1].sources.video), 2)
            simulation.run(0.01)
        }
        let own = simulation.keyframeRequests.dropFirst(before).filter { $0.layer == 0 }
        // Of its budget, 30 s.
        #expect(own.count <= 8, "\(own.count)")
        #expect(simulation.figures(2).layer == 1 && simulation.figures(1).layer == 0)
        #expect(simulation.figures(1).skipped == 0)
        #expect(simulation.faults == [])
    }

    @Test func aBrowserJoinsWithTheNewestKeyframe() {
        var simulation = BrowserSimulation()
        simulation.add(1)
        simulation.run(0.3)
        simulation.add(2)
        simulation.run(0.1)
        #expect(simulation.keyframeRequests.count == 1)
        #expect(simulation.browsers[1].decoder.decoded > 8)
        simulation.run(1)
        simulation.add(3)
        simulation.run(0.2)
        #expect(simulation.keyframeRequests.count == 2 && simulation.browsers[2].decoder.decoded > 1)
        #expect(simulation.faults == [])
    }

    // MARK: Slow browsers

    /// A path that carries less than a third of the stream: the browser gets the reduced layer, at a rate that its path
    /// carries, and the full one again when it carries that. Others have all the time what they had.
    @Test func aSlowPathGetsTheReducedLayerAndComesBack() throws {
        var simulation = BrowserSimulation(bitRate: 3_000_000)
        simulation.add(1)
        simulation.add(2)
        simulation.run(3)
        simulation.links[ConnectionID(2)]?.rate = 1_200_000
        simulation.run(12)
        #expect(simulation.figures(2).isReduced && simulation.figures(2).layer == 1)
        #expect(simulation.events.contains { $0.event == .layer(ConnectionID(2), isReduced: true) })
        let reduced = try #require(simulation.demands.last { $0.layer == 1 }).demand
        #expect(reduced.takesAnyRate && (300_000...1_500_000).contains(reduced.bitRate ?? 0))
        simulation.links[ConnectionID(2)]?.rate = nil
        simulation.run(60)
        #expect(simulation.figures(2).layer == 0 && !simulation.figures(2).isReduced)
        #expect(simulation.events.contains { $0.event == .layer(ConnectionID(2), isReduced: false) })
        // Layer 0 was never lowered, and the other browser has had everything.
        #expect(simulation.demands.filter { $0.layer == 0 }.allSatisfy { $0.demand.bitRate == nil })
        #expect(simulation.figures(1).skipped == 0 && simulation.figures(1).frames == UInt64(simulation.framesMade[0]))
        #expect(simulation.browsers[0].decoder.decoded >= simulation.framesMade[0] - 1)
        #expect(simulation.faults == [])
        // The layer isn't made any more.
        #expect(try !#require(simulation.demands.last { $0.layer == 1 }).demand.isWatched)
    }

    /// Where there is no other layer: nothing for a while, then a keyframe.
    @Test func withoutAReducedLayerASlowPathGetsKeyframes() {
        var simulation = BrowserSimulation(bitRate: 3_000_000, hasReducedLayer: false)
        simulation.add(1)
        simulation.add(2, link: .init(rate: 800_000))
        simulation.run(20)
        let figures = simulation.figures(2)
        #expect(figures.layer == 0 && figures.skipped > 200 && figures.keyframes > 2)
        #expect(simulation.events.contains { $0.event == .behind(ConnectionID(2)) })
        #expect(simulation.events.contains { $0.event == .caughtUp(ConnectionID(2)) })
        #expect(simulation.figures(1).skipped == 0)
        #expect(simulation.faults == [])
    }

    /// Sequence numbers have no gap where pictures were left out, so nothing is asked for.
    @Test func disposablePicturesAreLeftOutFirst() {
        var simulation = BrowserSimulation(bitRate: 3_000_000)
        simulation.source.makesDisposable = true
        simulation.add(1)
        simulation.run(1)
        #expect(simulation.figures(1).skipped == 0)
        // As a bad verdict does, until the next good one.
        for _ in 0..<9 {
            simulation.stream.browsers[0].skipsDisposable = true
            simulation.run(0.1)
        }
        let figures = simulation.figures(1)
        #expect((12...15).contains(figures.skipped), "\(figures.skipped)")
        #expect(simulation.browsers[0].keyframeRequests == 0 && figures.resent == 0)
        #expect(simulation.faults == [])
    }

    // MARK: Silence

    @Test func aBrowserThatSleepsCostsNothingAndIsBackAtOnce() {
        var simulation = BrowserSimulation()
        simulation.add(1)
        simulation.add(2)
        simulation.run(2)
        simulation.browsers[1].isAsleep = true
        simulation.run(10)
        let sleeping = simulation.bursts.filter { $0.id == ConnectionID(2) && simulation.now - $0.time < .seconds(3) }
        #expect(sleeping.isEmpty)
        simulation.browsers[1].isAsleep = false
        let before = simulation.browsers[1].decoder.decoded
        simulation.run(1)
        #expect(simulation.browsers[1].decoder.decoded > before + 15)
        #expect(simulation.figures(1).skipped == 0)
        #expect(simulation.faults == [])
    }

    /// The host sends nothing to a browser that is silent, so that this has nothing to report on when its network is back: it
    /// sends reports without blocks then.
    @Test func aBrowserThatReportsOnNothingIsThereAgain() {
        var simulation = BrowserSimulation()
        simulation.add(1)
        simulation.run(2)
        simulation.browsers[0].isAsleep = true
        simulation.run(9)
        let sent = simulation.bursts.count
        for _ in 0..<3 {
            simulation.say([0x80, 201, 0, 1, 0, 0, 0, 1], 1)
            simulation.run(1)
        }
        #expect(simulation.bursts.count > sent + 30)
        #expect(simulation.events.allSatisfy { if case .evict = $0.event { false } else { true } })
    }

    @Test func aBrowserWhoseReportsStopIsOver() {
        var simulation = BrowserSimulation()
        simulation.add(1)
        simulation.add(2)
        simulation.run(2)
        simulation.browsers[1].isAsleep = true
        simulation.run(29)
        #expect(simulation.stream.figures(of: ConnectionID(2)) != nil)
        simulation.run(2)
        #expect(simulation.stream.figures(of: ConnectionID(2)) == nil)
        #expect(simulation.events.last?.event == .evict(ConnectionID(2), reason: .noReports))
        simulation.browsers[0].isAsleep = true
        simulation.run(10)
        // Nobody is in reach: nothing is encoded for browsers.
        #expect(simulation.demands.last.map { !$0.demand.isWatched && $0.layer == 0 } == true)
        simulation.run(25)
        #expect(simulation.stream.browsers.isEmpty && simulation.stream.pollOutputIsIdle(now: simulation.now))
    }

    // MARK: Still screens

    @Test func aStillScreenHasAPictureEachTwoSeconds() throws {
        var simulation = BrowserSimulation()
        simulation.add(1)
        simulation.run(1)
        simulation.source.isOn = false
        let before = simulation.browsers[0].pictures.count
        let start = simulation.figures(1)
        simulation.run(20)
        #expect((9...11).contains(simulation.browsers[0].pictures.count - before))
        #expect(simulation.demands.allSatisfy { $0.demand.longestPause == .seconds(2) || !$0.demand.isWatched })
        #expect(simulation.keyframeRequests.count == 1)
        // Each picture and its probe: 60 bytes.
        #expect(simulation.figures(1).bytes - start.bytes < 20 * 60)
        // A page on https asks for no keyframes.
        var page = BrowserSimulation()
        page.addPage(1)
        page.run(0.1)
        #expect(try #require(page.demands.first).demand.longestPause == nil)
    }

    /// The last packet before a pause is lost: the browser finds out by the probe, and not by the next picture.
    @Test func theEndOfAMovementIsRecovered() {
        for seed in 1...20 as ClosedRange<UInt64> {
            var simulation = BrowserSimulation(seed: seed)
            simulation.add(1)
            simulation.run(1)
            // The last picture before the pause loses about half of its packets.
            simulation.links[ConnectionID(1)]?.loss = 0.5
            simulation.run(0.03)
            simulation.source.isOn = false
            simulation.run(0.01)
            simulation.links[ConnectionID(1)]?.loss = 0
            simulation.run(0.2)
            #expect(simulation.browsers[0].decoder.decoded == simulation.framesMade[0], "seed \(seed)")
            #expect(simulation.faults == [])
        }
    }

    // MARK: Full colour

    @Test func packetsOfFullColourAreTheOtherLayer() {
        var simulation = BrowserSimulation(usesFullChroma: true)
        simulation.add(1)
        simulation.addPage(2)
        simulation.run(2)
        #expect(simulation.figures(1).layer == 1 && !simulation.figures(1).isReduced)
        #expect(simulation.figures(2).layer == 0)
        #expect(simulation.framesMade[0] > 50 && simulation.framesMade[1] > 50)
        // The other layer isn't a lesser one for them.
        #expect(simulation.demands.allSatisfy { $0.demand.bitRate == nil && !$0.demand.takesAnyRate })
        #expect(simulation.browsers[0].decoder.decoded > 50)
        #expect(simulation.faults == [])
    }
}

extension BrowserStream {
    func pollOutputIsIdle(now: MediaTime) -> Bool {
        var copy = self
        guard case .wait(let time) = copy.pollOutput(now: now) else { return false }
        return time == .distantFuture
    }
}
