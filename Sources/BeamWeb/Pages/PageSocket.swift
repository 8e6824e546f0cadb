import BeamClock
import BeamMedia
import BeamSockets
import NIOCore
import NIOWebSocket

/// A page's WebSocket behind NIO's frame encoder and decoder. Confined to its event loop.
final class PageSocket: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    struct Events {
        var onMessage: (ArraySlice<UInt8>) -> Void
        /// The page sent what it doesn't send.
        var onViolation: (_ reason: String) -> Void
        /// It was closed by the other side, or lost; not by `close`. `isGoodbye`: the page has said so, as a browser does
        /// for one that is left or closed.
        var onEnd: (_ isGoodbye: Bool) -> Void
    }

    /// Parts of one message, beside its bytes: a part may be empty.
    private static let mostParts = 64
    /// Messages: a page acknowledges each picture, and answers pings.
    private static let messagesPerSecond = 250
    private static let messageBurst = 500
    /// Bytes that may wait to be sent. If more wait, the page isn't reading.
    static let mostUnsent = 12 << 20

    private var events: Events?
    private var context: ChannelHandlerContext?
    private var parts: [UInt8]?
    private var partCount = 0
    private var rate = TokenBucket(capacity: messageBurst, bitsPerSecond: messagesPerSecond * 8)
    private var isClosing = false
    private var saidGoodbye = false
    /// When something last arrived.
    private(set) var lastHeard = MediaTime.now

    init(_ events: Events) { self.events = events }

    // MARK: Sending

    func send(_ message: HostMessage) { write(.text, message.bytes) }

    /// `bytes`: of a message, such as one that others get, too.
    func send(encoded bytes: [UInt8]) { write(.text, bytes) }

    /// `unit` is shared by all pages.
    func send(binary unit: ByteBuffer) {
        guard let context, !isClosing else { return }
        guard context.channel.isWritable else { return reset() }
        context.writeAndFlush(
            Self.wrapOutboundOut(WebSocketFrame(fin: true, opcode: .binary, data: unit)), promise: nil)
    }

    private func write(_ opcode: WebSocketOpcode, _ bytes: [UInt8]) {
        guard let context, !isClosing else { return }
        guard context.channel.isWritable else { return reset() }
        let frame = WebSocketFrame(fin: true, opcode: opcode, data: context.channel.allocator.buffer(bytes: bytes))
        context.writeAndFlush(Self.wrapOutboundOut(frame), promise: nil)
    }

    /// Tells the page that the WebSocket ends; the channel is closed by the owner, once everything sent has left.
    func sayGoodbye(_ code: WebSocketErrorCode = .normalClosure) {
        guard let context, !isClosing else { return }
        var data = context.channel.allocator.buffer(capacity: 2)
        data.write(webSocketErrorCode: code)
        let frame = WebSocketFrame(fin: true, opcode: .connectionClose, data: data)
        context.writeAndFlush(Self.wrapOutboundOut(frame), promise: nil)
        isClosing = true
        events = nil
    }

    /// Closes at once, without a word to the owner.
    func giveUp() {
        events = nil
        isClosing = true
        context?.channel.reset()
    }

    private func reset() {
        end(isGoodbye: false)
        context?.channel.reset()
    }

    // MARK: Receiving

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        end(isGoodbye: saidGoodbye)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosing else { return }
        let frame = Self.unwrapInboundIn(data)
        lastHeard = .now
        // RFC 6455, 5.1: a client that doesn't mask its frames isn't a browser.
        guard frame.maskKey != nil else { return violated("a frame isn't masked") }
        guard !frame.rsv1, !frame.rsv2, !frame.rsv3 else { return violated("a frame has unknown bits set") }
        guard rate.take(1, now: lastHeard) == nil else {
            return violated("more than \(Self.messagesPerSecond) messages a second come from the page")
        }
        switch frame.opcode {
        case .text:
            guard parts == nil else { return violated("a message begins within another one") }
            add(frame)
        case .continuation:
            guard parts != nil else { return violated("a message goes on that hasn't begun") }
            add(frame)
        case .ping: write(.pong, Array(frame.unmaskedData.readableBytesView))
        case .pong: break
        case .connectionClose:
            var data = frame.unmaskedData
            // The page's own code: it comes again.
            saidGoodbye = data.readWebSocketErrorCode() != .unknown(4000)
            write(.connectionClose, Array(frame.unmaskedData.readableBytesView.prefix(2)))
            isClosing = true
            end(isGoodbye: saidGoodbye)
            context.close(promise: nil)
        default: violated("a message isn't text")
        }
    }

    private func add(_ frame: WebSocketFrame) {
        let bytes = frame.unmaskedData.readableBytesView
        let count = parts?.count ?? 0
        partCount += 1
        guard count + bytes.count <= PageMessage.mostBytes, partCount <= Self.mostParts else {
            return violated("a message is longer than \(PageMessage.mostBytes) bytes")
        }
        parts = (parts ?? []) + bytes
        guard frame.fin, let message = parts else { return }
        parts = nil
        partCount = 0
        events?.onMessage(message[...])
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if error is NIOWebSocketError {
            violated("what arrived isn't a WebSocket's frame")
        } else {
            reset()
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(isGoodbye: saidGoodbye)
        context.fireChannelInactive()
    }

    private func violated(_ reason: String) {
        // Once: the rest is dropped.
        guard let events, !isClosing else { return }
        events.onViolation(reason)
    }

    private func end(isGoodbye: Bool) {
        let ended = events
        events = nil
        ended?.onEnd(isGoodbye)
    }
}
