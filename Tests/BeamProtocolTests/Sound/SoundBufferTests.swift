import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamPlayout
@testable import BeamSession
@testable import BeamWire

/// What the buffer does with single packets, silence and stalls.
@Suite struct SoundBufferTests {
    private static let quiet = SoundNetworkConditions(delay: 0.001, jitter: 0.0003, hold: 0)

    /// A buffer, and a player that asks every 10 ms and takes every step as 10 ms. The host's clock isn't known.
    private struct Table {
        var buffer = SoundBuffer()
        /// In ms.
        var now = 0.0
        var steps: [String] = []
        /// Silence isn't taken as 10 ms, but as long as it is.
        var takesShortSilence = false

        mutating func put(
            _ number: UInt32, stamp: Double? = nil, begins: Bool = false, ends: Bool = false, isReduced: Bool = false
        ) {
            let arrival = MediaTime.at(50 + now / 1000)
            buffer.put(
                ReceivedSound(
                    opus: [0], number: number, time: .at(900 + (stamp ?? Double(number) * 10) / 1000),
                    begins: begins, ends: ends, isReduced: isReduced, arrival: arrival),
                now: arrival)
        }

        /// Asks once: `5`, `5!` if the decoder is reset, `c` for concealment, `-` for silence.
        mutating func ask() {
            let time = MediaTime.at(50 + now / 1000)
            var (concealed, silent) = (0, 0)
            while true {
                switch buffer.next(filled: concealed + silent, latency: .milliseconds(7), now: time) {
                case .decode(let sound, let begins): return steps.append("\(sound.number)\(begins ? "!" : "")")
                case .conceal(let samples):
                    concealed += samples
                    if concealed == SoundBlock.length { return steps.append("c") }
                case .silence(let samples):
                    silent += takesShortSilence ? samples : SoundBlock.length
                    if silent >= SoundBlock.length { return steps.append("-") }
                }
            }
        }

        mutating func pass(_ milliseconds: Double = 10) { now += milliseconds }

        /// Packets that come every 10 ms, each a moment before one is asked for.
        mutating func play(_ numbers: ClosedRange<UInt32>) {
            for number in numbers {
                put(number)
                pass(1)
                ask()
                pass(9)
            }
        }

        var heard: String { steps.joined(separator: " ") }
    }

    @Test func nothingIsPlayedBeforeTheFirstPacketIsDue() {
        var table = Table()
        table.ask()
        table.put(7, begins: true)
        table.ask()
        table.pass()
        table.put(8)
        table.ask()
        table.pass()
        table.ask()
        #expect(table.heard == "- - 7! 8")
    }

    @Test func theFirstPacketsMayComeInAnyOrder() {
        var table = Table()
        table.put(9)
        table.put(8)
        table.pass(1)
        table.put(7, begins: true)
        for _ in 0..<4 {
            table.ask()
            table.pass()
        }
        #expect(table.heard.hasSuffix("7! 8 9"), "\(table.heard)")
        #expect(table.buffer.statistics.lost == 0)
    }

    @Test func numbersWrapAround() {
        var table = Table()
        for offset in 0..<6 as Range<UInt32> {
            table.put(.max - 2 &+ offset, stamp: Double(offset) * 10)
            table.pass(1)
            table.ask()
            table.pass(9)
        }
        #expect(table.heard == "- 4294967293! 4294967294 4294967295 0 1")
        #expect(table.buffer.statistics.concealedPackets == 0)
    }

    @Test func aPacketWhoseSuccessorsAreThereIsConcealedOnce() {
        var table = Table()
        for number in 0..<12 as Range<UInt32> where number != 4 { table.put(number) }
        table.pass()
        for _ in 0..<8 {
            table.ask()
            table.pass()
        }
        #expect(table.heard == "0! 1 2 3 c 5 6 7")
        let statistics = table.buffer.statistics
        #expect(statistics.lost == 1 && statistics.concealedPackets == 1 && statistics.underruns == 0)
        #expect(statistics.concealedShare == 0.125)
    }

    @Test func aRepeatThatComesInTimeIsUsed() {
        var table = Table()
        for number in 0..<12 as Range<UInt32> where number != 4 { table.put(number) }
        table.pass()
        for _ in 0..<4 {
            table.ask()
            table.pass()
        }
        table.put(4)
        table.ask()
        #expect(table.heard == "0! 1 2 3 4")
        #expect(table.buffer.statistics.late == 0)
    }

