import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamPlayout
@testable import BeamSession
@testable import BeamWire

/// Packets in order for a file.
@Suite struct SoundOrderTests {
    private static func packet(_ number: UInt32, at milliseconds: Int64, stamp: Int64? = nil) -> ReceivedSound {
        ReceivedSound(
            opus: [UInt8(truncatingIfNeeded: number)], number: number,
            time: MediaTime.zero + .milliseconds(stamp ?? Int64(number) * 10),
            arrival: MediaTime.zero + .milliseconds(milliseconds))
    }

    private static func ms(_ milliseconds: Int64) -> MediaTime { .zero + .milliseconds(milliseconds) }

    /// What can be taken: numbers, and `(number, count)` of what is missing.
    private static func take(_ order: inout SoundOrder, at milliseconds: Int64) -> [String] {
        var entries: [String] = []
        while let entry = order.take(now: ms(milliseconds)) {
            switch entry {
            case .packet(let sound): entries.append("\(sound.number)")
            case .missing(let number, let time, let count):
                entries.append("\(count) from \(number) at \((time - .zero).inMilliseconds)")
            }
        }
        return entries
    }

    /// After the first packet, which waits for earlier ones.
    private static func begun() -> SoundOrder {
        var order = SoundOrder()
        order.put(packet(1, at: 0))
        #expect(take(&order, at: 299) == [])
        #expect(take(&order, at: 300) == ["1"])
        return order
    }

    @Test func packetsAreHandedOnAsTheyCome() {
        var order = Self.begun()
        order.put(Self.packet(2, at: 301))
        #expect(order.deadline == .distantPast)
        #expect(Self.take(&order, at: 301) == ["2"])
        #expect(order.deadline == nil)
        order.put(Self.packet(2, at: 302))
        #expect(Self.take(&order, at: 900) == [], "a duplicate")
    }

    @Test func aLatePacketIsWaitedFor() {
        var order = Self.begun()
        order.put(Self.packet(4, at: 310))
        order.put(Self.packet(3, at: 320))
        #expect(order.deadline == Self.ms(610))
        #expect(Self.take(&order, at: 600) == [])
        order.put(Self.packet(2, at: 605))
        #expect(Self.take(&order, at: 605) == ["2", "3", "4"])
        #expect(order.missing == 0)
    }

    @Test func whatDoesNotComeIsReported() {
        var order = Self.begun()
        order.put(Self.packet(4, at: 310))
        order.put(Self.packet(6, at: 330))
        #expect(Self.take(&order, at: 610) == ["2 from 2 at 20.0", "4"])
        order.put(Self.packet(3, at: 615))
        #expect(order.late == 1)
        #expect(Self.take(&order, at: 630) == ["1 from 5 at 50.0", "6"])
        #expect(order.missing == 3)
    }

    @Test func theEndGivesEverything() {
        var order = Self.begun()
        for number: UInt32 in [3, 5] { order.put(Self.packet(number, at: 310)) }
        var entries = 0
        while order.take(now: .distantFuture) != nil { entries += 1 }
        #expect(entries == 4)
    }

    @Test func numbersWrapAround() {
        var order = SoundOrder()
        for number: UInt32 in [1, .max, 0, .max - 1] { order.put(Self.packet(number, at: 0, stamp: 0)) }
        #expect(Self.take(&order, at: 300) == ["4294967294", "4294967295", "0", "1"])
    }

    /// A host that numbers anew: nothing is said to be missing.
    @Test(arguments: [50_000, 4_000_000_000] as [UInt32])
    func otherNumbersAreFollowed(first: UInt32) {
        var order = Self.begun()
        var taken: [String] = []
        for index in 0..<60 as Range<UInt32> {
            let time = 310 + Int64(index) * 10
            order.put(Self.packet(first + index, at: time, stamp: time))
            taken += Self.take(&order, at: time)
        }
        #expect(taken.last == "\(first + 59)" && taken.count >= 50)
        #expect(order.missing == 0)
    }

    @Test func aQueueThatNobodyTakesFromIsBounded() {
        var order = Self.begun()
        for number in 3..<2000 as Range<UInt32> { order.put(Self.packet(number, at: 310)) }
        #expect(order.deadline == .distantPast)
        let entries = Self.take(&order, at: 311)
        #expect(entries.first == "1 from 2 at 20.0")
        #expect(entries.count == 201)
    }
}
