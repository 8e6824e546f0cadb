import BeamSession
import BeamSockets
import BeamWire
import NIOCore
import NIOPosix

/// Makes a viewer's control connection, and carries what is sent and received on it. Confined to its event loop.
///
/// TCP and TLS repeat a lost packet after timers that double, so a burst of losses can delay one connection by seconds.
/// While a version 2 connection isn't secured, further ones are therefore opened, and the first that is secured is
/// kept (as Happy Eyeballs does it, RFC 8305). The others are closed. They have sent no message, so a host neither asks
/// anybody about them nor counts them as tries.
///
/// A host may be sought at several addresses: where it is announced, and where it was before. They are tried at the same
/// time, each a moment after the one before. If the keys are known that the host may hold, a peer that holds another one
/// is passed over while any other address may still be the host's.
final class ControlDialer {
    /// Confined to the event loop, like the dialer. None is called from within `dial`, `send` or `close`.
    struct Events {
        /// A version 1 connection to this address is established.
        var onConnected: (SocketAddress?) -> Void
        var onBytes: ([UInt8]) -> Void
        /// A version 2 connection is secured; its peer, at this address, holds this key, which is one of the expected.
        var onSecured: (DeviceKey, SocketAddress?) -> Void
        var onMessage: ([UInt8]) -> Void
        /// No connection could be made, or the one that was made has ended. Called once for each `dial`. `reason` is a
        /// part of a sentence.
        var onEnd: (_ reason: String, ViewerSession.ControlFailure) -> Void
        /// A host with an unexpected key is at this address.
        var onOtherHost: (Endpoint) -> Void
    }

    /// Bytes that may wait to be sent to a host. If more wait, the host isn't reading, and the connection is reset.
    private static let mostUnsent = 256 << 10
    /// Bytes that one read takes: one TLS record.
    private static let bytesPerRead = 16 << 10
    private static let connectTimeout = TimeAmount.seconds(3)
    /// Where version 1 is allowed: how long a host may take to answer TLS before it is taken for a version 1 host.
    private static let plainFallbackTimeout = TimeAmount.milliseconds(1500)
    /// From one attempt to the next while none is secured. The first is below RFC 8305's 250 ms because a host on the
    /// same network has answered by then; then less, because losses come in bursts and each attempt tries once more. The
    /// last one repeats. `Scripts/faults --only bursts-joining`: the worst first picture of 20 seeds 2.7 s with 250, 100,
    /// 100 … ms, 1.7 s with these.
    private static let pauses = [150, 60, 60, 60, 60, 60, 60, 60, 100, 100, 100, 150, 250, 500].map {
        TimeAmount.milliseconds($0)
    }
    /// The same while an attempt shows no loss: the host has received all that was sent, and is slow.
    private static let pauseForSlowHost = TimeAmount.seconds(1)
    /// Attempts open at a time. A host lets 16 connections of one address wait.
    static let mostOpen = 12
    /// An attempt of this age is closed for a new one.
    private static let oldAttempt = TimeAmount.seconds(1)

    private let loop: any EventLoop
    /// Fails if this machine's identity can't be used, which doesn't happen with one that BeamRoom has made.
    private let transport: Result<SecureTransport, any Error>
    private let events: Events
    private let source: String?
    private let mayFallBack: Bool
    private let mostOpen: Int
    private let admits: (Endpoint) -> Bool

    private var version = ViewerSession.Version.version2
    private var candidates = DialCandidates()
    /// The keys that the host may hold; nil: any.
    private var expected: Set<DeviceKey>?
    /// Connections are being made.
    private var isDialling = false
    /// Attempts begun since `dial`.
    private var begun = 0
    private var open: [DialAttempt] = []
    /// The connection that is used, once there is one.
    private var chosen: DialAttempt?
    private var timer: Scheduled<Void>?
    /// Counts dials, so that what belongs to an earlier one is recognised.
    private var dialled: UInt64 = 0

    /// - Parameters:
    ///   - transport: its purpose is what is spoken with the host.
    ///   - source: the numeric local address of all connections; nil: the system chooses.
    ///   - mayFallBack: version 1 is tried if the host doesn't answer TLS.
    ///   - mostOpen: connections that may be open at a time while none is secured.
    ///   - admits: whether one more connection to that address may be made now.
    init(
        loop: any EventLoop, transport: Result<SecureTransport, any Error>, source: String?, mayFallBack: Bool,
        mostOpen: Int = ControlDialer.mostOpen, admits: @escaping (Endpoint) -> Bool = { _ in true }, events: Events
    ) {
        self.mostOpen = mostOpen
        self.admits = admits
        self.loop = loop
        self.events = events
        self.source = source
        self.mayFallBack = mayFallBack
        self.transport = transport
    }