    /// A stall of 30 ms: what is late is concealed once, then all of it is played.
    @Test func whatComesInABunchIsPlayed() {
        var table = Table()
        table.play(0...20)
        // The first of them still finds number 20.
        for _ in 0..<4 {
            table.ask()
            table.pass()
        }
        for number in 21...24 as ClosedRange<UInt32> { table.put(number) }
        table.play(25...30)
        #expect(table.heard.hasSuffix("18 19 20 c c c 21 22 23 24 25 26"), "\(table.heard)")
        let statistics = table.buffer.statistics
        #expect(statistics.concealedPackets == 3 && statistics.underruns == 1)
        #expect(statistics.lost == 0 && statistics.late == 1 && statistics.dropped == 0)
    }

    /// A packet that is late by little makes those after it later by little.
    @Test func aLatePacketIsConcealedInPieces() {
        var table = Table()
        table.play(0...20)
        func next(_ samples: Int) -> SoundBuffer.Step {
            table.buffer.next(filled: samples, latency: .milliseconds(7), now: .at(50 + table.now / 1000))
        }
        // Number 20 is heard first.
        table.ask()
        table.pass()
        #expect(next(0) == .conceal(samples: 120) && next(120) == .conceal(samples: 120))
        #expect(next(240) == .conceal(samples: 240), "longer pieces sound better")
        table.put(21)
        table.pass()
        guard case .decode(let late, begins: false) = next(0) else {
            Issue.record("number 21 is there")
            return
        }
        #expect(late.number == 21 && table.buffer.statistics.concealedSamples == 480)
        table.pass()
        #expect(next(0) == .conceal(samples: 120))
        // Number 22 was lost: the rest of it is concealed, too.
        table.put(23)
        table.pass(2.5)
        #expect(next(0) == .conceal(samples: 360))
        table.pass(7.5)
        guard case .decode(let following, begins: false) = next(0) else {
            Issue.record("number 23 is there")
            return
        }
        #expect(following.number == 23 && table.buffer.statistics.concealedSamples == 960)
        #expect(table.buffer.statistics.lost == 1 && table.buffer.statistics.underruns == 2)
    }

    /// A stall of more than 60 ms, but less than the longest delay.
    @Test func afterSixConcealedPacketsThereIsSilence() {
        var table = Table()
        table.play(0...20)
        for _ in 0..<11 {
            table.ask()
            table.pass()
        }
        #expect(table.heard.hasSuffix("c c c c c c - - - -"), "\(table.heard)")
        #expect(table.buffer.statistics.concealedPackets == 0, "it could be silence")
        for number in 21...32 as ClosedRange<UInt32> { table.put(number) }
        table.play(33...50)
        let played = table.steps.compactMap { UInt32($0.filter(\.isNumber)) }
        #expect(played == Array(0...UInt32(played.count - 1)), "all of it")
        #expect((10...11).contains(table.buffer.statistics.concealedPackets))
    }

    @Test func afterALongStallOnlyTheNewestIsPlayed() {
        var table = Table()
        table.play(0...20)
        for _ in 0..<60 {
            table.ask()
            table.pass()
        }
        for number in 21...80 as ClosedRange<UInt32> { table.put(number) }
        table.play(81...100)
        let after = table.steps.drop { $0 != "-" }.drop { $0 == "-" }
        let next = UInt32(table.steps.dropFirst(80).first { $0.hasSuffix("!") }?.dropLast() ?? "") ?? 0
        #expect(next >= 78, "\(after.suffix(30))")
        #expect(table.buffer.statistics.dropped > 50)
        #expect(table.buffer.statistics.buffer < .milliseconds(40))
    }

    @Test func silenceIsNoLoss() {
        var table = Table()
        table.play(0...9)
        table.put(10, ends: true)
        for _ in 0..<100 {
            table.ask()
            table.pass()
        }
        let before = table.buffer.statistics
        #expect(before.played == 11 && before.concealedPackets == 0 && before.underruns == 0 && before.lost == 0)
        table.put(11, stamp: 1100, begins: true)
        table.pass()
        table.put(12, stamp: 1110)
        table.ask()
        table.pass()
        table.ask()
        #expect(table.heard.hasSuffix("- 11! 12") || table.heard.hasSuffix("- - 11!"), "\(table.heard)")
        #expect(table.buffer.statistics.concealedPackets == 0)
    }

