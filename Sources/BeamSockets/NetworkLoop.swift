import BeamMedia
import Dispatch
import NIOCore
import NIOPosix
import Synchronization

/// An event loop with a thread of its own.
///
/// A `HostServer` makes one and ends it; so does a `ViewerClient`, unless it is given one. One loop serves any number
/// of viewers; its owner ends it after them.
public final class NetworkLoop: Sendable {
    package let loop: any EventLoop
    private let group: MultiThreadedEventLoopGroup

    /// Starts the thread, and raises the process's limit of open files to what a host needs.
    ///
    /// - Parameter raisesPriority: whether to raise the thread's priority, as `ThreadPriority.raise` does it; for a
    ///   stream that a person watches.
    public init(raisesPriority: Bool = true) {
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        loop = group.next()
        loop.execute {
            if raisesPriority { ThreadPriority.raise() }
            OpenFiles.raiseLimit()
        }
    }

    /// Ends the thread; returns when it has ended. Not to be called on the loop itself.
    public func shutdown() {
        // Nothing can be done about a failure here.
        try? group.syncShutdownGracefully()
    }
}

/// Carries out what a session decides. Confined to an event loop.
package protocol LoopDriver: SendableMetatype {
    associatedtype Statistics: Sendable
    var statistics: Statistics { get }
    /// Closes everything; the future succeeds when all is closed.
    func shutdown() -> EventLoopFuture<Void>
}

extension LoopDriver where Statistics == Void {
    /// A driver without figures.
    package var statistics: Void { () }
}

/// Gives other threads access to a driver. Owns the event loop unless that is shared.
///
/// Its methods may be called from any thread but the event loop's own.
package final class LoopHandle<Driver: LoopDriver>: Sendable {
    private let loop: any EventLoop
    /// Nil if the loop is shared.
    private let ownLoop: NetworkLoop?
    package let driver: NIOLoopBoundBox<Driver>
    private let lastStatistics: Mutex<Driver.Statistics>
    private let hasEnded = Mutex(false)
    /// Calls that have found the driver running and haven't reached the loop yet. `end` waits for them, because a loop
    /// that has ended takes no more calls.
    private let calls = DispatchGroup()
    /// Of `performInTurn`: what waits, and whether a turn is under way or is due.
    private let waiting = Mutex<(actions: CircularBuffer<@Sendable (Driver) -> Void>, hasTurn: Bool)>(
        (CircularBuffer(), false))
    /// Actions in a turn, and the pause after it. A note costs about 0.1 ms, with what programs and the window are told.
    private static var turnLength: Int { 8 }
    private static var turnPause: TimeAmount { .milliseconds(1) }
    /// If more wait than these turns carry out, the turns are longer: nothing waits without end.
    private static var mostTurns: Int { 64 }

    /// - Parameters:
    ///   - shared: the loop to use; nil: a loop of its own, which ends with it.
    ///   - statistics: the initial ones.
    package init<Failure>(
        on shared: NetworkLoop?, statistics: Driver.Statistics,
        make: (any EventLoop) throws(Failure) -> sending Driver
    ) throws(Failure) {
        let network = shared ?? NetworkLoop()
        do throws(Failure) {
            driver = .makeBoxSendingValue(try make(network.loop), eventLoop: network.loop)
        } catch {
            if shared == nil { network.shutdown() }
            throw error
        }
        loop = network.loop
        ownLoop = shared == nil ? network : nil
        lastStatistics = Mutex(statistics)
    }

    /// Runs `body` on the loop and waits for its future.
    package func start<Outcome: Sendable>(
        _ body: @escaping @Sendable (Driver) -> EventLoopFuture<Outcome>
    ) throws -> Outcome {
        try loop.submit { [driver] in body(driver.value) }.flatMap { $0 }.wait()
    }

    /// Runs `action` on the loop unless the driver has ended. Doesn't wait.
    package func perform(_ action: @escaping @Sendable (Driver) -> Void) {
        guard beginCall() else { return }
        defer { calls.leave() }
        loop.execute { [driver] in action(driver.value) }
    }

    /// Runs `action` on the loop unless the driver has ended, after what was given to this method before. Doesn't wait.
    ///
    /// Only some are run at a time, so that pictures don't wait until all is done that a program writes at once.
    package func performInTurn(_ action: @escaping @Sendable (Driver) -> Void) {
        guard beginCall() else { return }
        defer { calls.leave() }
        let hasTurn = waiting.withLock { waiting in
            waiting.actions.append(action)
            defer { waiting.hasTurn = true }
            return waiting.hasTurn
        }
        if !hasTurn { loop.execute { self.takeTurn() } }
    }

    private func takeTurn() {
        let count = max(Self.turnLength, waiting.withLock { $0.actions.count } / Self.mostTurns)
        for _ in 0..<count {
            guard let action = waiting.withLock({ $0.actions.popFirst() }) else { break }
            action(driver.value)
        }
        let isDone = waiting.withLock { waiting in
            waiting.hasTurn = !waiting.actions.isEmpty
            return waiting.actions.isEmpty
        }
        if !isDone { loop.scheduleTask(in: Self.turnPause) { self.takeTurn() } }
    }

    /// Runs everything that waits for its turn.
    private func finishTurns() {
        while let action = waiting.withLock({ $0.actions.popFirst() }) { action(driver.value) }
    }

    /// Runs `question` on the loop and waits for its answer; nil once the driver has ended.
    package func ask<Answer: Sendable>(_ question: @escaping @Sendable (Driver) -> Answer) -> Answer? {
        guard beginCall() else { return nil }
        let answer = loop.submit { [driver] in question(driver.value) }
        calls.leave()
        return try? answer.wait()
    }

    /// False once the driver has ended. Otherwise `calls.leave()` has to follow when the loop has the call.
    private func beginCall() -> Bool {
        hasEnded.withLock { hasEnded in
            if !hasEnded { calls.enter() }
            return !hasEnded
        }
    }

    /// The statistics now, or the last ones once the driver has ended. Waits for the loop.
    package var statistics: Driver.Statistics {
        if let fresh = ask({ $0.statistics }) { lastStatistics.withLock { $0 = fresh } }
        return lastStatistics.withLock { $0 }
    }

    /// Shuts down the driver, then the loop if it isn't shared; returns when that is done. A second call does nothing.
    package func end() {
        _ = statistics
        let isFirst = hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
        guard isFirst else { return }
        calls.wait()
        try? start { driver in
            self.finishTurns()
            return driver.shutdown()
        }
        ownLoop?.shutdown()
    }
}
