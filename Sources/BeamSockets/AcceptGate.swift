import Glibc
import NIOCore
import NIOPosix

/// The listening socket's handler before the bootstrap's own. It resets connections that may not stay before anything
/// is allocated for them, and pauses accepting when the system is out of descriptors or memory.
package final class AcceptGate: ChannelInboundHandler {
    package typealias InboundIn = any Channel

    /// Confined to the channel's event loop, like this handler.
    package struct Events {
        /// Whether an accepted connection may stay.
        package var admits: (any Channel) -> Bool
        /// Accepting pauses; the reason in the system's words.
        package var onExhausted: (_ reason: String) -> Void
        /// Another error, after which the socket may be closed; in the system's words.
        package var onFailure: (_ reason: String) -> Void

        package init(
            admits: @escaping (any Channel) -> Bool, onExhausted: @escaping (_ reason: String) -> Void,
            onFailure: @escaping (_ reason: String) -> Void
        ) {
            self.admits = admits
            self.onExhausted = onExhausted
            self.onFailure = onFailure
        }
    }

    /// Connections accepted in one turn of the event loop, so that its other work isn't delayed by more.
    package static let acceptsPerTurn: UInt = 4
    /// Connections that wait in the system, if they come faster than that.
    package static let backlog: Int32 = 256
    /// At most 20 connections are accepted in 10 ms, from all addresses together: 2,000 a second.
    private static let slice = TimeAmount.milliseconds(10)
    private static let acceptsPerSlice = 20
    /// From a failure to accept to the next try.
    private static let pause = TimeAmount.milliseconds(500)
    /// The least time between two reports of such failures.
    private static let reportInterval = TimeAmount.seconds(10)

    private let events: Events
    private var sliceEnd = NIODeadline.uptimeNanoseconds(0)
    private var accepted = 0
    private var isPaused = false
    private var nextReport = NIODeadline.uptimeNanoseconds(0)

    package init(_ events: Events) { self.events = events }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        count(context)
        let connection = Self.unwrapInboundIn(data)
        guard events.admits(connection) else { return connection.reset() }
        context.fireChannelRead(data)
    }

    private func count(_ context: ChannelHandlerContext) {
        let now = NIODeadline.now()
        if now >= sliceEnd {
            sliceEnd = now + Self.slice
            accepted = 0
        }
        accepted += 1
        if accepted >= Self.acceptsPerSlice { pause(context, until: sliceEnd) }
    }

    /// Pauses, because NIO would try again at once: the connection that couldn't be accepted still waits.
    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? IOError, [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) else {
            events.onFailure(networkReason(error))
            return context.fireErrorCaught(error)
        }
        let now = NIODeadline.now()
        pause(context, until: now + Self.pause)
        guard now >= nextReport else { return }
        nextReport = now + Self.reportInterval
        events.onExhausted(String(cString: strerror(error.errnoCode)))
    }

    private func pause(_ context: ChannelHandlerContext, until end: NIODeadline) {
        guard !isPaused else { return }
        isPaused = true
        // Fails only on a closed channel, which accepts nothing anyway.
        try? context.channel.syncOptions?.setOption(.autoRead, value: false)
        context.eventLoop.assumeIsolated().scheduleTask(deadline: end) { [self, channel = context.channel] in
            isPaused = false
            try? channel.syncOptions?.setOption(.autoRead, value: true)
        }
    }
}

extension Channel {
    /// Closes at once with a TCP reset: what wasn't sent is discarded. On the event loop only.
    package func reset() {
        let operations = pipeline.syncOperations
        // Fails only if the socket is closed already.
        _ = try? operations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { socket in
            var option = linger(l_onoff: 1, l_linger: 0)
            _ = setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        }
        // Closes from before TLS, which would send `close_notify` first and wait for an answer.
        if let gate = try? operations.context(name: HandshakeGate.name) {
            gate.close(promise: nil)
        } else {
            close(promise: nil)
        }
    }
}
