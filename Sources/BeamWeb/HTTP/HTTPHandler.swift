import NIOCore
import NIOWebSocket

/// Reads one request of a connection and answers it: with the page, a sentence, or a WebSocket. Confined to its event loop.
final class HTTPHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    struct Events {
        /// The connection was answered, and is to be closed once that has left.
        var onAnswered: () -> Void
        /// It is a WebSocket from now on: adds its handler behind this one. `agent`: the browser's *User-Agent*.
        var onWebSocket: (_ agent: String) throws -> Void
        /// It ends without an answer.
        var onEnd: () -> Void
    }

    private let router: WebRouter
    private let isSecure: Bool
    private var events: Events?
    private var timer: Scheduled<Void>?
    private let timeout: TimeAmount
    private var received: ByteBuffer?

    /// - Parameter timeout: from now to the whole request.
    init(_ router: WebRouter, isSecure: Bool, timeout: TimeAmount, _ events: Events) {
        self.router = router
        self.isSecure = isSecure
        self.timeout = timeout
        self.events = events
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(in: timeout) {
            let (handler, context) = bound.value
            handler.answer(HTTPResponse(.requestTimeout, sentence: "The request took too long."), context)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // What comes behind a request that was answered is dropped.
        guard events != nil else { return }
        var bytes = Self.unwrapInboundIn(data)
        if received == nil { received = bytes } else { received?.writeBuffer(&bytes) }
        guard let all = received?.readableBytesView else { return }
        switch HTTPRequest.read(all) {
        case .needsMore: break
        case .refused(let status): answer(HTTPResponse(status, sentence: "This isn't a request for the page."), context)
        case .request(let request, let length):
            switch router.answer(request, isSecure: isSecure) {
            case .response(let response): answer(response, context)
            case .webSocket(let response, let agent):
                // A browser sends nothing before it has the answer.
                guard length == all.count else {
                    return answer(HTTPResponse(.badRequest, sentence: "There is more than a request."), context)
                }
                begin(response, agent, context)
            }
        }
    }

    private func answer(_ response: HTTPResponse, _ context: ChannelHandlerContext) {
        guard let events else { return }
        self.events = nil
        received = nil
        timer?.cancel()
        context.writeAndFlush(
            Self.wrapOutboundOut(context.channel.allocator.buffer(bytes: response.bytes)), promise: nil)
        events.onAnswered()
    }

    private func begin(_ response: HTTPResponse, _ agent: String, _ context: ChannelHandlerContext) {
        guard let events else { return }
        self.events = nil
        received = nil
        timer?.cancel()
        context.writeAndFlush(
            Self.wrapOutboundOut(context.channel.allocator.buffer(bytes: response.bytes)), promise: nil)
        do {
            let pipeline = context.pipeline.syncOperations
            try pipeline.addHandler(WebSocketFrameEncoder())
            try pipeline.addHandler(
                ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: PageMessage.mostBytes)))
            try events.onWebSocket(agent)
            pipeline.removeHandler(self, promise: nil)
        } catch {
            // Only on a channel that is closed already.
            context.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        end()
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    private func end() {
        timer?.cancel()
        let ended = events
        events = nil
        ended?.onEnd()
    }
}
