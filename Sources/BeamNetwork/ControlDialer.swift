import BeamIdentity
import BeamProtocol
import NIOCore
import NIOPosix

/// Makes a viewer's control connection, and carries what is sent and received on it. Confined to its event loop.
///
/// TCP and TLS repeat a lost packet after timers that double, so a burst of losses can delay one connection by seconds.
/// While a version 2 connection isn't secured, further ones are therefore opened, and the first that is secured is
/// kept (as Happy Eyeballs does it, RFC 8305). The others are closed. They have sent no message, so a host neither asks
/// anybody about them nor counts them as tries.
final class ControlDialer {
    /// Confined to the event loop, like the dialer. None is called from within `dial`, `send` or `close`.
    struct Events {
        /// A version 1 connection is established.
        var onConnected: (any Channel) -> Void
        var onBytes: ([UInt8]) -> Void
        /// A version 2 connection is secured; its peer holds this key.
        var onSecured: (DeviceKey, any Channel) -> Void
        var onMessage: ([UInt8]) -> Void
        /// No connection could be made, or the one that was made has ended. Called once for each `dial`. `reason` is a
        /// part of a sentence.
        var onEnd: (_ reason: String, ViewerSession.ControlFailure) -> Void
    }

    fileprivate final class Attempt {
        let endpoint: Endpoint
        let began: NIODeadline
        /// Those that connect or are connected: several if the host's name has several addresses.
        var channels: [any Channel] = []
        /// The one that is connected, and in version 2 its last handler.
        var channel: (any Channel)?
        var secure: SecureControl?

        init(_ endpoint: Endpoint) {
            self.endpoint = endpoint
            began = .now()
        }
    }

    /// Bytes that may wait to be sent to a host. If more wait, the host isn't reading, and the connection is reset.
    private static let mostUnsent = 256 << 10
    /// Bytes that one read takes: one TLS record.
    private static let bytesPerRead = 16 << 10
    private static let connectTimeout = TimeAmount.seconds(3)
    /// Where version 1 is allowed: how long a host may take to answer TLS before it is taken for a version 1 host.
    private static let plainFallbackTimeout = TimeAmount.milliseconds(1500)
    /// From one attempt to the next while none is secured: RFC 8305's 250 ms, then less, because losses come in bursts
    /// and each attempt tries once more. The last one repeats.
    private static let pauses = [250, 150, 150, 150, 250, 500].map { TimeAmount.milliseconds($0) }
    /// The same while an attempt shows no loss: the host has received all that was sent, and is slow.
    private static let pauseForSlowHost = TimeAmount.seconds(1)
    /// Attempts open at a time. A host lets 16 connections of one address wait.
    private static let mostOpen = 6
    /// An attempt of this age is closed for a new one.
    private static let oldAttempt = TimeAmount.seconds(2)

    private let loop: any EventLoop
    /// Fails if this machine's identity can't be used, which doesn't happen with one that BeamRoom has made.
    private let transport: Result<SecureTransport, any Error>
    private let events: Events
    private let source: String?
    private let mayFallBack: Bool

    private var version = ViewerSession.Version.version2
    private var endpoints: [Endpoint] = []
    /// Attempts begun since `dial`.
    private var begun = 0
    private var open: [Attempt] = []
    private var refused: Set<Endpoint> = []
    /// The connection that is used, once there is one.
    private var chosen: Attempt?
    private var timer: Scheduled<Void>?
    /// Counts dials, so that what belongs to an earlier one is recognised.
    private var dialled: UInt64 = 0

    /// - Parameters:
    ///   - source: the numeric local address of all connections; nil: the system chooses.
    ///   - mayFallBack: version 1 is tried if the host doesn't answer TLS.
    init(loop: any EventLoop, identity: LocalIdentity, source: String?, mayFallBack: Bool, events: Events) {
        self.loop = loop
        self.events = events
        self.source = source
        self.mayFallBack = mayFallBack
        transport = Result { try SecureTransport(identity) }
    }

    /// The local address of the connection.
    var localAddress: SocketAddress? { chosen?.channel?.localAddress }

    // MARK: Dialling

