import BeamMedia
import NIOCore
import NIOPosix

/// One event loop on a thread of its own. A viewer makes one for itself, unless it is given one that it shares with others.
public final class NetworkLoop: Sendable {
    let loop: any EventLoop
    private let group: MultiThreadedEventLoopGroup

    /// Starts the thread, with the priority that `ThreadPriority.raise` gets.
    public init() {
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        loop = group.next()
        loop.execute { ThreadPriority.raise() }
    }

    /// Ends the thread; returns when it has ended. Whatever runs on the loop has to be shut down before. Not from the loop
    /// itself.
    public func shutdown() {
        // A failure to close is the system's; there is nothing left to be done about it.
        try? group.syncShutdownGracefully()
    }
}