    @Test func aLostEndIsConcealedAndNotCounted() {
        var table = Table()
        table.play(0...20)
        for _ in 0..<100 {
            table.ask()
            table.pass()
        }
        #expect(table.steps.filter { $0 == "c" }.count == 6)
        #expect(table.buffer.statistics.concealedPackets == 0)
        // Number 21 was the last one.
        table.put(22, stamp: 1210, begins: true)
        table.pass()
        table.put(23, stamp: 1220)
        for _ in 0..<4 {
            table.ask()
            table.pass()
        }
        #expect(table.heard.contains("- 22! 23"), "\(table.heard)")
        #expect(table.buffer.statistics.concealedPackets == 1 && table.buffer.statistics.lost == 1)
    }

    /// The packet that ended the sound and the one that began it anew are lost; the stamps show the silence.
    @Test func silenceIsSeenByTheStamps() {
        var table = Table()
        for number in 0...5 as ClosedRange<UInt32> { table.put(number) }
        table.pass()
        for _ in 0..<6 {
            table.ask()
            table.pass()
        }
        table.pass(420)
        table.put(8, stamp: 480)
        for _ in 0..<5 {
            table.ask()
            table.pass()
        }
        #expect(table.steps.contains("8!"), "\(table.heard)")
        #expect(table.buffer.statistics.lost == 2)
    }

    @Test func anotherEncoderNeedsAFreshDecoder() {
        var table = Table()
        for number in 0..<8 as Range<UInt32> { table.put(number, isReduced: (3..<5).contains(number)) }
        table.pass()
        for _ in 0..<8 {
            table.ask()
            table.pass()
        }
        #expect(table.heard == "0! 1 2 3! 4 5! 6 7")
    }

    @Test func silenceEndsToTheSample() {
        var buffer = SoundBuffer()
        let start = MediaTime.at(10.0)
        buffer.put(ReceivedSound(opus: [0], number: 1, time: .zero, begins: true, arrival: start), now: start)
        let callback = start + .milliseconds(2)
        #expect(buffer.next(filled: 0, latency: .milliseconds(5), now: callback) == .silence(samples: 384))
        // 8 ms later in the same callback.
        guard case .decode = buffer.next(filled: 384, latency: .milliseconds(5), now: callback) else {
            Issue.record("10 ms after its arrival the first packet is played")
            return
        }
    }

    /// One late packet an hour costs one packet of concealment, and after half a minute no delay.
    @Test func aDeviceThatStoodStillIsNotTheNetworksFault() {
        var table = Table()
        table.play(0...20)
        let before = table.buffer.statistics
        // 2 s, of which the first 1.5 s were left out before they came here.
        table.pass(1500)
        for number in UInt32(171)...220 {
            table.put(number)
            table.pass()
        }
        table.buffer.deviceStalled()
        table.steps = []
        table.takesShortSilence = true
        table.play(221...400)
        let after = table.buffer.statistics
        #expect(table.heard.hasPrefix("220!") || table.heard.hasPrefix("221!"), "\(table.heard.prefix(40))")
        #expect(after.concealedPackets == before.concealedPackets && after.lost == before.lost)
        #expect(after.dropped - before.dropped >= 198)
        #expect(after.buffer < before.buffer + .milliseconds(2), "\(after.buffer) after \(before.buffer)")
    }

    @Test func aSingleLossNeedsNoDelay() {
        var conditions = Self.quiet
        conditions.stalls = [(60, 60.04)]
        var simulation = SoundSimulation(conditions)
        simulation.run(for: 59)
        let before = simulation.buffer.statistics
        simulation.run(for: 3)
        let during = simulation.buffer.statistics
        #expect(during.buffer > before.buffer + .milliseconds(20))
        #expect((3...5).contains(during.concealedPackets) && during.lost == 0 && during.dropped == 0)
        simulation.run(for: 60)
        let after = simulation.buffer.statistics
        #expect(after.buffer < before.buffer + .milliseconds(1), "\(after)")
        #expect(after.concealedPackets == during.concealedPackets)
    }

