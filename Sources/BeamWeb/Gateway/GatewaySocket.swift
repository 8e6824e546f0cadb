import BeamClock
import BeamMedia
import BeamSession
import BeamSockets
import BeamWire
import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import NIOWebSocket

/// The WebSocket to a gateway, as its client: first the request, then frames. Confined to its event loop.
final class GatewaySocket: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    struct Events {
        var onOpen: (_ remote: SocketAddress) -> Void
        var onMessage: (ArraySlice<UInt8>) -> Void
        /// Once, and never after `close`.
        var onEnd: (GatewayProblem) -> Void
    }

    private static let mostParts = 64
    /// Bytes, and what each frame counts beside its own: Janus answers each request, of which there is one each 2 s, with
    /// 1 or 2 kB, and asks now and then whether the host is there.
    private static let bytesPerSecond = 32 << 10
    private static let byteBurst = 128 << 10
    private static let frameCost = 1 << 10
    private let address: GatewayAddress
    private let request: WebSocketRequest
    private var events: Events?
    private var channel: (any Channel)?
    private var received: ByteBuffer?
    private var isOpen = false
    private var parts: [UInt8]?
    private var partCount = 0
    private var rate = TokenBucket(capacity: byteBurst, bitsPerSecond: bytesPerSecond * 8)
    /// What went wrong before the channel was closed.
    private var failure: GatewayProblem?

    init(_ address: GatewayAddress, _ events: Events) {
        var random = SystemRandomNumberGenerator()
        self.address = address
        self.events = events
        request = WebSocketRequest(
            host: address.authority, path: address.path, subprotocol: JanusRequest.subprotocol, random: &random)
    }

    /// Connects; `tls` is nil for ws://, `resolver` for the system's.
    func connect(
        on loop: any EventLoop, tls: NIOSSLContext?, timeout: TimeAmount, resolver: (any Resolver & Sendable)? = nil
    ) {
        let bound = NIOLoopBound(self, eventLoop: loop)
        let address = address
        // By an address the certificate is checked for that.
        let isName = !address.host.contains(":") && !address.host.allSatisfy { $0 == "." || $0.isNumber }
        ClientBootstrap(group: loop)
            .resolver(resolver)
            .connectTimeout(timeout)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 16 << 10))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls {
                        try pipeline.addHandler(
                            NIOSSLClientHandler(context: tls, serverHostname: isName ? address.host : nil))
                    }
                    try pipeline.addHandler(bound.value)
                }
            }
            .connect(host: address.host, port: Int(address.port)).whenComplete { result in
                switch result {
                case .failure(let error): bound.value.end(.unreachable(reason: Self.reason(error)))
                case .success(let channel):
                    // It was given up meanwhile.
                    if bound.value.events == nil { channel.close(promise: nil) }
                }
            }
    }

    private static func reason(_ error: any Error) -> String {
        let io = (error as? IOError) ?? (error as? NIOConnectionError)?.connectionErrors.first?.error as? IOError
        if io?.errnoCode == ECONNREFUSED { return "nothing listens there (connection refused)" }
        return networkReason(error)
    }

    func send(_ text: String) {
        guard let channel, isOpen, events != nil else { return }
        write(.text, channel.allocator.buffer(string: text), on: channel)
    }

    private func write(_ opcode: WebSocketOpcode, _ data: ByteBuffer, on channel: any Channel) {
        // A gateway that reads nothing of what is sent there.
        guard channel.isWritable else { return reset(.lost) }
        // RFC 6455, 5.3: a client's frames are masked.
        channel.writeAndFlush(
            WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data), promise: nil)
    }

    /// Closes without a word to the owner, once everything sent has left.
    func close() {
        events = nil
        guard let channel else { return }
        if isOpen { write(.connectionClose, ByteBuffer(bytes: [0x03, 0xE8]), on: channel) }
        channel.close(promise: nil)
    }

    /// Closes at once: what waits to be sent is dropped.
    private func reset(_ problem: GatewayProblem) {
        failure = failure ?? problem
        if let channel {
            // From before TLS, which would wait for the other side's end.
            let tls = try? channel.pipeline.syncOperations.context(handlerType: NIOSSLClientHandler.self)
            if let tls { tls.close(promise: nil) } else { channel.reset() }
        }
        end(problem)
    }

    private func end(_ problem: GatewayProblem) {
        let ended = events
        events = nil
        channel?.close(promise: nil)
        ended?.onEnd(failure ?? problem)
    }

    // MARK: The channel

    func channelActive(context: ChannelHandlerContext) {
        channel = context.channel
        context.writeAndFlush(
            Self.wrapOutboundOut(context.channel.allocator.buffer(string: request.text)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if isOpen { return context.fireChannelRead(data) }
        guard events != nil else { return }
        var bytes = Self.unwrapInboundIn(data)
        if received == nil { received = bytes } else { received?.writeBuffer(&bytes) }
        guard let all = received else { return }
        switch request.read(all.readableBytesView) {
        case .needsMore: break
        case .refused(let reason): end(.notJanus(reason: reason))
        case .accepted(let length):
            received = nil
            open(context, rest: all.getSlice(at: all.readerIndex + length, length: all.readableBytes - length))
        }
    }

    private func open(_ context: ChannelHandlerContext, rest: ByteBuffer?) {
        guard let remote = context.remoteAddress else { return end(.lost) }
        isOpen = true
        do {
            let pipeline = context.pipeline.syncOperations
            try pipeline.addHandler(WebSocketFrameEncoder(), position: .after(self))
            try pipeline.addHandler(
                ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: JanusMessage.longest)), position: .last)
            try pipeline.addHandler(FrameReader(self), position: .last)
        } catch {
            return end(.lost)
        }
        events?.onOpen(remote)
        if let rest, rest.readableBytes > 0 { context.fireChannelRead(NIOAny(rest)) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { failed(error) }

    fileprivate func failed(_ error: any Error) {
        switch error {
        case let error as NIOSSLExtraError where error == .failedToValidateHostname:
            end(.certificate(reason: "it is for another name than \(address.host)"))
        case is NIOSSLExtraError: end(.certificate(reason: "it can't be checked"))
        case NIOSSLError.handshakeFailed(let inner):
            let isCertificate = "\(inner)".contains("CERTIFICATE")
            end(
                isCertificate
                    ? .certificate(reason: "nobody whom this machine trusts vouches for it, or it has expired")
                    : .notJanus(reason: "it doesn't speak TLS, or an old version"))
        case is NIOWebSocketError: end(.badAnswer)
        default: end(isOpen ? .lost : .unreachable(reason: networkReason(error)))
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        end(isOpen ? .lost : .notJanus(reason: "it has closed the connection without an answer"))
        context.fireChannelInactive()
    }

    // MARK: Frames

    fileprivate func frame(_ frame: WebSocketFrame, _ channel: any Channel) {
        guard events != nil else { return }
        guard rate.take(Self.frameCost + frame.data.readableBytes, now: .now) == nil else { return reset(.flood) }
        // RFC 6455, 5.1: a server's frames aren't masked; no extension was agreed on.
        guard frame.maskKey == nil, !frame.rsv1, !frame.rsv2, !frame.rsv3 else { return end(.badAnswer) }
        switch frame.opcode {
        case .text where parts == nil: add(frame)
        case .continuation where parts != nil: add(frame)
        case .ping: write(.pong, frame.data, on: channel)
        case .pong: break
        case .connectionClose: end(.lost)
        default: end(.badAnswer)
        }
    }

    private func add(_ frame: WebSocketFrame) {
        let bytes = frame.data.readableBytesView
        partCount += 1
        guard (parts?.count ?? 0) + bytes.count <= JanusMessage.longest, partCount <= Self.mostParts else {
            return end(.badAnswer)
        }
        parts = (parts ?? []) + bytes
        guard frame.fin, let message = parts else { return }
        parts = nil
        partCount = 0
        events?.onMessage(message[...])
    }
}

/// The last handler of the pipeline. Has no reference back, so that both end with the channel.
private final class FrameReader: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame

    private let socket: GatewaySocket

    init(_ socket: GatewaySocket) { self.socket = socket }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        socket.frame(Self.unwrapInboundIn(data), context.channel)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { socket.failed(error) }
}
