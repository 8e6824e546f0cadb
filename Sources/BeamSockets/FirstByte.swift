import NIOCore

/// What is spoken on a connection, told by its first byte.
package enum FirstByte {
    /// A TLS record with a handshake message (RFC 8446, 5.1): version 2 at a host's control port, https at its port for
    /// browsers.
    case tls
    /// Anything else: version 1's JSON, http, or invalid.
    case plain

    package init(_ byte: UInt8) { self = byte == 0x16 ? .tls : .plain }
}

/// The last handler of a new connection until its first byte has arrived. Then it has the handlers for that
/// added, passes on what was received, and removes itself.
package final class FirstByteHandler: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer

    /// Confined to the channel's event loop, like this handler. One of the two is called, once.
    package struct Events {
        /// Has to add handlers at the end of the pipeline. An error closes the connection.
        package var onFirstByte: (FirstByte) throws -> Void
        /// The connection ended before its first byte.
        package var onEnd: (_ reason: String) -> Void

        package init(
            onFirstByte: @escaping (FirstByte) throws -> Void, onEnd: @escaping (_ reason: String) -> Void
        ) {
            self.onFirstByte = onFirstByte
            self.onEnd = onEnd
        }
    }

    private var events: Events?
    private let timeout: TimeAmount
    private var timer: Scheduled<Void>?

    /// - Parameter timeout: for the first byte, from when the handler is added.
    package init(timeout: TimeAmount = .seconds(10), _ events: Events) {
        self.timeout = timeout
        self.events = events
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        let seconds = timeout.nanoseconds / 1_000_000_000
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: timeout) { [self] in
            end("the other side has sent nothing for \(seconds) s")
            context.close(promise: nil)
        }
    }

    package func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
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

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event, events != nil {
            end("the other side has closed the connection")
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end(networkReason(error))
        context.close(promise: nil)
    }

    package func channelInactive(context: ChannelHandlerContext) {
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
