import BeamIdentity
import BeamSockets
import BeamWire
import Crypto
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import SwiftASN1
import X509

@testable import BeamNetwork

enum SecureEvent: Equatable, Sendable {
    case firstByte(FirstByte)
    case plain([UInt8])
    case secured(DeviceKey)
    case message([UInt8])
    case ended(String)

    var isEnd: Bool { if case .ended = self { true } else { false } }
}

extension Log<SecureEvent> {
    /// Why the connection ended; nil if it didn't end, or if the end was reported more than once.
    func waitForEnd() -> String? {
        _ = wait { $0.isEnd }
        let ends = all.compactMap { if case .ended(let reason) = $0 { reason } else { nil } }
        return ends.count == 1 ? ends[0] : nil
    }

    var keys: [DeviceKey] { all.compactMap { if case .secured(let key) = $0 { key } else { nil } } }
    var messages: [[UInt8]] { all.compactMap { if case .message(let bytes) = $0 { bytes } else { nil } } }

    func control(onSecured: @escaping () -> Void) -> SecureControl.Events {
        SecureControl.Events(
            onSecured: {
                self.append(.secured($0))
                onSecured()
            }, onMessage: { self.append(.message($0)) },
            onEnd: { self.append(.ended($0)) })
    }
}

/// Our own end of connections: a host that listens on loopback, or a viewer that connects to a host.
final class SecureEnd: Sendable {
    let events: Log<SecureEvent>
    let channel: any Channel
    private let controls: NIOLoopBound<Controls>

    private final class Controls {
        var all: [SecureControl] = []
        var channels: [any Channel] = []
    }

    static let loop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()

    private init(events: Log<SecureEvent>, channel: any Channel, controls: NIOLoopBound<Controls>) {
        self.events = events
        self.channel = channel
        self.controls = controls
    }

    var port: Int { channel.localAddress?.port ?? 0 }

    static func host(
        _ identity: LocalIdentity, timeout: TimeAmount = .minutes(1), limit: Int? = nil, greeting: [UInt8]? = nil
    ) async throws -> SecureEnd {
        let transport = try SecureTransport(identity)
        let bound = try await makeControls()
        let log = Log<SecureEvent>()
        let channel = try await ServerBootstrap(group: loop)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    bound.value.channels.append(channel)
                    try pipeline.addHandler(
                        FirstByteHandler(
                            timeout: timeout,
                            FirstByteHandler.Events(
                                onFirstByte: { first in
                                    log.append(.firstByte(first))
                                    switch first {
                                    case .tls:
                                        let control = try transport.add(
                                            .host, to: pipeline, timeout: timeout,
                                            events: log.control {
                                                if let greeting { bound.value.all.last?.send(greeting) }
                                            })
                                        if let limit { control.limit = limit }
                                        bound.value.all.append(control)
                                    case .plain:
                                        try pipeline.addHandler(
                                            ControlConnection(
                                                ControlConnection.Events(
                                                    onBytes: { log.append(.plain($0)) },
                                                    onEnd: { log.append(.ended($0)) })))
                                    }
                                },
                                onEnd: { log.append(.ended($0)) })))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return SecureEnd(events: log, channel: channel, controls: bound)
    }

    static func viewer(
        _ identity: LocalIdentity, port: Int, timeout: TimeAmount = .minutes(1), greeting: [UInt8]? = nil
    ) async throws -> SecureEnd {
        let transport = try SecureTransport(identity)
        let bound = try await makeControls()
        let log = Log<SecureEvent>()
        let channel = try await ClientBootstrap(group: loop)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let control = try transport.add(
                        .viewer, to: channel.pipeline.syncOperations, timeout: timeout,
                        events: log.control { if let greeting { bound.value.all.last?.send(greeting) } })
                    bound.value.all.append(control)
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return SecureEnd(events: log, channel: channel, controls: bound)
    }

    private static func makeControls() async throws -> NIOLoopBound<Controls> {
        try await loop.submit { NIOLoopBound(Controls(), eventLoop: loop) }.get()
    }

    /// Runs `body` on the event loop, with all connections so far.
    func withControls(_ body: @escaping @Sendable ([SecureControl]) -> Void) async throws {
        let controls = controls
        try await Self.loop.submit { body(controls.value.all) }.get()
    }

    /// All connections of a host so far, in order.
    func connections() async throws -> [any Channel] {
        let controls = controls
        return try await Self.loop.submit { controls.value.channels }.get()
    }

    func send(_ messages: [UInt8]...) async throws {
        try await withControls { for message in messages { $0.last?.send(message) } }
    }

    func close() { channel.close(promise: nil) }

    deinit { channel.close(promise: nil) }
}

/// A peer that speaks TLS but isn't BeamRoom; its key is unknown.
struct UnknownPeer {
    /// DER; its own certificate comes first.
    var certificates: [[UInt8]]
    var key: NIOSSLPrivateKey?
    var version = TLSVersion.tlsv13
    var applicationProtocols = [SecureTransport.shareProtocol]
    var acceptsPeer = true

    /// With a valid certificate.
    init() throws {
        let identity = try LocalIdentity()
        certificates = [identity.certificate]
        key = try NIOSSLPrivateKey(bytes: identity.privateKeyDER, format: .der)
    }

