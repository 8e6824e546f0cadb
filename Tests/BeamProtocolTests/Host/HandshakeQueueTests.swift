import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// The order of handshakes, and how much of the event loop's time they take.
struct HandshakeQueueTests {
    private func address(_ number: Int) -> IPAddress { .v4(0x0A00_0000 + UInt32(number)) }

    /// Runs steps of `cost` each. Answers which handshakes they belong to, and when they ran.
    private func run(
        _ queue: inout HandshakeQueue<Int>, from start: MediaTime, until end: MediaTime, cost: Duration
    ) -> [(id: Int, time: MediaTime)] {
        var (now, steps) = (start, [(id: Int, time: MediaTime)]())
        while now < end {
            switch queue.next(now: now) {
            case .none: return steps
            case .wait(let time): now = time
            case .take(let id):
                steps.append((id, now))
                now = now + cost
                queue.spent(cost, now: now)
            }
        }
        return steps
    }

    @Test func aFloodGetsATenthOfTheEventLoopsTime() {
        var queue = HandshakeQueue<Int>()
        for id in 0..<2_000 { queue.add(id, from: address(id % 7), isKnownAddress: false, hasBegun: false) }
        let cost = Duration.microseconds(900)
        let steps = run(&queue, from: .zero, until: .at(5), cost: cost)
        let busy = (cost * steps.count).inSeconds
        #expect((0.45...0.55).contains(busy), "\(busy) s of 5 s")
        // Between two steps there is time for a frame.
        for (one, next) in zip(steps, steps.dropFirst()) { #expect(next.time - one.time >= cost * 2) }
    }

    @Test func prefixesTakeTurnsAndStartedHandshakesGoFirst() {
        var queue = HandshakeQueue<Int>()
        for id in 0..<10 { queue.add(id, from: address(1), isKnownAddress: false, hasBegun: false) }
        queue.add(10, from: address(1), isKnownAddress: false, hasBegun: true)
        queue.add(20, from: address(2), isKnownAddress: false, hasBegun: false)
        queue.add(21, from: address(2), isKnownAddress: false, hasBegun: false)
        let steps = run(&queue, from: .zero, until: .at(1), cost: .milliseconds(1))
        #expect(steps.map(\.id) == [10, 20, 0, 21, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    }

    @Test func anAddressThatWasAdmittedBeforeIsServedFirst() {
        var queue = HandshakeQueue<Int>()
        for id in 0..<500 { queue.add(id, from: address(id), isKnownAddress: false, hasBegun: false) }
        _ = run(&queue, from: .zero, until: .at(1), cost: .milliseconds(1))
        queue.add(1000, from: address(1), isKnownAddress: true, hasBegun: false)
        let steps = run(&queue, from: .at(1), until: .at(1.2), cost: .milliseconds(1))
        #expect(steps.first?.id == 1000)
        #expect(steps.first.map { $0.time - .at(1) < .milliseconds(2) } == true)
    }

    @Test func aRemovedHandshakeIsNotRun() {
        var queue = HandshakeQueue<Int>()
        queue.add(1, from: address(1), isKnownAddress: false, hasBegun: false)
        queue.add(1, from: address(1), isKnownAddress: false, hasBegun: false)
        queue.remove(1)
        #expect(queue.next(now: .zero) == .none)
    }
}
