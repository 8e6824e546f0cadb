import NIOCore

/// Connections that close once everything sent has left. Bounded: the oldest is reset for a new one. Confined to its
/// event loop.
final class ClosingConnections {
    /// The most of them, as each holds memory and a descriptor.
    private static let most = 32

    private var channels: [any Channel] = []
    private var whenEmpty: (() -> Void)?

    var isEmpty: Bool { channels.isEmpty }

    /// Closes `channel` once everything written has left, or after a second. `isLast`: all connections are being
    /// closed, so none is reset for another.
    func close(_ channel: any Channel, isLast: Bool) {
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
    func onEmpty(_ action: @escaping () -> Void) { whenEmpty = action }
}
