import NIOCore
import NIOHTTP1

/// Lets through what a request may have in bytes, and says when there is more. Before the parser, which would keep more.
final class RequestBound: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    struct Exceeded: Error {}

    /// Of the request line and all headers; what is behind them isn't read.
    static let mostBytes = 16 << 10

    private var received = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let before = received
        received += Self.unwrapInboundIn(data).readableBytes
        guard received > Self.mostBytes else { return context.fireChannelRead(data) }
        if before <= Self.mostBytes { context.fireErrorCaught(Exceeded()) }
    }
}

/// Answers one request of a connection, and no more. Confined to its event loop.
final class MetricsHTTPHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    struct Events {
        /// The metrics' text.
        var metrics: () -> ByteBuffer
        /// The connection is answered, and is to be closed once that has left: when the future succeeds.
        var onAnswer: (EventLoopFuture<Void>) -> Void
    }

    private let names: MetricsNames
    private let timeout: TimeAmount
    private let events: Events
    private var isAnswered = false
    private var timer: Scheduled<Void>?

    /// - Parameter timeout: from now to the whole request.
    init(names: MetricsNames, timeout: TimeAmount, _ events: Events) {
        (self.names, self.timeout, self.events) = (names, timeout, events)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: timeout) { [self] in
            answer(.refusal(.requestTimeout, "The request took too long."), context)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let request) = Self.unwrapInboundIn(data) else { return }
        answer(MetricsAnswer(request, names: names), context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case is RequestBound.Exceeded, HTTPParserError.headerOverflow:
            answer(.refusal(.requestHeaderFieldsTooLarge, "The request is too long."), context)
        case is HTTPParserError: answer(.refusal(.badRequest, "This isn't a request of HTTP/1.1."), context)
        default: context.close(promise: nil)
        }
    }

    /// A peer that closes its side before the request is complete gets no answer.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event, !isAnswered { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    private func answer(_ answer: MetricsAnswer, _ context: ChannelHandlerContext) {
        guard !isAnswered else { return }
        isAnswered = true
        timer?.cancel()
        let allocator = context.channel.allocator
        let (type, body) =
            switch answer.body {
            case .metrics: (TextFormat.contentType, events.metrics())
            case .page: ("text/html; charset=utf-8", allocator.buffer(string: MetricsAnswer.page))
            case .sentence(let text): ("text/plain; charset=utf-8", allocator.buffer(string: text + "\n"))
            }
        context.write(Self.wrapOutboundOut(.head(answer.head(type: type, length: body.readableBytes))), promise: nil)
        if !answer.isHead { context.write(Self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        let written = context.eventLoop.makePromise(of: Void.self)
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: written)
        events.onAnswer(written.futureResult)
    }
}
