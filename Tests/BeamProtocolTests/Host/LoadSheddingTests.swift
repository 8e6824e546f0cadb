import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// What a host sends less of while its machine can't send everything.
struct LoadSheddingTests {
    private static let behind = MachineLoad(lateness: .milliseconds(120), busy: 1)
    private static let atRest = MachineLoad(lateness: .zero, busy: 0.1)

    /// A machine that sends `capacity` bits a second, and is behind if it is to send more.
    private struct Machine {
        var capacity: Double
        var viewers = 10
        let bitRate = 8_000_000
        var shedding = LoadShedding()
        var now = MediaTime.zero
        var changes: [(time: MediaTime, sheds: Shedding)] = []
        var sent = 0.0

        mutating func run(_ seconds: Double) {
            for _ in 0..<Int(seconds * 4) {
                now = now + .milliseconds(250)
                let wanted = Double(viewers * bitRate)
                let asked = min(wanted, shedding.ceiling ?? wanted) / Double(shedding.divisor)
                sent = min(asked, capacity)
                let load = MachineLoad(
                    lateness: asked > capacity ? .milliseconds(150) : .milliseconds(2), busy: asked / capacity)
                if shedding.take(load, sent: sent, viewers: viewers, bitRate: bitRate, now: now) {
                    changes.append((now, shedding.sheds))
                }
            }
        }

        var stages: [Shedding] {
            changes.map(\.sheds).reduce(into: []) { if $0.last != $1 { $0.append($1) } }
        }
    }

    @Test func bitsThenFramesThenPlacesAndBackAgain() {
        // Less than an eighth of the rate, and a third of the frames.
        var machine = Machine(capacity: 2_000_000)
        machine.run(12)
        #expect(machine.stages == [.rate, .frames, .places])
        #expect(machine.shedding.ceiling == 10_000_000 && machine.shedding.divisor == 3)
        #expect((machine.changes.last?.time ?? .distantFuture) < .at(9))

        machine.changes = []
        machine.capacity = 1e9
        machine.run(15)
        #expect(machine.stages == [.frames, .rate, .nothing])
        #expect(machine.shedding.ceiling == nil && machine.shedding.divisor == 1)
    }

    @Test(arguments: [70e6, 60e6, 40e6, 25e6]) func itSettlesBelowWhatTheMachineCarries(capacity: Double) {
        var machine = Machine(capacity: capacity)
        machine.run(10)
        #expect(machine.stages == [.rate])
        machine.changes = []
        machine.run(300)
        // Only bits, and hardly a change in five minutes.
        #expect(machine.changes.count <= 2, "\(machine.changes)")
        #expect(machine.sent >= 0.6 * capacity && machine.sent <= 0.95 * capacity)
    }

    @Test func viewersThatLeaveMakeRoomAtOnce() throws {
        var machine = Machine(capacity: 400e6, viewers: 200)
        machine.run(10)
        let share = try #require(machine.shedding.share([(viewers: 200, rate: 8e6), (viewers: 0, rate: 8e6)]))
        #expect((1_000_000...2_000_000).contains(share))
        #expect(machine.shedding.share([(viewers: 30, rate: 8e6), (viewers: 0, rate: 8e6)]) == nil)
        machine.viewers = 30
        machine.run(10)
        #expect(machine.shedding.sheds == .nothing)
    }

    @Test func whoGetsLessLeavesTheRestToTheOthers() throws {
        var machine = Machine(capacity: 40e6)
        machine.run(10)
        let ceiling = try #require(machine.shedding.ceiling)
        // Those on slow paths keep their rate.
        let share = try #require(machine.shedding.share([(viewers: 5, rate: 8e6), (viewers: 5, rate: 1e6)]))
        #expect(abs(Double(share) - (ceiling - 5e6) / 5) < 2)
        #expect(machine.shedding.share([(viewers: 5, rate: 1e6), (viewers: 5, rate: 2e6)]) == nil)
    }

    /// A machine that keeps up, whose viewers lose `share` of what exceeds `capacity`, and `always` anyway.
    private func lossOf(capacity: Double, always: Double, seconds: Int) -> [Double?] {
        var (shedding, now, ceilings) = (LoadShedding(), MediaTime.zero, [Double?]())
        for _ in 0..<4 * seconds {
            now = now + .milliseconds(250)
            let sent = min(80e6, shedding.ceiling ?? 80e6)
            let loss = max(always, 1 - capacity / sent)
            _ = shedding.take(
                MachineLoad(lateness: .zero, busy: 0.5), sent: sent, viewers: 10, bitRate: 8_000_000, loss: loss,
                now: now)
            ceilings.append(shedding.ceiling)
            #expect(shedding.sheds <= .rate)
        }
        return ceilings
    }

    @Test func whatAllLoseBeyondACapacityLowersTheRate() {
        let ceilings = lossOf(capacity: 50e6, always: 0.01, seconds: 120).dropFirst(4 * 10).map { $0 ?? 80e6 }
        // It tries again, but not often.
        #expect(ceilings.count { $0 <= 53e6 } >= ceilings.count * 8 / 10)
        #expect(ceilings.allSatisfy { $0 >= 30e6 })
    }

    @Test func lossThatStaysLowersNothing() {
        let ceilings = lossOf(capacity: 1e9, always: 0.2, seconds: 600)
        // It is tried for 3 s each time, and ever less often.
        #expect(ceilings.count { $0 != nil } <= 4 * 13)
        #expect(ceilings[4 * 30] == nil)
    }

    @Test func aPauseIsNoOverload() {
        var shedding = LoadShedding()
        var now = MediaTime.zero
        for step in 0..<400 {
            now = now + .milliseconds(250)
            // Half of the time, in pairs.
            let load = step % 4 < 2 ? MachineLoad(lateness: .seconds(3600), busy: 1) : Self.atRest
            let hasChanged = shedding.take(load, sent: 80e6, viewers: 10, bitRate: 8_000_000, now: now)
            #expect(!hasChanged)
        }
        #expect(shedding.sheds == .nothing)
    }

    @Test func aRaiseThatWasTakenBackIsTriedLaterEachTime() {
        // A machine that falls behind without having been busy.
        var (shedding, now, raises) = (LoadShedding(), MediaTime.zero, [MediaTime]())
        for _ in 0..<1200 {
            now = now + .milliseconds(250)
            let isBehind = (shedding.ceiling ?? 80e6) > 40e6
            let before = shedding.ceiling ?? .infinity
            let hasChanged = shedding.take(
                isBehind ? Self.behind : Self.atRest, sent: min(80e6, before), viewers: 10, bitRate: 8_000_000,
                now: now)
            if hasChanged, (shedding.ceiling ?? .infinity) > before { raises.append(now) }
        }
        // In five minutes, of which a raise each second would be 300.
        #expect(raises.count < 20, "\(raises.map(\.seconds))")
    }

    @Test func extremesDoNotTrap() {
        for busy in [Double.nan, .infinity, -1, 0, 1] {
            for lateness in [Duration.zero, .seconds(Int64.max / 2), .seconds(-5)] {
                for sent in [Double.infinity, 0, .greatestFiniteMagnitude] {
                    var shedding = LoadShedding()
                    for step in 0..<60 {
                        _ = shedding.take(
                            MachineLoad(lateness: lateness, busy: busy), sent: sent, viewers: .max, bitRate: .max,
                            now: .zero + .milliseconds(250 * step))
                        _ = shedding.share([(viewers: 1000, rate: .infinity), (viewers: 1, rate: 0)])
                    }
                }
            }
        }
    }
}