    /// The local address of the connection.
    var localAddress: SocketAddress? { chosen?.channel?.localAddress }

    // MARK: Dialling

    /// Connects, in place of any earlier connection. The endpoints are tried in turn.
    ///
    /// - Parameters:
    ///   - endpoints: given by the person, or announced: another host there is reported (`wrongHost`).
    ///   - hints: where the host may be, too. Not used unless a key is expected.
    ///   - expected: version 2: the keys that the host may hold; nil: any.
    func dial(
        _ endpoints: [Endpoint], hints: [Endpoint] = [], expecting expected: Set<DeviceKey>? = nil,
        _ version: ViewerSession.Version
    ) {
        close()
        self.version = version
        self.expected = version == .version2 ? expected : nil
        candidates = DialCandidates(named: endpoints, hints: self.expected == nil ? [] : hints)
        guard !candidates.isEmpty else {
            return later { $0.end($0.candidates.outcome.reason, .network) }
        }
        isDialling = true
        later { $0.begin() }
    }

    /// Adds addresses to a dial that has not made a connection yet, and tries one of them at once. Otherwise nothing
    /// happens.
    func add(_ endpoints: [Endpoint], hints: [Endpoint]) {
        guard isDialling else { return }
        let isNew = candidates.add(named: endpoints, hints: expected == nil ? [] : hints)
        if isNew, begun > 0, candidates.hasUntried { begin() }
    }

    /// Closes the connection once all that was sent has left, and every attempt.
    func close() {
        dialled += 1
        timer?.cancel()
        timer = nil
        let (used, unused) = (chosen, open)
        (chosen, open) = (nil, [])
        used?.channel?.closeAfterFlushing()
        for attempt in unused { attempt.abandon() }
        isDialling = false
        begun = 0
    }

    /// Sends version 1's bytes, or one message of version 2.
    func send(_ bytes: [UInt8]) {
        guard let chosen, let channel = chosen.channel else { return }
        guard channel.isWritable else {
            channel.reset()
            return later { $0.end("it doesn't read what is sent to it", .network) }
        }
        if let secure = chosen.secure { return secure.send(bytes) }
        channel.writeAndFlush(channel.allocator.buffer(bytes: bytes), promise: nil)
    }

    /// Stops or goes on reading from the version 2 connection.
    func hold(_ isHeld: Bool) { chosen?.secure?.hold(isHeld) }

    /// Gives up the connection, which can't be used any more.
    func drop(_ reason: String) {
        guard chosen != nil else { return }
        later { $0.end(reason, .network) }
    }

    private func begin() {
        guard let endpoint = nextEndpoint() else {
            // Those that are open may still be secured, and others admitted later.
            if open.isEmpty { return end("it was tried too often", .network) }
            return scheduleNext()
        }
        let attempt = DialAttempt(endpoint)
        begun += 1
        open.append(attempt)
        scheduleNext()
        let connected = makeBootstrap(attempt).connect(host: endpoint.host, port: Int(endpoint.port))
        connected.assumeIsolated().whenComplete { [self] in
            switch $0 {
            case .success(let channel): self.connected(attempt, channel)
            case .failure(let error): failed(attempt, networkReason(error))
            }
        }
    }

    /// The next address to which a connection may be made; nil: there is none at present.
    private func nextEndpoint() -> Endpoint? {
        for _ in 0..<max(1, candidates.count) {
            guard let endpoint = candidates.next(open: open.map(\.endpoint)) else { return nil }
            if admits(endpoint) { return endpoint }
        }
        return nil
    }

