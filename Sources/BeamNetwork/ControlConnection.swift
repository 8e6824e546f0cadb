import NIOCore

/// The end of a control connection's pipeline: bytes, and its end, go to whoever drives the session.
final class ControlConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// Confined to the channel's event loop, like this handler.
    struct Events {
        var onBytes: ([UInt8]) -> Void
        /// Once, whichever side ended it.
        var onEnd: (_ reason: String) -> Void
    }

    private var events: Events?
    private var reason = "the other side has closed the connection"

    init(_ events: Events) { self.events = events }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = Self.unwrapInboundIn(data)
        events?.onBytes(Array(bytes.readableBytesView))
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event {
            end()
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        reason = networkReason(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    private func end() {
        events?.onEnd(reason)
        events = nil
    }
}

extension Channel {
    /// Ends the connection after everything written has left: closing a socket with unread bytes resets it, and the
    /// other side might lose the last line. So say goodbye first, and close when it has, or after a second.
    func closeAfterFlushing() {
        close(mode: .output, promise: nil)
        let channel = self
        eventLoop.scheduleTask(in: .seconds(1)) { channel.close(mode: .all, promise: nil) }
    }
}
