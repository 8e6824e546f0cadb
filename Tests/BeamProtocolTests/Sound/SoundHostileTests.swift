import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamPlayout
@testable import BeamSession
@testable import BeamWire

/// A host that chooses numbers, times and flags as it likes: nothing traps or grows, and honest sound plays soon after.
@Suite struct SoundHostileTests {
    enum Manner: CaseIterable {
        case random, jumping, stampsStandStill, stampsWander, stampsRunAhead, alwaysBegins, alwaysEnds, extremes
    }

    private static func packet(
        _ index: Int, _ manner: Manner, now: MediaTime, random: inout SeededGenerator
    ) -> ReceivedSound {
        var sound = ReceivedSound(
            opus: [1], number: UInt32(index), time: now + .seconds(77), arrival: now, clockOffset: .seconds(-77))
        switch manner {
        case .random:
            sound.number = UInt32(truncatingIfNeeded: random.next())
            sound.time = MediaTime(nanoseconds: Int64(bitPattern: random.next()))
            sound.clockOffset = random.chance(0.5) ? nil : .nanoseconds(Int64(bitPattern: random.next()))
            sound.begins = random.chance(0.3)
            sound.ends = random.chance(0.3)
            sound.isReduced = random.chance(0.3)
        case .jumping:
            sound.number = UInt32(index) &+ UInt32.random(in: 0...300, using: &random)
            sound.time = sound.time + .milliseconds(Int64.random(in: -400...400, using: &random))
        case .stampsStandStill: sound.time = .zero
        case .stampsWander: sound.time = .at(Double(index) * 0.0149)
        case .stampsRunAhead: sound.time = .at(Double(index) * 0.2)
        case .alwaysBegins: sound.begins = true
        case .alwaysEnds:
            sound.ends = true
            sound.begins = true
        case .extremes:
            sound.number = [0, .max, 1 << 31, UInt32(index)].randomElement(using: &random) ?? 0
            sound.time = [.distantPast, .distantFuture, .zero].randomElement(using: &random) ?? .zero
            sound.clockOffset = [.nanoseconds(Int64.max), .nanoseconds(Int64.min)].randomElement(using: &random)
        }
        return sound
    }

    @Test(arguments: Manner.allCases)
    func nothingIsUpset(_ manner: Manner) {
        var random = SeededGenerator(seed: 4)
        var buffer = SoundBuffer()
        var now = MediaTime.at(10.0)
        let count = manner == .random ? 100_000 : 20_000
        var decoded = 0
        for index in 0..<count {
            if index % 1000 == 0 { buffer.leastLatency = index % 2000 == 0 ? nil : .seconds(5) }
            buffer.put(Self.packet(index, manner, now: now, random: &random), now: now)
            switch buffer.next(filled: index % 3, latency: .milliseconds(7), now: now) {
            case .decode: decoded += 1
            case .silence(let samples): #expect((1...480).contains(samples))
            case .conceal(let samples): #expect([120, 240, 360, 480].contains(samples))
            }
            #expect(abs(buffer.ratio - 1) <= 0.003)
            if index % 64 == 0 { _ = buffer.statistics }
            if index % 10 != 0 || manner != .random { now = now + .milliseconds(10) }
        }
        #expect(now < .at(990) || manner == .random)
        #expect(decoded > 0)
        // Then an honest host: another stream of the same buffer.
        buffer.leastLatency = nil
        var simulation = SoundSimulation(SoundNetworkConditions(), start: now.seconds)
        simulation.buffer = buffer
        simulation.run(for: 2)
        simulation.measuresFrom = 2
        simulation.run(for: 2)
        #expect(simulation.decoded >= 195, "\(simulation.buffer.statistics)")
        simulation.run(for: 26)
        #expect(simulation.decoded >= 2790, "\(simulation.buffer.statistics)")
        #expect(simulation.buffer.statistics.buffer < .milliseconds(210))
    }

    /// Times of this machine that can't be: the player's own error, but no reason to trap.
    @Test func anyTimeIsAccepted() {
        var buffer = SoundBuffer()
        let times: [MediaTime] = [.distantPast, .zero, .distantFuture, .at(1)]
        for (index, time) in times.enumerated() {
            for other in times {
                for third in times {
                    buffer.put(
                        ReceivedSound(opus: [], number: UInt32(index), time: third, arrival: other), now: time)
                    _ = buffer.next(filled: .max, latency: other - third, now: time)
                    _ = buffer.next(filled: .min, latency: third - other, now: other)
                    _ = buffer.statistics
                }
            }
        }
        #expect(buffer.ratio.isFinite)
    }

    @Test func longPacketsAreLeftOut() {
        var buffer = SoundBuffer()
        var order = SoundOrder()
        let sound = ReceivedSound(
            opus: [UInt8](repeating: 0, count: 1277), number: 1, time: .zero, arrival: .at(1))
        buffer.put(sound, now: .at(1.0))
        order.put(sound)
        #expect(buffer.next(filled: 0, latency: .zero, now: .at(2.0)) == .silence(samples: 480))
        #expect(order.take(now: .distantFuture) == nil)
    }

    @Test(arguments: Manner.allCases)
    func theOrderForFilesHolds(_ manner: Manner) {
        var random = SeededGenerator(seed: 6)
        var order = SoundOrder()
        var now = MediaTime.at(10.0)
        var entries = 0
        for index in 0..<20_000 {
            order.put(Self.packet(index, manner, now: now, random: &random))
            while let entry = order.take(now: now) {
                entries += 1
                if case .missing(_, _, let count) = entry { #expect((1...100).contains(count)) }
            }
            now = now + .milliseconds(10)
        }
        #expect(entries > 1000)
        var honest = 0
        for index in 0..<400 as Range<UInt32> {
            order.put(
                ReceivedSound(opus: [2], number: 3_000_000_000 + index, time: now, begins: index == 0, arrival: now))
            while let entry = order.take(now: now) {
                if case .packet(let sound) = entry, sound.opus == [2] { honest += 1 }
            }
            now = now + .milliseconds(10)
        }
        #expect(honest > 250, "\(honest)")
    }
}
