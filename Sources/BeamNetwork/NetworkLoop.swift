import BeamMedia
import NIOCore
import NIOPosix
import Synchronization

/// An event loop with a thread of its own.
///
/// A `HostServer` makes one for itself and ends it with itself, and so does a `ViewerClient`, unless it is handed one. One loop serves
/// any number of viewers; whoever made it ends it, after them.
public final class NetworkLoop: Sendable {
    let loop: any EventLoop
    private let group: MultiThreadedEventLoopGroup

    /// Starts the thread, and raises the process's limit of open files as far as a host needs it.
    ///
    /// - Parameter raisesPriority: as `ThreadPriority.raise` does it, for what a person watches.
    public init(raisesPriority: Bool = true) {
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        loop = group.next()
        loop.execute {
            if raisesPriority { ThreadPriority.raise() }
            DescriptorLimit.raise()
        }
    }

    /// Ends the thread; returns when it has ended. Not to be called on the loop itself.
    public func shutdown() {
        // A failure to close is the system's; there is nothing left to be done about it.
        try? group.syncShutdownGracefully()
    }
}

/// What does a session's work on an event loop, and is confined to it.
protocol LoopDriver: SendableMetatype {
    associatedtype Statistics: Sendable
    var statistics: Statistics { get }
    /// Closes everything; what it returns comes when everything is closed.
    func shutdown() -> EventLoopFuture<Void>
}

/// A driver as the other threads reach it, and the owner of its event loop unless that was handed in.
///
/// Its methods may be called from any thread but the event loop's own.
final class LoopHandle<Driver: LoopDriver>: Sendable {
    private let loop: any EventLoop
    /// Nil if the loop is shared.
    private let ownLoop: NetworkLoop?
    private let driver: NIOLoopBoundBox<Driver>
    private let lastStatistics: Mutex<Driver.Statistics>
    private let hasEnded = Mutex(false)

    /// - Parameters:
    ///   - shared: the loop to use; nil: one of its own, which ends with it.
    ///   - statistics: what they are before anything has happened.
    init<Failure>(
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

    /// Has the loop do something that takes a while, and waits until it is done.
    func start<Outcome: Sendable>(
        _ body: @escaping @Sendable (Driver) -> EventLoopFuture<Outcome>
    ) throws -> Outcome {
        try loop.submit { [driver] in body(driver.value) }.flatMap { $0 }.wait()
    }

    /// Has the loop do something, as long as the driver runs. Doesn't wait.
    func perform(_ action: @escaping @Sendable (Driver) -> Void) {
        guard !hasEnded.withLock({ $0 }) else { return }
        loop.execute { [driver] in action(driver.value) }
    }

    /// Waits for an answer from the loop; nil once the driver has ended.
    func ask<Answer: Sendable>(_ question: @escaping @Sendable (Driver) -> Answer) -> Answer? {
        guard !hasEnded.withLock({ $0 }) else { return nil }
        return try? loop.submit { [driver] in question(driver.value) }.wait()
    }

    /// Totals at this moment, or at the end once it has ended. Waits for the loop.
    var statistics: Driver.Statistics {
        if let fresh = ask({ $0.statistics }) { lastStatistics.withLock { $0 = fresh } }
        return lastStatistics.withLock { $0 }
    }

    /// Shuts the driver down, then the loop if it is its own; returns when that is done. A second call does nothing.
    func end() {
        _ = statistics
        let isFirst = hasEnded.withLock { hasEnded in
            defer { hasEnded = true }
            return !hasEnded
        }
        guard isFirst else { return }
        try? start { $0.shutdown() }
        ownLoop?.shutdown()
    }
}