    /// Connects, in place of any earlier connection. The endpoints are tried in turn.
    func dial(_ endpoints: [Endpoint], _ version: ViewerSession.Version) {
        close()
        self.endpoints = endpoints
        self.version = version
        guard !endpoints.isEmpty else {
            return later { $0.end("it isn't on the network at the moment", .network) }
        }
        later { $0.begin() }
    }

    /// Closes the connection once all that was sent has left, and every attempt.
    func close() {
        dialled += 1
        timer?.cancel()
        timer = nil
        let (used, unused) = (chosen, open)
        (chosen, open) = (nil, [])
        used?.channel?.closeAfterFlushing()
        for attempt in unused { abandon(attempt) }
        refused = []
        begun = 0
    }

    /// Sends version 1's bytes, or one message of version 2.
    func send(_ bytes: [UInt8]) {
        guard let chosen, let channel = chosen.channel else { return }
        guard channel.isWritable else {
            channel.reset()
            return later { $0.end("it doesn't read what it is sent", .network) }
        }
        if let secure = chosen.secure { return secure.send(bytes) }
        channel.writeAndFlush(channel.allocator.buffer(bytes: bytes), promise: nil)
    }

    /// Gives up the connection, which can't be used any more.
    func drop(_ reason: String) {
        guard chosen != nil else { return }
        later { $0.end(reason, .network) }
    }

    private func begin() {
        let attempt = Attempt(endpoints[begun % endpoints.count])
        begun += 1
        open.append(attempt)
        scheduleNext()
        let bound = NIOLoopBound((self, attempt), eventLoop: loop)
        makeBootstrap(attempt).connect(host: attempt.endpoint.host, port: Int(attempt.endpoint.port)).whenComplete {
            let (dialer, attempt) = bound.value
            switch $0 {
            case .success(let channel): dialer.connected(attempt, channel)
            case .failure(let error): dialer.failed(attempt, networkReason(error))
            }
        }
    }

