import BeamMedia
import Testing

@testable import BeamSession
@testable import BeamWire

/// Browsers that are authentic and mean harm.
struct BrowserHostilityTests {
    /// A browser and a hostile one, which have watched for a moment.
    private func simulation(rate: Int = 8_000_000) -> BrowserSimulation {
        var simulation = BrowserSimulation(bitRate: rate)
        simulation.add(1)
        simulation.add(2)
        simulation.run(2)
        return simulation
    }

    private func isOtherServed(_ simulation: BrowserSimulation) -> Bool {
        simulation.figures(1).skipped == 0 && simulation.browsers[0].decoder.decoded >= simulation.framesMade[0] - 1
            && simulation.errors.isEmpty && simulation.browsers[0].errors.isEmpty
            && simulation.browsers[0].decoder.errors.isEmpty
    }

    /// Everything is asked for, all the time: at most as much again as the stream itself leaves.
    @Test func aStormOfMissingPacketsIsBounded() {
        var simulation = simulation()
        let source = simulation.browsers[1].sources.video
        let start = simulation.now
        for round in 0..<5000 {
            let next = simulation.stream.browsers[1].packets?.nextSequence ?? 0
            let numbers = (1...300).map { next &- UInt16($0 + round % 3 * 300) }
            simulation.say(FakeBrowser.missing(numbers, of: source), 2)
            simulation.run(0.001)
        }
        let own = simulation.bursts.filter { $0.id == ConnectionID(2) && $0.time > start + .seconds(1) }
        let others = simulation.bursts.filter { $0.id == ConnectionID(1) && $0.time > start }
        #expect(simulation.figures(2).resent > 100)
        for second in 1...3 {
            func sum(_ bursts: [(time: MediaTime, id: ConnectionID, count: Int, bytes: Int)], _ begin: Double) -> Int {
                let from = start + .seconds(begin)
                return bursts.filter { $0.time >= from && $0.time < from + .seconds(1) }.reduce(0) { $0 + $1.bytes }
            }
            // The other one's share is the stream's in the second before and in this one.
            let stream = max(sum(others, Double(second)), sum(others, Double(second) - 1))
            let all = sum(own, Double(second))
            #expect(all <= stream * 22 / 10, "\(all) of \(stream)")
        }
        #expect(isOtherServed(simulation))
    }

    @Test func whatMeansAnotherSourceHasNoEffect() {
        var simulation = simulation()
        let before = (simulation.figures(2), simulation.keyframeRequests.count)
        let other = simulation.browsers[0].sources.video
        let next = simulation.stream.browsers[1].packets?.nextSequence ?? 0
        for source in [other, 0, .max] {
            simulation.say(FakeBrowser.missing([next &- 1, next &- 2], of: source), 2)
            simulation.say(FakeBrowser.keyframe(of: source), 2)
            simulation.say(
                FakeBrowser.report(ReceptionReport(source: source, cumulativeLost: 9999, highestSequence: .max)), 2)
        }
        #expect(simulation.figures(2) == before.0 && simulation.keyframeRequests.count == before.1)
        #expect(isOtherServed(simulation))
    }

    /// Packets that were never sent, or long ago, or aren't sent yet.
    @Test func onlyWhatIsKeptIsSentAgain() {
        var simulation = simulation()
        let source = simulation.browsers[1].sources.video
        let next = simulation.stream.browsers[1].packets?.nextSequence ?? 0
        let before = simulation.figures(2).resent
        simulation.say(FakeBrowser.missing([next, next &+ 1, next &+ 0x7FFF, next &- 30_000], of: source), 2)
        simulation.run(0.02)
        #expect(simulation.figures(2).resent == before)
        simulation.say(FakeBrowser.missing([next &- 1], of: source), 2)
        #expect(simulation.figures(2).resent == before + 1)
    }

