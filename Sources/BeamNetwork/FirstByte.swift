import NIOCore

/// The version of a connection to a host's control port, told by its first byte.
enum FirstByte {
    /// A TLS record with a handshake message (RFC 8446, 5.1): version 2.
    case tls
    /// Anything else: version 1's JSON, or invalid.
    case plain

    init(_ byte: UInt8) { self = byte == 0x16 ? .tls : .plain }
}

/// The last handler of a new connection until its first byte has arrived. Then it has the handlers for that version
/// added, passes on what was received, and removes itself.
final class FirstByteHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// Confined to the channel's event loop, like this handler. One of the two is called, once.
    struct Events {
        /// Has to add handlers at the end of the pipeline. An error closes the connection.
        var onFirstByte: (FirstByte) throws -> Void
        /// The connection ended before its first byte.
        var onEnd: (_ reason: String) -> Void
    }

    private var events: Events?
    private let timeout: TimeAmount
    private var timer: Scheduled<Void>?

    /// - Parameter timeout: for the first byte, from when the handler is added.
    init(timeout: TimeAmount = .seconds(10), _ events: Events) {
        self.timeout = timeout
        self.events = events
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let seconds = timeout.nanoseconds / 1_000_000_000
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: timeout) { [self] in
            end("the other side has sent nothing for \(seconds) s")
            context.close(promise: nil)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let byte = Self.unwrapInboundIn(data).readableBytesView.first else { return }
        // Nil once the connection is being closed.
        guard let events else { return }
        do {
            try events.onFirstByte(FirstByte(byte))
        } catch {
            end(networkReason(error))
            return context.close(promise: nil)
        }
        self.events = nil
        context.fireChannelRead(data)
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event, events != nil {
            end("the other side has closed the connection")
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(networkReason(error))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end("the other side has closed the connection")
        context.fireChannelInactive()
    }

    private func end(_ reason: String) {
        timer?.cancel()
        let ended = events
        events = nil
        ended?.onEnd(reason)
    }
}
