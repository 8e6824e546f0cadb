import BeamMedia
import Foundation
import Synchronization
import Testing

@testable import BeamViewer

/// A few threads serve any number of streams, each stream's frames in order and by one thread at a time.
struct DecoderPoolTests {
    private final class Stage: PooledStage, Sendable {
        private struct State {
            var waiting: [Int] = []
            var taken: [Int] = []
            var isRunning = false
            var hasOverlapped = false
        }

        private let state = Mutex(State())
        let gauge: Gauge

        init(_ gauge: Gauge) { self.gauge = gauge }

        func put(_ value: Int) { state.withLock { $0.waiting.append(value) } }

        var taken: [Int] { state.withLock { $0.taken } }
        var hasOverlapped: Bool { state.withLock { $0.hasOverlapped } }

        func step() -> Bool {
            let value = state.withLock { state -> Int? in
                if state.isRunning { state.hasOverlapped = true }
                guard !state.waiting.isEmpty else { return nil }
                state.isRunning = true
                return state.waiting.removeFirst()
            }
            guard let value else { return false }
            gauge.enter()
            usleep(200)
            gauge.leave()
            state.withLock { state in
                state.taken.append(value)
                state.isRunning = false
            }
            return true
        }
    }

    /// How many stages run at a time.
    private final class Gauge: Sendable {
        private let counts = Mutex((now: 0, most: 0))

        var most: Int { counts.withLock { $0.most } }
        func enter() { counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }
        func leave() { counts.withLock { $0.now -= 1 } }
    }

    @Test("Sixteen streams on two threads") func sixteenStreams() {
        let gauge = Gauge()
        let pool = DecoderPool(threads: 2)
        let stages = (0..<16).map { _ in Stage(gauge) }
        // Queued before the lane is there.
        for stage in stages { stage.put(0) }
        let lanes = stages.map { pool.addLane($0) }
        for value in 1..<40 {
            for (stage, lane) in zip(stages, lanes) {
                stage.put(value)
                pool.schedule(lane)
            }
        }
        for lane in lanes { pool.finish(lane) }
        for stage in stages {
            #expect(stage.taken == Array(0..<40))
            #expect(!stage.hasOverlapped)
        }
        #expect(gauge.most == 2)
        pool.stop()
    }

    @Test func aStreamWithManyFramesDoesNotHoldTheOthers() {
        let gauge = Gauge()
        let pool = DecoderPool(threads: 1)
        let (busy, other) = (Stage(gauge), Stage(gauge))
        for value in 0..<500 { busy.put(value) }
        let first = pool.addLane(busy)
        other.put(1)
        let second = pool.addLane(other)
        pool.finish(second)
        #expect(other.taken == [1])
        #expect(busy.taken.count < 250, "they take turns")
        pool.finish(first)
        #expect(busy.taken.count == 500)
        pool.stop()
    }

    @Test func aPoolThatHasStoppedKeepsNobodyWaiting() {
        let pool = DecoderPool(threads: 2)
        pool.stop()
        let stage = Stage(Gauge())
        let lane = pool.addLane(stage)
        pool.schedule(lane)
        pool.finish(lane)
        #expect(stage.taken.isEmpty)
    }
}
