import BeamIdentity
import BeamProtocol
import NIOCore
import NIOSSL
import NIOTLS

/// The end of a version 2 control connection's pipeline, behind TLS: who the other side is, its messages, and the end.
final class SecureControl: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Confined to the channel's event loop, like this handler.
    struct Events {
        /// Once: the handshake is complete, and has proven that the other side has this key. Before that nothing is
        /// received or sent.
        ///
        /// A viewer learns this before the host has looked at the viewer's certificate (RFC 8446, 4.4.4): a refusal
        /// comes as an end soon after.
        var onSecured: (DeviceKey) -> Void
        var onMessage: ([UInt8]) -> Void
        /// What has come isn't messages; nothing more is read. Whoever is told closes the connection; nil: it is closed at once. A part
        /// of a sentence.
        var onViolation: ((_ reason: String) -> Void)?
        /// Once, whichever side ended it; nothing comes after it. A part of a sentence.
        var onEnd: (_ reason: String) -> Void
    }

    /// Enough for a slow machine on a bad network; a healthy handshake takes milliseconds.
    static let handshakeTimeout = TimeAmount.seconds(5)

    private let tls: NIOSSLHandler
    private let role: SecureTransport.Role
    private let proof: PeerProof
    private let timeout: TimeAmount
    private var events: Events?
    private var context: ChannelHandlerContext?
    private var timer: Scheduled<Void>?
    private var isSecured = false
    private var isViolated = false
    private var framing = MessageFraming()

    init(
        tls: NIOSSLHandler, role: SecureTransport.Role, proof: PeerProof, timeout: TimeAmount, events: Events
    ) {
        self.tls = tls
        self.role = role
        self.proof = proof
        self.timeout = timeout
        self.events = events
    }

    /// The longest message that is taken, in bytes: 64 KiB unless it is raised, at most 10 MiB.
    var limit: Int {
        get { framing.limit }
        set { framing.limit = newValue }
    }

    /// What became of the other side's certificate; nil as long as it has shown none, as somebody does who doesn't speak TLS.
    var certificate: Result<DeviceKey, PeerCertificateError>? { proof.result }

    /// Sends a message of 1 byte to 10 MiB. Nothing leaves before `onSecured` or after `onEnd`.
    func send(_ message: [UInt8]) {
        guard isSecured, events != nil, let context else { return }
        let bytes = MessageFraming.frame(message, allocator: context.channel.allocator)
        context.writeAndFlush(Self.wrapOutboundOut(bytes), promise: nil)
    }

    // MARK: Life

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
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(in: timeout) { bound.value.timedOut() }
    }

    private func timedOut() {
        guard !isSecured, let context else { return }
        fail(TLSFailure.timedOut(timeout, role), context: context)
    }

    /// Says why, then closes.
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

    // MARK: What happens

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

    private struct Refused: Error {
        var reason: String
    }

    /// Of this very connection: its own certificate was checked here, and is the one whose key TLS has seen used.
    private func peerKey(_ negotiated: String?) throws(Refused) -> DeviceKey {
        guard tls.tlsVersion == .tlsv13 else { throw Refused(reason: TLSFailure.version) }
        guard let result = proof.result else {
            // BoringSSL hands out session tickets, and lets whoever has one in without its certificate. BeamRoom
            // never uses one.
            throw Refused(reason: TLSFailure.resumed)
        }
        let key: DeviceKey
        switch result {
        case .success(let checked): key = checked
        case .failure(let error): throw Refused(reason: error.description)
        }
        // Two parsers read the certificate; they have to agree on whose it is.
        guard let proven = try? tls.peerCertificate?.extractPublicKey().toSPKIBytes(),
            DeviceKey(subjectPublicKeyInfo: proven) == key
        else {
            throw Refused(reason: PeerCertificateError.unreadable.description)
        }
        guard negotiated == SecureTransport.applicationProtocol else {
            throw Refused(reason: TLSFailure.applicationProtocol)
        }
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
        while events != nil {
            do {
                guard let message = try framing.next() else { return }
                events?.onMessage(message)
            } catch {
                return violated(error.description, context: context)
            }
        }
    }

    private func violated(_ reason: String, context: ChannelHandlerContext) {
        isViolated = true
        framing = MessageFraming()
        guard let onViolation = events?.onViolation else { return fail(reason, context: context) }
        onViolation(reason)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        fail(TLSFailure.reason(error, role: role, certificate: proof.result), context: context)
    }
}