    @Test func repeatedStallsAreWaitedFor() {
        var conditions = Self.quiet
        conditions.stalls = stride(from: 4.0, to: 120, by: 2).map { ($0, $0 + 0.05) }
        var simulation = SoundSimulation(conditions)
        simulation.run(for: 20)
        let before = simulation.buffer.statistics
        simulation.run(for: 100)
        let after = simulation.buffer.statistics
        #expect(after.concealedPackets - before.concealedPackets <= 5, "\(after)")
        #expect(after.buffer < .milliseconds(60))
    }

    /// The delay shrinks by resampling: no packet is left out, and the pitch changes by 5 cents at most.
    @Test func theDelayShrinksInaudibly() {
        var conditions = Self.quiet
        conditions.stalls = [(5, 5.15)]
        var simulation = SoundSimulation(conditions)
        var last: (number: Int, latency: Double)?
        var largestStep = 0.0
        nonisolated(unsafe) var skipped = 0
        simulation.run(for: 8)
        simulation.onHeard = { heard in
            if let last {
                skipped += heard.number - last.number - 1
                largestStep = max(largestStep, abs(heard.latency - last.latency))
            }
            last = (heard.number, heard.latency)
        }
        var fastest = 0.0
        for _ in 0..<900 {
            let before = simulation.buffer.ratio
            simulation.run(for: 0.1)
            fastest = max(fastest, abs(simulation.buffer.ratio - before))
            #expect(abs(simulation.buffer.ratio - 1) <= 0.003)
        }
        #expect(skipped == 0 && largestStep < 35e-6)
        #expect(fastest <= 61e-6, "500 ppm a second")
        #expect(simulation.buffer.statistics.buffer < .milliseconds(12))
    }

    /// A device that stood still, such as a headset that came back, plays the newest sound, not what waited meanwhile.
    @Test(arguments: [0.6, 2, 30])
    func aDeviceThatStoodStillIsNotBehind(seconds: Double) {
        var simulation = SoundSimulation(Self.quiet)
        simulation.run(for: 10)
        simulation.pauseDevice(for: seconds)
        var latency = 1.0
        simulation.onHeard = { latency = $0.latency }
        simulation.run(for: seconds + 1)
        #expect(latency < 0.04, "\(latency)")
        let before = simulation.buffer.statistics
        simulation.run(for: 10)
        #expect(simulation.buffer.statistics.played - before.played > 990)
    }

    /// Another route, 300 ms longer: more than the longest delay, but the sound goes on.
    @Test func aPathThatBecomesLongerIsAccepted() {
        var simulation = SoundSimulation(Self.quiet)
        simulation.run(for: 30)
        simulation.network.conditions.delay += 0.3
        simulation.run(for: 3)
        simulation.measuresFrom = simulation.now
        simulation.run(for: 10)
        #expect(simulation.decoded > 980 && simulation.concealed < 20, "\(simulation.buffer.statistics)")
        simulation.run(for: 60)
        #expect(simulation.buffer.statistics.buffer < .milliseconds(20), "\(simulation.buffer.statistics)")
        // And back: what waits then is played.
        simulation.network.conditions.delay -= 0.3
        simulation.run(for: 100)
        #expect(simulation.concealed < 20)
    }

    @Test func soundInTurnsBeginsWithTheLearntDelay() {
        var simulation = SoundSimulation(SoundNetworkConditions(delay: 0.005, loss: 0.02, repeats: 1))
        // A second of sound every 7 s.
        simulation.isPlaying = { $0.truncatingRemainder(dividingBy: 7) < 1 }
        simulation.clockDrift = 80e-6
        simulation.run(for: 140)
        let before = simulation.buffer.statistics
        var latencies: [Double] = []
        simulation.onHeard = { latencies.append($0.latency) }
        simulation.run(for: 700)
        let after = simulation.buffer.statistics
        #expect(after.played - before.played > 9700)
        #expect(after.concealedPackets - before.concealedPackets < 40, "\(after)")
        // A lost end is repeated with the next beginning: too late.
        #expect(after.dropped < 12 && abs(after.driftPPM) < 90, "\(after)")
        latencies.sort()

        #expect(latencies[latencies.count - 1 - latencies.count / 50] - latencies[latencies.count / 50] < 0.015)
    }
}

extension SoundStatistics {
    /// What was made up, in lengths of a packet.
    var concealedPackets: Double { Double(concealedSamples) / Double(SoundBlock.length) }
}