    /// Reports whose numbers can't be aren't believed: nobody is moved by them.
    @Test func impossibleReportsAreNotBelieved() {
        var simulation = simulation()
        let source = simulation.browsers[1].sources.video
        for round in 0..<300 {
            let values: [UInt32] = [0, 1, .max, 0x8000_0000, 0x7FFF_FFFF, UInt32(round) &* 0x0101_0101]
            for value in values {
                simulation.say(
                    FakeBrowser.report(
                        ReceptionReport(
                            source: source, fractionLost: 255, cumulativeLost: Int32(bitPattern: value),
                            highestSequence: value, jitter: value, lastReport: value, delay: value)), 2)
            }
            simulation.run(0.02)
        }
        #expect(isOtherServed(simulation) && simulation.figures(1).layer == 0)
        #expect((simulation.figures(2).loss ?? 0) <= 1)
    }

    @Test func whatLiesAboutItsLengthIsReadUpToThere() {
        var simulation = simulation()
        let source = simulation.browsers[1].sources.video
        let before = simulation.keyframeRequests.count
        simulation.say([0x81, 206, 0xFF, 0xFF, 0, 0, 0, 1] + TestFrame.big(source), 2)
        simulation.say([], 2)
        simulation.say([0], 2)
        #expect(simulation.keyframeRequests.count == before)
        simulation.say(FakeBrowser.keyframe(of: source) + [0x81, 201, 0xFF, 0xFF], 2)
        simulation.run(0.6)
        #expect(simulation.keyframeRequests.count == before + 1)
    }

    /// Whatever they do, what is kept is bounded.
    @Test func memoryIsBounded() {
        var simulation = BrowserSimulation(bitRate: 20_000_000)
        simulation.source.interval = 8
        simulation.source.frameBytes = 30_000
        simulation.acknowledges = false
        for id in 1...3 as ClosedRange<UInt64> { simulation.add(id) }
        simulation.addPage(4)
        simulation.browsers[2].isAsleep = true
        for _ in 0..<2000 {
            let browser = simulation.stream.browsers[1]
            let next = browser.packets?.nextSequence ?? 0
            simulation.say(
                FakeBrowser.missing((1...300).map { next &- $0 * 8 }, of: simulation.browsers[1].sources.video), 2)
            simulation.run(0.004)
            for layer in simulation.stream.layers {
                #expect(layer.packetCount <= BrowserLayer.ring + 256 + 60)
            }
            for browser in simulation.stream.browsers {
                #expect((browser.packets?.resendCount ?? 0) <= PacketDelivery.mostResends)
                #expect((browser.packets?.historyCount ?? 0) <= 1152)
                #expect((browser.units?.bytesInFlight ?? 0) <= UnitDelivery.mostBytes + 30_000)
            }
        }
        #expect(simulation.errors == [])
    }

    /// The ring keeps 4,096 packets, and finds each of them for a browser, at the turn of the numbers, too.
    @Test func theRingKeeps4096Packets() {
        var history = PacketHistory(first: 65_000)
        var numbers: [UInt16] = []
        for position in 0..<500 {
            let first = history.add(count: 20, layer: 0, position: position)
            numbers += (0..<20).map { first &+ $0 }
        }
        for (back, number) in numbers.reversed().enumerated() {
            let found = history.find(number)
            guard back < 4096 else {
                #expect(found == nil)
                continue
            }
            let place = 9999 - back
            #expect(found?.packet.position == place / 20 && found?.packet.index == place % 20 && found?.isNew == true)
            #expect(history.find(number)?.isNew == false)
        }
        #expect(history.find(history.nextSequence) == nil)
        // A picture that was cut short leaves no gap.
        let first = history.add(count: 10, layer: 0, position: 500)
        history.cutShort(to: 3)
        #expect(history.nextSequence == first &+ 3 && history.find(first &+ 2)?.packet.index == 2)
        var layer = BrowserLayer()
        for index in 0..<3000 as Range<UInt32> {
            _ = layer.push(
                TestFrame.make(index, bytes: 3000), timestamp: index, order: Int(index), now: .at(1))
        }
        #expect(layer.packetCount >= 4096 && layer.packetCount <= 4096 + 256)
    }
}