    private func context(isServer: Bool) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = version
        configuration.maximumTLSVersion = version
        configuration.certificateChain = try certificates.map {
            .certificate(try NIOSSLCertificate(bytes: $0, format: .der))
        }
        configuration.privateKey = key.map { .privateKey($0) }
        configuration.applicationProtocols = applicationProtocols
        configuration.certificateVerification = .noHostnameVerification
        configuration.trustRoots = .certificates([])
        return try NIOSSLContext(configuration: configuration)
    }

    private func prepare(_ channel: any Channel, _ context: NIOSSLContext, isServer: Bool, _ log: Log<UnknownPeerEvent>)
        throws
    {
        let accepts = acceptsPeer
        let verify: NIOSSLCustomVerificationCallback = { _, promise in
            promise.succeed(accepts ? .certificateVerified : .failed)
        }
        let tls: NIOSSLHandler =
            isServer
            ? NIOSSLServerHandler(context: context, customVerificationCallback: verify)
            : try NIOSSLClientHandler(context: context, serverHostname: nil, customVerificationCallback: verify)
        try channel.pipeline.syncOperations.addHandlers([tls, UnknownPeerHandler(log)])
    }

    /// Connects to one of our hosts.
    func connect(port: Int) async throws -> UnknownPeerConnection {
        let context = try context(isServer: false)
        let log = Log<UnknownPeerEvent>()
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try prepare(channel, context, isServer: false, log) }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return UnknownPeerConnection(channel: channel, log: log)
    }

    /// Listens for one of our viewers.
    func listen() async throws -> UnknownPeerConnection {
        let context = try context(isServer: true)
        let log = Log<UnknownPeerEvent>()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try prepare(channel, context, isServer: true, log) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return UnknownPeerConnection(channel: channel, log: log)
    }
}

extension UnknownPeer: @unchecked Sendable {}  // Sendable: NIOSSLPrivateKey isn't changed once it is made.

enum UnknownPeerEvent: Sendable {
    case secured
    case bytes([UInt8])
    case ended
}

struct UnknownPeerConnection: Sendable {
    let channel: any Channel
    let log: Log<UnknownPeerEvent>

    var port: Int { channel.localAddress?.port ?? 0 }

    /// Writes bytes into the TLS stream, without message framing.
    func write(_ bytes: [UInt8]) async throws {
        try await channel.writeAndFlush(channel.allocator.buffer(bytes: bytes)).get()
    }

    var isSecured: Bool { log.wait { if case .secured = $0 { true } else { false } } != nil }
    var hasEnded: Bool { log.wait { if case .ended = $0 { true } else { false } } != nil }
    func close() { channel.close(promise: nil) }

    /// Closes TCP without sending close_notify.
    func cut() async throws {
        let pipeline = channel.pipeline
        try await channel.eventLoop.submit {
            try pipeline.syncOperations.context(handlerType: NIOSSLHandler.self).close(promise: nil)
        }.get()
    }
}

private final class UnknownPeerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let log: Log<UnknownPeerEvent>

    init(_ log: Log<UnknownPeerEvent>) { self.log = log }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        log.append(.bytes(Array(Self.unwrapInboundIn(data).readableBytesView)))
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted = event { log.append(.secured) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func channelInactive(context: ChannelHandlerContext) { log.append(.ended) }
}

/// Signs with another key than the certificate's.
struct ForeignKey: NIOSSLCustomPrivateKey, Hashable {
    private let key = P256.Signing.PrivateKey()

    var signatureAlgorithms: [SignatureAlgorithm] { [.ecdsaSecp256R1Sha256] }

    func sign(channel: any Channel, algorithm: SignatureAlgorithm, data: ByteBuffer) -> EventLoopFuture<ByteBuffer> {
        channel.eventLoop.makeCompletedFuture {
            let signature = try key.signature(for: Data(data.readableBytesView)).derRepresentation
            return ByteBuffer(bytes: signature)
        }
    }

    func decrypt(channel: any Channel, data: ByteBuffer) -> EventLoopFuture<ByteBuffer> {
        channel.eventLoop.makeFailedFuture(NIOSSLError.failedToLoadPrivateKey)
    }

    static func == (one: ForeignKey, other: ForeignKey) -> Bool {
        one.key.rawRepresentation == other.key.rawRepresentation
    }
    func hash(into hasher: inout Hasher) { hasher.combine(key.rawRepresentation) }
}

/// A certificate that BeamRoom itself never makes.
func makeCertificate(
    for key: Certificate.PublicKey, signedBy signer: Certificate.PrivateKey,
    _ algorithm: Certificate.SignatureAlgorithm = .ecdsaWithSHA256, issuer: String = "BeamRoom",
    from notBefore: Date = Date(timeIntervalSince1970: 0),
    to notAfter: Date = Date(timeIntervalSince1970: 253_402_300_799)
) throws -> [UInt8] {
    let certificate = try Certificate(
        version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: key, notValidBefore: notBefore,
        notValidAfter: notAfter, issuer: DistinguishedName { CommonName(issuer) },
        subject: DistinguishedName { CommonName("BeamRoom") }, signatureAlgorithm: algorithm,
        extensions: Certificate.Extensions(), issuerPrivateKey: signer)
    var serializer = DER.Serializer()
    try serializer.serialize(certificate)
    return serializer.serializedBytes
}