    private func makeBootstrap(_ attempt: DialAttempt) -> ClientBootstrap {
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

    private func prepare(_ channel: any Channel, _ attempt: DialAttempt) throws {
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
        let pause = Self.pauses[min(max(1, begun), Self.pauses.count) - 1]
        timer = loop.assumeIsolated().scheduleTask(in: pause) { [self] in beginNext() }
    }

    private func beginNext() {
        guard chosen == nil, let newest = open.last else { return }
        let age = newest.age
        if begun > 1, !candidates.hasUntried, age < Self.pauseForSlowHost, open.contains(where: \.isAnswered) {
            return scheduleNext()
        }
        if open.count >= mostOpen {
            guard let oldest = open.first, oldest.age >= Self.oldAttempt else {
                return scheduleNext()
            }
            open.removeFirst().abandon()
        }
        begin()
    }

    // MARK: What becomes of an attempt

    private func connected(_ attempt: DialAttempt, _ channel: any Channel) {
        guard chosen == nil, open.contains(where: { $0 === attempt }) else { return channel.reset() }
        attempt.channel = channel
        candidates.answered(attempt.endpoint)
        attempt.secure = try? channel.pipeline.syncOperations.handler(type: SecureControl.self)
        guard version == .version1 else { return }
        choose(attempt)
        events.onConnected(channel.remoteAddress)
        // The connection may have ended already.
        if chosen === attempt, !channel.isActive { end("the other side has closed the connection", .network) }
    }

    private func secured(_ attempt: DialAttempt, _ host: DeviceKey, _ channel: any Channel) {
        guard chosen == nil, attempt.channel === channel, open.contains(where: { $0 === attempt }) else { return }
        if let expected, !expected.contains(host) { return foundOther(attempt, host) }
        choose(attempt)
        events.onSecured(host, channel.remoteAddress)
    }

    private func choose(_ attempt: DialAttempt) {
        timer?.cancel()
        timer = nil
        isDialling = false
        chosen = attempt
        let others = open.filter { $0 !== attempt }
        open = []
        for other in others { other.abandon() }
    }

    /// Another host is at this address than the one that is sought.
    private func foundOther(_ attempt: DialAttempt, _ host: DeviceKey) {
        events.onOtherHost(attempt.endpoint)
        exclude(
            attempt.endpoint, "\(attempt.endpoint): \(DialCandidates.otherMachine)", .wrongHost(host))
    }

    /// TCP couldn't connect.
    private func failed(_ attempt: DialAttempt, _ reason: String) {
        guard open.contains(where: { $0 === attempt }) else { return }
        let endpoint = attempt.endpoint
        open.removeAll { $0 === attempt }
        let hasOther = open.contains { $0.endpoint == endpoint && $0.channel != nil }
        // A lost packet of this attempt, if another one has come further.
        if reason == NetworkReason.noAnswer, hasOther { return }
        candidates.failed(endpoint, "\(endpoint): \(reason)")
        goOn()
    }

    private func secureEnded(_ attempt: DialAttempt, _ channel: any Channel, _ reason: String) {
        // While TCP connects, the bootstrap reports the failure.
        guard attempt.channel === channel, let secure = attempt.secure else { return }
        if chosen === attempt { return end(reason, secure.dialFailure(reason)) }
        guard open.contains(where: { $0 === attempt }) else { return }
        let failure = secure.dialFailure(reason)
        open.removeAll { $0 === attempt }
        if failure == .network {
            // Another attempt may still be secured.
            if open.contains(where: { $0.endpoint == attempt.endpoint }) { return }
            candidates.failed(attempt.endpoint, reason)
            return goOn()
        }
        // This one has shown that no BeamRoom is there that could be trusted: all was received, and not answered in TLS.
        guard expected != nil else { return end(reason, failure) }
        exclude(attempt.endpoint, reason, failure)
    }

    /// Gives up one address.
    private func exclude(_ endpoint: Endpoint, _ reason: String, _ failure: ViewerSession.ControlFailure) {
        candidates.exclude(endpoint, reason, failure)
        let others = open.filter { $0.endpoint == endpoint }
        open.removeAll { $0.endpoint == endpoint }
        for other in others { other.abandon() }
        goOn()
    }

    /// An address has failed: goes on with the others, or ends.
    private func goOn() {
        if candidates.hasUntried { return begin() }
        // Those that still wait at an address that has failed will get the same answer.
        if open.contains(where: { candidates.isUndecided($0.endpoint) }) { return }
        let outcome = candidates.outcome
        end(outcome.reason, outcome.failure)
    }

    private func end(_ reason: String, _ failure: ViewerSession.ControlFailure) {
        chosen = nil
        close()
        events.onEnd(reason, failure)
    }

    /// Does something later on the loop, unless something else is dialled or the connection is closed meanwhile.
    private func later(_ action: @escaping (ControlDialer) -> Void) {
        let number = dialled
        loop.assumeIsolated().execute { [self] in if dialled == number { action(self) } }
    }
}
