import BeamClock
import BeamMedia
import BeamSession
import BeamSockets
import BeamWire
import NIOCore
import NIOPosix

/// The UDP port for all browsers that get packets: ICE-lite, DTLS, SRTP. Confined to its event loop.
///
/// It answers only binding requests with the password of a browser that was let in (RFC 8445), and reads DTLS and SRTCP only
/// from addresses that sent one: nothing else is answered.
final class MediaPort {
    struct Events {
        /// The browser has proven its certificate: packets can be sent.
        var onReady: (ConnectionID) -> Void
        /// An authentic RTCP packet, in the clear.
        var onControl: (ConnectionID, UnsafeRawBufferPointer) -> Void
        /// Nothing can be sent any more; a sentence without a full stop.
        var onOver: (ConnectionID, _ reason: String) -> Void
        /// All that has arrived was read.
        var onRead: () -> Void
    }

    /// From the offer until the path is ready.
    static let establishing = Duration.seconds(20)
    static let handshake = Duration.seconds(10)
    /// Handshakes at a time: each costs a millisecond or two.
    private static let mostHandshakes = 32
    /// Without a binding request (consent, RFC 7675, 5.1).
    static let consent = Duration.seconds(30)

    let identity: DTLSIdentity
    private let loop: any EventLoop
    private let events: Events
    private var channel: (any Channel)?
    private var sender: MediaSender?
    private var isClosed = false
    private var paths: [ConnectionID: MediaPath] = [:]
    private var names: [String: ConnectionID] = [:]
    private var addresses: [NetworkAddress: ConnectionID] = [:]
    private var handshakes = 0
    private var burst = PacketBuffer()
    private(set) var port: UInt16 = 0

    init(loop: any EventLoop, identity: DTLSIdentity, events: Events) {
        self.loop = loop
        self.identity = identity
        self.events = events
    }

    // MARK: The socket

    /// Binds the port, or one of the next ones if it is in use.
    func bind(_ address: SocketAddress, tries: Int) -> EventLoopFuture<UInt16> {
        let bound = NIOLoopBound(self, eventLoop: loop)
        var bootstrap = SocketOptions.makeMediaBootstrap(on: loop) { channel in
            try channel.pipeline.syncOperations.addHandler(MediaPortHandler(bound.value))
        }
        if address.isV6 { bootstrap = bootstrap.channelOption(SocketOptions.onlyV6, value: 0) }
        return bootstrap.bind(to: address).map { channel in
            bound.value.opened(channel)
        }.flatMapError { error in
            guard (error as? IOError)?.errnoCode == EADDRINUSE, tries > 1, let port = address.port, port != 0 else {
                return bound.eventLoop.makeFailedFuture(error)
            }
            let next = UInt16(exactly: port + 1) ?? 0
            return bound.value.bind(address.with(port: next), tries: tries - 1)
        }
    }

    private func opened(_ channel: any Channel) -> UInt16 {
        self.channel = channel
        SocketOptions.enlargeBuffers(of: channel)
        // An address that can't be reached sends no requests, either, and is over then.
        sender = MediaSender(channel, onFailure: { _ in })
        port = UInt16(clamping: channel.localAddress?.port ?? 0)
        return port
    }

    /// The socket was closed, which happens only if the machine's network fails: opens another one at the same port.
    fileprivate func closed(_ closed: any Channel, _ address: SocketAddress?) {
        guard channel === closed, let address else { return }
        channel = nil
        sender = nil
        openAgain(address)
    }

    private func openAgain(_ address: SocketAddress) {
        loop.assumeIsolated().scheduleTask(in: .milliseconds(500)) { [self] in
            guard !isClosed else { return }
            bind(address, tries: 1).assumeIsolated().whenFailure { [self] _ in openAgain(address) }
        }
    }

    func close() -> EventLoopFuture<Void> {
        isClosed = true
        for id in Array(paths.keys) { remove(id) }
        guard let channel, channel.isActive else { return loop.makeSucceededVoidFuture() }
        channel.close(promise: nil)
        return channel.closeFuture
    }

    // MARK: Browsers

    /// The text of an offer for a browser that was let in.
    func offer(_ id: ConnectionID, _ sources: BrowserSources, addresses: [IPAddress], now: MediaTime) -> String {
        remove(id)
        var random = SystemRandomNumberGenerator()
        let path = MediaPath(
            name: SessionOffer.secret(8, random: &random), password: SessionOffer.secret(24, random: &random), now: now)
        paths[id] = path
        names[path.name] = id
        return SessionOffer(
            name: path.name, password: path.password, fingerprint: identity.fingerprint, sources: sources,
            addresses: addresses, port: port
        ).text
    }

