import BeamSockets
import NIOCore

/// The last handler of a version 1 control connection: passes bytes and the end of the connection to the driver.
final class ControlConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// Confined to the channel's event loop, like this handler.
    struct Events {
        var onBytes: ([UInt8]) -> Void
        /// Called once, whichever side closed the connection.
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
