import NIOCore

/// Connections that close once everything sent has left. Bounded: the oldest is reset for a new one. Confined to its
/// event loop.
package final class ClosingConnections {
    /// The most of them, as each holds memory and a descriptor.
    private static let most = 32

    private var channels: [any Channel] = []
    private var whenEmpty: (() -> Void)?

    package init() {}

    package var isEmpty: Bool { channels.isEmpty }

    /// Closes `channel` once everything written has left, or after a second. `isLast`: all connections are being
    /// closed, so none is reset for another.
    package func close(_ channel: any Channel, isLast: Bool) {
        guard channel.isActive else { return channel.reset() }
        if !isLast, channels.count >= Self.most { channels.removeFirst().reset() }
        channels.append(channel)
        channel.closeAfterFlushing()
        channel.closeFuture.assumeIsolated().whenComplete { [self] _ in
            channels.removeAll { $0 === channel }
            if channels.isEmpty { whenEmpty?() }
        }
    }

    /// Sets what to call each time that the last of them has closed.
    package func onEmpty(_ action: @escaping () -> Void) { whenEmpty = action }
}

extension Channel {
    /// Closes the connection once everything written has left. Closing a socket with unread bytes resets it, and the
    /// peer might lose the last line. So this shuts down the sending direction first, and closes when the peer has
    /// closed, or after a second.
    package func closeAfterFlushing() {
        close(mode: .output, promise: nil)
        let channel = self
        eventLoop.scheduleTask(in: .seconds(1)) { channel.close(mode: .all, promise: nil) }
    }
}