    /// Its answer: whose certificate is to be expected. False if none was offered, or it was answered already.
    func answer(_ id: ConnectionID, _ answer: SessionAnswer) -> Bool {
        guard let path = paths[id], case .offered(let early) = path.stage else { return false }
        path.answered(name: answer.name, password: answer.password)
        path.stage = .answered(fingerprint: answer.fingerprint, early: early)
        for address in path.addresses { sendCheck(of: path, to: address) }
        return true
    }

    /// Forgets the browser; tells it so if it is connected.
    func remove(_ id: ConnectionID) {
        guard let path = paths.removeValue(forKey: id) else { return }
        names[path.name] = nil
        for address in path.addresses where addresses[address] == id { addresses[address] = nil }
        if case .established(let connection, _) = path.stage {
            connection.close()
            flush(connection, path)
        }
        end(path)
    }

    private func end(_ path: MediaPath) {
        if case .handshaking = path.stage { handshakes -= 1 }
        path.stage = .over
    }

    private func over(_ id: ConnectionID, _ reason: String) {
        remove(id)
        events.onOver(id, reason)
    }

    /// Each second or so: what has taken too long is over.
    func checkTimes(now: MediaTime) {
        for (id, path) in paths {
            switch path.stage {
            case .handshaking(_, let since) where now - since > Self.handshake:
                over(id, "the browser's secure connection for the stream (DTLS) wasn't ready in time")
            case .established:
                if now - path.lastRequest > Self.consent { over(id, "nothing was heard of the browser for 30 s") }
            default:
                guard now - path.offered > Self.establishing else { continue }
                over(
                    id,
                    path.addresses.isEmpty
                        ? "nothing arrived from the browser by UDP" : "the browser hasn't begun to receive in time")
            }
        }
    }

    // MARK: Receiving

    fileprivate func datagram(_ envelope: AddressedEnvelope<ByteBuffer>) {
        guard let from = NetworkAddress(envelope.remoteAddress) else { return }
        var data = envelope.data
        data.withUnsafeMutableReadableBytes { bytes in
            // RFC 7983, 7.
            switch bytes.first ?? 255 {
            case 0...3: stun(UnsafeRawBufferPointer(bytes), from)
            case 20...63:
                guard let (id, path) = path(at: from) else { return }
                secured(UnsafeRawBufferPointer(bytes), id, path, now: .now)
            case 128...191: control(bytes, from)
            default: break
            }
        }
    }

    fileprivate func allRead() { events.onRead() }

    private func path(at address: NetworkAddress) -> (ConnectionID, MediaPath)? {
        guard let id = addresses[address], let path = paths[id] else { return nil }
        return (id, path)
    }

    private func stun(_ bytes: UnsafeRawBufferPointer, _ from: NetworkAddress) {
        guard STUN.isRequest(bytes) else {
            guard let (id, path) = path(at: from), path.received(bytes, from: from, now: .now) else { return }
            return begin(id, path, now: .now)
        }
        guard let request = try? STUNRequest(bytes), let id = names[request.name], let path = paths[id],
            request.isAuthentic(bytes, password: path.password), path.mayBe(request.peerName)
        else { return }
        // What another browser has shown to be its own stays its own.
        if let owner = addresses[from], owner != id, paths[owner]?.address == from { return }
        let forgotten = path.asked(from: from, nominates: request.nominates, now: .now)
        if let forgotten, addresses[forgotten] == id { addresses[forgotten] = nil }
        addresses[from] = id
        send(request.answer(from: from, password: path.password), to: from)
        sendCheck(of: path, to: from)
    }

    private func sendCheck(of path: MediaPath, to address: NetworkAddress) {
        if let request = path.checkRequest(to: address) { send(request, to: address) }
    }

    private func send(_ message: [UInt8], to address: NetworkAddress) {
        message.withUnsafeBytes { sender?.send($0, segmentSize: $0.count, to: address) }
    }

    /// RTCP in SRTCP (RFC 5761, 4); browsers send no RTP.
    private func control(_ bytes: UnsafeMutableRawBufferPointer, _ from: NetworkAddress) {
        guard bytes.count >= 12, (192...223).contains(bytes[1]), let (id, path) = path(at: from),
            case .established(_, let session) = path.stage, let clear = session.open(.control, bytes)
        else { return }
        events.onControl(id, clear)
    }

    // MARK: DTLS

    private func secured(_ bytes: UnsafeRawBufferPointer, _ id: ConnectionID, _ path: MediaPath, now: MediaTime) {
        switch path.stage {
        case .offered: path.keepEarly(bytes)
        case .answered:
            path.keepEarly(bytes)
            begin(id, path, now: now)
        case .handshaking(let connection, _): step(connection, bytes, id, path)
        case .established(let connection, _): step(connection, bytes, id, path)
        case .over: break
        }
    }

