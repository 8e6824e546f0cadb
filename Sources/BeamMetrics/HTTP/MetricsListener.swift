import BeamClock
import BeamMedia
import BeamSockets
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix

/// The TCP port at which metrics are served. Confined to its event loop.
final class MetricsListener: LoopDriver {
    struct Limits {
        /// Connections at a time. A scrape takes one, for some milliseconds.
        var connections = 16
        /// From a connection to its whole request; and from the answer to its end, for a peer that doesn't read it.
        var request = TimeAmount.seconds(10)
        var answer = TimeAmount.seconds(10)
        /// A text serves for so long, so that nobody can have it made without end. The figures change once a second.
        var textAge = Duration.milliseconds(100)
    }

    private final class Connection {
        enum State {
            /// Its request isn't complete.
            case asking
            /// The system hasn't taken all of the answer.
            case answering
            case answered
        }

        let channel: any Channel
        var state = State.asking

        init(_ channel: any Channel) { self.channel = channel }
    }

    private static let bytesPerRead = 4 << 10
    private static let listenRetry = TimeAmount.milliseconds(500)

    private let loop: any EventLoop
    private let names: MetricsNames
    private let limits: Limits
    private let makeText: @Sendable () -> String
    private var listener: (any Channel)?
    /// In the order in which they came.
    private var connections: [Connection] = []
    private var text: (made: MediaTime, bytes: ByteBuffer)?
    private var isShuttingDown = false

    init(
        loop: any EventLoop, names: MetricsNames, limits: Limits = Limits(), makeText: @escaping @Sendable () -> String
    ) {
        (self.loop, self.names, self.limits, self.makeText) = (loop, names, limits, makeText)
    }

    // MARK: The listening socket

    /// Listens, and tells at which port.
    func start(_ address: SocketAddress) -> EventLoopFuture<UInt16> {
        let bound = NIOLoopBound(self, eventLoop: loop)
        // All addresses of IPv6 are those of IPv4, too.
        let server =
            address.isV6 ? bootstrap().serverChannelOption(SocketOptions.onlyV6, value: 0) : bootstrap()
        return server.bind(to: address).flatMapThrowing { channel in
            guard let local = channel.localAddress, let port = local.port else { throw ChannelError.ioOnClosedChannel }
            bound.value.listen(on: channel, local)
            return UInt16(clamping: port)
        }
    }

    private func bootstrap() -> ServerBootstrap {
        let bound = NIOLoopBound(self, eventLoop: loop)
        return ServerBootstrap(group: loop)
            .serverChannelOption(.backlog, value: Int32(64))
            .serverChannelOption(.maxMessagesPerRead, value: AcceptGate.acceptsPerTurn)
            // A port whose connections have just ended is free for a new start of the program.
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.bytesPerRead))
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    // What exhausts descriptors is told by who shares; here accepting just pauses.
                    try channel.pipeline.syncOperations.addHandler(
                        AcceptGate(
                            AcceptGate.Events(
                                admits: { bound.value.admits($0) }, onExhausted: { _ in }, onFailure: { _ in })))
                }
            }
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try bound.value.prepare(channel) }
            }
    }

    private func listen(on channel: any Channel, _ address: SocketAddress) {
        listener = channel
        // NIO closes the socket after an error that it takes for a lasting one.
        channel.closeFuture.assumeIsolated().whenComplete { [self] _ in
            guard !isShuttingDown, listener === channel else { return }
            listener = nil
            listenAgain(address)
        }
    }

    private func listenAgain(_ address: SocketAddress) {
        start(address).assumeIsolated().whenComplete { [self] result in
            if isShuttingDown {
                listener?.close(promise: nil)
            } else if case .failure = result {
                loop.assumeIsolated().scheduleTask(in: Self.listenRetry) { [self] in
                    if !isShuttingDown { listenAgain(address) }
                }
            }
        }
    }

    // MARK: Connections

    /// So many there are.
    var count: Int { connections.count }

    /// The oldest connection that has its answer, or else that hasn't sent its request, or else that doesn't read its
    /// answer, makes room for a new one: whoever only holds connections keeps nobody out.
    private func admits(_ channel: any Channel) -> Bool {
        guard !isShuttingDown else { return false }
        if connections.count >= limits.connections {
            let index =
                connections.firstIndex(where: { $0.state == .answered })
                ?? connections.firstIndex(where: { $0.state == .asking }) ?? 0
            connections.remove(at: index).channel.reset()
        }
        connections.append(Connection(channel))
        channel.closeFuture.assumeIsolated().whenComplete { [self] _ in
            connections.removeAll { $0.channel === channel }
        }
        return true
    }

    private func prepare(_ channel: any Channel) throws {
        guard let connection = connections.first(where: { $0.channel === channel }) else { return channel.reset() }
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(RequestBound())
        try pipeline.addHandler(HTTPResponseEncoder())
        try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)))
        try pipeline.addHandler(
            MetricsHTTPHandler(
                names: names, timeout: limits.request,
                MetricsHTTPHandler.Events(
                    metrics: { [unowned self] in self.currentText() },
                    onAnswer: { [unowned self] in self.close(connection, after: $0) })))
    }

    /// Closes the connection once the answer has left. A socket that is closed with unread bytes is reset, and the peer
    /// might lose the answer's end: the sending direction ends first.
    private func close(_ connection: Connection, after answer: EventLoopFuture<Void>) {
        connection.state = .answering
        answer.assumeIsolated().whenSuccess { connection.state = .answered }
        let channel = connection.channel
        channel.close(mode: .output, promise: nil)
        let timer = loop.scheduleTask(in: limits.answer) { channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in timer.cancel() }
    }

    private func currentText() -> ByteBuffer {
        let now = MediaTime.now
        if let text, now - text.made < limits.textAge { return text.bytes }
        let bytes = ByteBuffer(string: makeText())
        text = (now, bytes)
        return bytes
    }

    // MARK: The end

    func shutdown() -> EventLoopFuture<Void> {
        isShuttingDown = true
        listener?.close(promise: nil)
        for connection in connections where connection.state == .asking { connection.channel.reset() }
        // An answer that is under way has a moment to leave.
        let (loop, rest) = (loop, connections.filter { $0.state != .asking }.map(\.channel))
        let timer = loop.scheduleTask(in: .seconds(1)) { for channel in rest { channel.close(promise: nil) } }
        return EventLoopFuture.andAllComplete(rest.map(\.closeFuture), on: loop).always { _ in timer.cancel() }
    }
}
