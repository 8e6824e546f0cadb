import BeamIdentity
import BeamWire
import NIOCore
import NIOSSL
import NIOTLS

/// The last handler of a version 2 control connection, behind TLS: passes the peer's key, its messages and the end of
/// the connection to the driver.
final class SecureControl: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Confined to the channel's event loop, like this handler.
    struct Events {
        /// Called once: the handshake is complete and has proved that the peer holds this key. Nothing is received or
        /// sent before.
        ///
        /// At a viewer this comes before the host has checked the viewer's certificate (RFC 8446, 4.4.4): if the host
        /// refuses it, `onEnd` follows soon after.
        var onSecured: (DeviceKey) -> Void
        var onMessage: ([UInt8]) -> Void
        /// The peer has sent an invalid message; nothing more is read. The callee closes the connection; if this is
        /// nil, it is closed at once. `reason` is a part of a sentence.
        var onViolation: ((_ reason: String) -> Void)?
        /// Called once and last, whichever side closed the connection. `reason` is a part of a sentence.
        var onEnd: (_ reason: String) -> Void
    }

    /// Enough for a slow machine on a bad network; usually a handshake takes milliseconds.
    static let handshakeTimeout = TimeAmount.seconds(5)

    /// The subject public key (SEC 1, uncompressed point) of the peer, and the application protocol that both chose;
    /// known from `onSecured` on.
    private(set) var publicKey: [UInt8] = []
    private(set) var applicationProtocol = ""

    private let tls: NIOSSLHandler
    private let protocols: [String]
    private let proof: PeerProof
    private let timeout: TimeAmount
    private var events: Events?
    private var context: ChannelHandlerContext?
    private var timer: Scheduled<Void>?
    private var isSecured = false
    /// What the handshake had come to when its time was over; nil while it isn't.
    private(set) var stall: Stall?
    private var isViolated = false
    private var framing = MessageFraming()
    private var isHeld = false

    /// `protocols`: one of these has to be chosen in the handshake.
    init(tls: NIOSSLHandler, protocols: [String], proof: PeerProof, timeout: TimeAmount, events: Events) {
        self.tls = tls
        self.protocols = protocols
        self.proof = proof
        self.timeout = timeout
        self.events = events
    }

    /// The longest message accepted, in bytes: 64 KiB unless raised, at most 10 MiB.
    var limit: Int {
        get { framing.limit }
        set { framing.limit = newValue }
    }

    /// The result of checking the peer's certificate; nil if it has shown none, for example because it doesn't speak
    /// TLS.
    var certificate: Result<DeviceKey, PeerCertificateError>? { proof.result }

    /// Sends a message of 1 byte to 10 MiB. Nothing leaves before `onSecured` or after `onEnd`.
    func send(_ message: [UInt8]) {
        guard isSecured, events != nil, let context else { return }
        let bytes = MessageFraming.frame(message, allocator: context.channel.allocator)
        context.writeAndFlush(Self.wrapOutboundOut(bytes), promise: nil)
    }

    /// While it is held, nothing is read and no message is passed on: TCP slows the peer down.
    func hold(_ isHeld: Bool) {
        guard isHeld != self.isHeld, let context else { return }
        self.isHeld = isHeld
        // Fails only on a closed channel, which reads nothing anyway.
        try? context.channel.syncOptions?.setOption(.autoRead, value: !isHeld)
        if !isHeld { passOn(context) }
    }

    // MARK: Lifetime

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { startTimer(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        self.context = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        startTimer(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end("the other side has closed the connection")
        context.fireChannelInactive()
    }

    private func startTimer(_ context: ChannelHandlerContext) {
        guard timer == nil, !isSecured, events != nil else { return }
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: timeout) { [self] in timedOut() }
    }

    /// How a handshake stands that isn't complete in time.
    enum Stall: Hashable, Sendable {
        /// The peer's machine has received everything, and has sent nothing.
        case nothingReceived
        /// What was sent doesn't arrive.
        case unacknowledged
        /// The peer has begun to answer.
        case begun
    }

    private func timedOut() {
        guard !isSecured, let context else { return }
        let progress = TCPProgress(context.channel)
        let stall: Stall =
            (progress?.receivedBytes ?? 0) > 0
            ? .begun : (progress?.unacknowledged ?? 0) > 0 ? .unacknowledged : .nothingReceived
        self.stall = stall
        fail(TLSFailure.timedOut(timeout, stall), context: context)
    }

    /// Reports the reason, then closes.
    private func fail(_ reason: String, context: ChannelHandlerContext) {
        end(reason)
        context.close(promise: nil)
    }

    private func end(_ reason: String) {
        timer?.cancel()
        let ended = events
        events = nil
        framing = MessageFraming()
        ended?.onEnd(reason)
    }

    // MARK: Handshake and messages

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted(let negotiated):
            do {
                secured(try peerKey(negotiated))
            } catch {
                fail(error.reason, context: context)
            }
        case ChannelEvent.inputClosed:
            fail("the other side has closed the connection", context: context)
        default:
            context.fireUserInboundEventTriggered(event)
        }
    }

    /// It is the last field of a P-256 key's SubjectPublicKeyInfo (RFC 5480).
    private static let publicKeyLength = 65

    private struct Refused: Error {
        var reason: String
    }

    /// The peer's key. Its certificate was checked on this connection, and TLS has proved that the peer holds the
    /// certificate's key.
    private func peerKey(_ negotiated: String?) throws(Refused) -> DeviceKey {
        guard tls.tlsVersion == .tlsv13 else { throw Refused(reason: TLSFailure.version) }
        guard let result = proof.result else {
            // BoringSSL issues session tickets, with which a client can connect without a certificate. BeamRoom never
            // uses one.
            throw Refused(reason: TLSFailure.resumed)
        }
        let key: DeviceKey
        switch result {
        case .success(let checked): key = checked
        case .failure(let error): throw Refused(reason: error.description)
        }
        // Two parsers read the certificate, and have to find the same key.
        guard let proven = try? tls.peerCertificate?.extractPublicKey().toSPKIBytes(),
            DeviceKey(subjectPublicKeyInfo: proven) == key
        else {
            throw Refused(reason: PeerCertificateError.unreadable.description)
        }
        guard let negotiated, protocols.contains(negotiated) else {
            throw Refused(reason: TLSFailure.applicationProtocol)
        }
        applicationProtocol = negotiated
        publicKey = Array(proven.suffix(Self.publicKeyLength))
        return key
    }

    private func secured(_ key: DeviceKey) {
        guard events != nil, !isSecured else { return }
        isSecured = true
        timer?.cancel()
        events?.onSecured(key)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard isSecured, !isViolated, events != nil else { return }
        framing.append(Self.unwrapInboundIn(data))
        passOn(context)
    }

    private func passOn(_ context: ChannelHandlerContext) {
        while events != nil, !isHeld, !isViolated {
            do {
                guard let message = try framing.next() else { return }
                events?.onMessage(message)
            } catch {
                return violated(error.description, context: context)
            }
        }
    }

    /// The connection is being closed from this side: what still arrives is dropped unread.
    func discard() {
        events = nil
        timer?.cancel()
        framing = MessageFraming()
    }

    private func violated(_ reason: String, context: ChannelHandlerContext) {
        isViolated = true
        framing = MessageFraming()
        guard let onViolation = events?.onViolation else { return fail(reason, context: context) }
        onViolation(reason)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(TLSFailure.reason(error, certificate: proof.result), context: context)
    }
}
