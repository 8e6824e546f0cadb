import BeamSockets
import Dispatch
import NIOCore
import Synchronization
import Testing

@testable import BeamNetwork

/// What a program writes at once is carried out a little at a time.
struct LoopTurnTests {
    private struct Driver: LoopDriver {
        let loop: any EventLoop
        let statistics = 0

        func shutdown() -> EventLoopFuture<Void> { loop.makeSucceededVoidFuture() }
    }

    private final class Record: Sendable {
        private let numbers = Mutex<[Int]>([])
        var all: [Int] { numbers.withLock { $0 } }
        func add(_ number: Int) { numbers.withLock { $0.append(number) } }
    }

    @Test func `The loop does other things between the parts of what is written at once`() throws {
        let network = NetworkLoop()
        defer { network.shutdown() }
        let handle = LoopHandle<Driver>(on: network, statistics: 0) { Driver(loop: $0) }
        // Until everything is given to it, the loop stands still.
        let isGiven = DispatchSemaphore(value: 0)
        handle.perform { _ in isGiven.wait() }
        let (count, record) = (1000, Record())
        for number in 0..<count { handle.performInTurn { _ in record.add(number) } }
        handle.perform { _ in record.add(-1) }
        isGiven.signal()
        // The end waits for all of it.
        handle.end()
        let before = record.all.firstIndex(of: -1)
        #expect(before.map { (1...count / 10).contains($0) } == true, "\(before ?? -1) came before something else")
        #expect(record.all.filter { $0 >= 0 } == Array(0..<count))
    }
}