    private func makeBootstrap(_ attempt: Attempt) -> ClientBootstrap {
        let bound = NIOLoopBound((self, attempt), eventLoop: loop)
        var bootstrap = ClientBootstrap(group: loop)
            .connectTimeout(Self.connectTimeout)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelOption(.writeBufferWaterMark, value: .init(low: 16 << 10, high: Self.mostUnsent))
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.bytesPerRead))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let (dialer, attempt) = bound.value
                    try dialer.prepare(channel, attempt)
                }
            }
        for (option, value) in SocketOptions.control {
            bootstrap = bootstrap.channelOption(option, value: value)
        }
        if let source, let address = try? SocketAddress(ipAddress: source, port: 0) {
            bootstrap = bootstrap.bind(to: address)
        }
        return bootstrap
    }

    private func prepare(_ channel: any Channel, _ attempt: Attempt) throws {
        let pipeline = channel.pipeline.syncOperations
        attempt.channels.append(channel)
        switch version {
        case .version1:
            try pipeline.addHandler(
                ControlConnection(
                    ControlConnection.Events(
                        onBytes: { [weak self] bytes in
                            guard let self, self.chosen === attempt else { return }
                            self.events.onBytes(bytes)
                        },
                        onEnd: { [weak self] reason in
                            // Failures to connect are reported by the bootstrap.
                            guard let self, self.chosen === attempt else { return }
                            self.end(reason, .network)
                        })))
        case .version2:
            _ = try transport.get().add(
                .viewer, to: pipeline,
                timeout: mayFallBack ? Self.plainFallbackTimeout : SecureControl.handshakeTimeout,
                events: SecureControl.Events(
                    onSecured: { [weak self] host in self?.secured(attempt, host, channel) },
                    onMessage: { [weak self] message in
                        guard let self, self.chosen === attempt else { return }
                        self.events.onMessage(message)
                    },
                    onEnd: { [weak self] reason in self?.secureEnded(attempt, channel, reason) }))
        }
    }

    /// Begins further attempts while none is secured.
    private func scheduleNext() {
        timer?.cancel()
        timer = nil
        // Version 1 has no handshake that could stall, and its hosts may ask a person for each connection.
        guard version == .version2 else { return }
        let bound = NIOLoopBound(self, eventLoop: loop)
        let pause = Self.pauses[min(max(1, begun), Self.pauses.count) - 1]
        timer = loop.scheduleTask(in: pause) { bound.value.beginNext() }
    }

    private func beginNext() {
        guard chosen == nil, let newest = open.last else { return }
        let age = NIODeadline.now() - newest.began
        if begun > 1, age < Self.pauseForSlowHost, open.contains(where: \.isAnswered) { return scheduleNext() }
        if open.count >= Self.mostOpen {
            guard let oldest = open.first, NIODeadline.now() - oldest.began >= Self.oldAttempt else {
                return scheduleNext()
            }
            abandon(open.removeFirst())
        }
        begin()
    }

    // MARK: What becomes of an attempt

    private func connected(_ attempt: Attempt, _ channel: any Channel) {
        guard chosen == nil, open.contains(where: { $0 === attempt }) else { return channel.reset() }
        attempt.channel = channel
        attempt.secure = try? channel.pipeline.syncOperations.handler(type: SecureControl.self)
        guard version == .version1 else { return }
        choose(attempt)
        events.onConnected(channel)
        // The connection may have ended already.
        if chosen === attempt, !channel.isActive { end("the other side has closed the connection", .network) }
    }

    private func secured(_ attempt: Attempt, _ host: DeviceKey, _ channel: any Channel) {
        guard chosen == nil, attempt.channel === channel, open.contains(where: { $0 === attempt }) else { return }
        choose(attempt)
        events.onSecured(host, channel)
    }

    private func choose(_ attempt: Attempt) {
        timer?.cancel()
        timer = nil
        chosen = attempt
        let others = open.filter { $0 !== attempt }
        open = []
        for other in others { abandon(other) }
    }

    private func abandon(_ attempt: Attempt) {
        attempt.secure?.discard()
        // At once: an orderly end of TLS would wait for an answer.
        for channel in attempt.channels { channel.reset() }
    }

    /// TCP couldn't connect.
    private func failed(_ attempt: Attempt, _ reason: String) {
        guard open.contains(where: { $0 === attempt }) else { return }
        open.removeAll { $0 === attempt }
        if begun < endpoints.count { return begin() }
        if reason == NetworkError.noAnswer {
            // A lost packet of this attempt, if another one has come further.
            if open.contains(where: { $0.channel != nil }) { return }
        } else {
            refused.insert(attempt.endpoint)
            // The attempts that still wait will get the same answer once all addresses have refused.
            if !open.isEmpty, !refused.isSuperset(of: endpoints) { return }
        }
        end("\(attempt.endpoint): \(reason)", .network)
    }

    private func secureEnded(_ attempt: Attempt, _ channel: any Channel, _ reason: String) {
        // While TCP connects, the bootstrap reports the failure.
        guard attempt.channel === channel, let secure = attempt.secure else { return }
        if chosen === attempt { return end(reason, failure(of: secure, reason)) }
        guard open.contains(where: { $0 === attempt }) else { return }
        let failure = failure(of: secure, reason)
        open.removeAll { $0 === attempt }
        // Another attempt may still be secured, unless this one has shown that the host doesn't speak TLS: it has received
        // everything, and answered nothing.
        if !open.isEmpty, failure == .network { return }
        end(reason, failure)
    }

    private func failure(of secure: SecureControl, _ reason: String) -> ViewerSession.ControlFailure {
        switch secure.certificate {
        case .failure: .refusedCertificate
        case .success: TLSFailure.isFinal(reason) ? .refusedCertificate : .network
        // A handshake that stalls because packets are lost says nothing of what the host speaks.
        case nil: secure.stall == nil || secure.stall == .nothingReceived ? .notSecure : .network
        }
    }

    private func end(_ reason: String, _ failure: ViewerSession.ControlFailure) {
        chosen = nil
        close()
        events.onEnd(reason, failure)
    }

    /// Does something later on the loop, unless something else is dialled or the connection is closed meanwhile.
    private func later(_ action: @escaping (ControlDialer) -> Void) {
        let bound = NIOLoopBound((self, action), eventLoop: loop)
        let number = dialled
        loop.execute {
            let (dialer, action) = bound.value
            if dialer.dialled == number { action(dialer) }
        }
    }
}

extension ControlDialer.Attempt {
    /// TCP is established, and the host's machine has received all that was sent to it.
    fileprivate var isAnswered: Bool {
        guard let progress = channel.flatMap({ TCPProgress($0) }) else { return false }
        return progress.unacknowledged == 0
    }
}