    /// Begins the handshake with what has come of it, if the browser has answered the offer and has an address.
    private func begin(_ id: ConnectionID, _ path: MediaPath, now: MediaTime) {
        guard case .answered(let fingerprint, let early) = path.stage, path.address != nil, !early.isEmpty,
            handshakes < Self.mostHandshakes
        else { return }
        guard let connection = DTLSConnection(identity, .server, peer: fingerprint) else {
            return over(id, "its certificate's fingerprint can't be used")
        }
        handshakes += 1
        path.stage = .handshaking(connection, since: now)
        for datagram in early { datagram.withUnsafeBytes { step(connection, $0, id, path) } }
    }

    private func step(
        _ connection: DTLSConnection, _ bytes: UnsafeRawBufferPointer, _ id: ConnectionID, _ path: MediaPath
    ) {
        // An earlier datagram of the same handshake may have ended it.
        if case .over = path.stage { return }
        connection.receive(bytes)
        flush(connection, path)
        stepped(connection, id, path)
    }

    private func stepped(_ connection: DTLSConnection, _ id: ConnectionID, _ path: MediaPath) {
        switch connection.state {
        case .handshaking: scheduleTimeout(connection, id, path)
        case .established:
            guard case .handshaking = path.stage else { return }
            guard let session = SRTPSession(connection) else {
                return over(id, "the browser has no protection of packets (SRTP) in common with this host")
            }
            handshakes -= 1
            path.stage = .established(connection, session)
            events.onReady(id)
        case .closed: over(id, "the browser has closed its connection")
        case .failed: over(id, "the browser's secure connection for the stream (DTLS) has failed")
        }
    }

    private func scheduleTimeout(_ connection: DTLSConnection, _ id: ConnectionID, _ path: MediaPath) {
        guard !path.hasTimer, let timeout = connection.timeout else { return }
        path.hasTimer = true
        let wait = TimeAmount.nanoseconds(max(1_000_000, timeout.inNanoseconds))
        loop.assumeIsolated().scheduleTask(in: wait) { [weak self] in
            path.hasTimer = false
            guard let self, case .handshaking(let current, _) = path.stage, current === connection else { return }
            if (connection.timeout ?? .zero) <= .zero { connection.timeOut() }
            flush(connection, path)
            stepped(connection, id, path)
        }
    }

    private func flush(_ connection: DTLSConnection, _ path: MediaPath) {
        connection.takeDatagrams { datagram in
            guard let address = path.address else { return }
            sender?.send(datagram, segmentSize: datagram.count, to: address)
        }
    }

    // MARK: Sending

    /// Protects packets and sends them. Those of a browser whose path isn't ready are dropped.
    func send(_ packets: BrowserBurst, to id: ConnectionID) {
        guard let path = paths[id], let address = path.address, let sender,
            case .established(_, let session) = path.stage
        else { return }
        for index in 0..<packets.count {
            burst.add(write: { packets.write(index, to: $0) }, session) { bytes, size in
                sender.send(bytes, segmentSize: size, to: address)
            }
        }
        burst.flush { bytes, size in sender.send(bytes, segmentSize: size, to: address) }
    }

    func sendControl(_ bytes: [UInt8], to id: ConnectionID) {
        guard let path = paths[id], let address = path.address, case .established(_, let session) = path.stage else {
            return
        }
        withUnsafeTemporaryAllocation(byteCount: bytes.count + SRTPSession.overhead, alignment: 8) { memory in
            memory.copyBytes(from: bytes)
            guard let count = session.protect(.control, memory, count: bytes.count) else { return }
            sender?.send(UnsafeRawBufferPointer(rebasing: memory[..<count]), segmentSize: count, to: address)
        }
    }

    /// Whether the packets of this browser are AEAD_AES_128_GCM; nil before its path is ready.
    func usesGCM(_ id: ConnectionID) -> Bool? {
        guard case .established(_, let session)? = paths[id]?.stage else { return nil }
        return session.usesGCM
    }
}

/// The last handler of the media socket's pipeline.
private final class MediaPortHandler: ChannelInboundHandler {
    typealias InboundIn = AddressedEnvelope<ByteBuffer>

    private weak var port: MediaPort?
    private var address: SocketAddress?

    init(_ port: MediaPort) { self.port = port }

    func channelActive(context: ChannelHandlerContext) {
        address = context.localAddress
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { port?.datagram(Self.unwrapInboundIn(data)) }

    func channelReadComplete(context: ChannelHandlerContext) { port?.allRead() }

    func channelInactive(context: ChannelHandlerContext) { port?.closed(context.channel, address) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // ICMP errors for datagrams sent earlier: browsers that have gone ask for nothing any more.
    }
}
