import BeamMedia
import Synchronization
import Testing

/// The queue and the slot between stages.
struct HandOverTests {
    private func value<Value>(_ taken: LatestSlot<Value>.Taken) -> Value? {
        if case .value(let value) = taken { value } else { nil }
    }

    @Test func theNewestValueWins() {
        let slot = LatestSlot<Int>()
        for number in 1...5 { #expect(slot.put(number)) }
        #expect(slot.replaced == 4)
        #expect(value(slot.take()) == 5)
        #expect(slot.takeIfPresent() == nil)
        slot.put(6)
        #expect(slot.takeIfPresent() == 6)
        #expect(slot.replaced == 4)
    }

    @Test func replacingGetsTheOlderValue() {
        let slot = LatestSlot<[Int]>(replacing: { newer, older in older + newer })
        slot.put([1])
        slot.put([2])
        slot.put([3])
        #expect(value(slot.take()) == [1, 2, 3])
    }

    @Test func aNudgeWakesOnceUnlessThereIsAValue() {
        let slot = LatestSlot<Int>()
        slot.nudge()
        guard case .nudged = slot.take() else {
            Issue.record("not nudged")
            return
        }
        slot.nudge()
        slot.put(1)
        #expect(value(slot.take()) == 1)
        slot.close()
        #expect(!slot.put(2))
        guard case .closed = slot.take() else {
            Issue.record("neither value nor nudge is left")
            return
        }
    }

    @Test func aClosedSlotReturnsItsLastValue() {
        let slot = LatestSlot<Int>()
        slot.put(1)
        slot.close()
        #expect(value(slot.take()) == 1)
        guard case .closed = slot.take() else {
            Issue.record("not closed")
            return
        }
    }

    @Test func aWaitingTakerIsWoken() {
        let slot = LatestSlot<Int>()
        let sum = Mutex(0)
        let taker = StageThread("taker") {
            while case .value(let number) = slot.take() { sum.withLock { $0 += number } }
        }
        for number in 1...100 {
            slot.put(number)
            // Each value is taken before the next one is put.
            while sum.withLock({ $0 }) < number * (number + 1) / 2 {}
        }
        slot.close()
        taker.join()
        #expect(sum.withLock { $0 } == 5050)
        #expect(slot.replaced == 0)
    }

    @Test func aFullQueueRejectsValues() {
        let queue = BoundedQueue<Int>(capacity: 3)
        for number in 1...3 { #expect(queue.put(number) == .queued) }
        #expect(queue.put(4) == .full)
        #expect(queue.count == 3)
        #expect(queue.take() == 1)
        #expect(queue.put(4) == .queued)
        #expect(queue.flush() == 3)
        #expect(queue.put(5) == .queued)
        queue.close()
        #expect(queue.put(6) == .closed)
        #expect(queue.take() == 5)
        #expect(queue.take() == nil)
    }

    @Test func aQueueLosesNothingBetweenThreads() {
        let queue = BoundedQueue<Int>(capacity: 4)
        let taken = Mutex<[Int]>([])
        let taker = StageThread("taker") {
            while let number = queue.take() { taken.withLock { $0.append(number) } }
        }
        for number in 0..<10_000 { while queue.put(number) == .full {} }
        queue.close()
        taker.join()
        #expect(taken.withLock { $0 } == Array(0..<10_000))
    }
}
