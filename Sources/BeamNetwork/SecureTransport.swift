import BeamIdentity
import BeamSockets
import BeamWire
import NIOCore
import NIOSSL

/// TLS 1.3 for version 2, for all connections of this machine. Made once, because it parses the key and the
/// certificate; it reads nothing from the disk.
///
/// Both sides show a certificate. BoringSSL's own verification (chains, authorities, names) is replaced by
/// `PeerCertificate`; TLS proves that the peer holds the certificate's key (RFC 8446, 4.4.3).
struct SecureTransport: Sendable {
    enum Role {
        /// TLS client.
        case viewer
        /// TLS server.
        case host
    }

    /// What is spoken inside TLS. Negotiated by ALPN (RFC 7301).
    enum Purpose: Sendable {
        /// A viewer and a host.
        case share
        /// At the server: a viewer and a host, or two members of a room of equals. At the client: the latter only.
        case room

        fileprivate func protocols(_ role: Role) -> [String] {
            switch (self, role) {
            case (.share, _): [shareProtocol]
            case (.room, .viewer): [roomProtocol]
            case (.room, .host): [shareProtocol, roomProtocol]
            }
        }
    }

    static let shareProtocol = "beamroom/2"
    static let roomProtocol = "beamroom-room/2"

    private let purpose: Purpose
    private let viewer: NIOSSLContext
    private let host: NIOSSLContext

    init(_ identity: LocalIdentity, for purpose: Purpose = .share) throws {
        self.purpose = purpose
        let certificate = try NIOSSLCertificate(bytes: identity.certificate, format: .der)
        let key = try NIOSSLPrivateKey(bytes: identity.privateKeyDER, format: .der)
        viewer = try NIOSSLContext(
            configuration: Self.configured(
                .makeClientConfiguration(), protocols: purpose.protocols(.viewer), certificate: certificate, key: key))
        host = try NIOSSLContext(
            configuration: Self.configured(
                .makeServerConfiguration(certificateChain: [], privateKey: .privateKey(key)),
                protocols: purpose.protocols(.host), certificate: certificate, key: key))
    }

    private static func configured(
        _ base: TLSConfiguration, protocols: [String], certificate: NIOSSLCertificate, key: NIOSSLPrivateKey
    ) -> TLSConfiguration {
        var configuration = base
        configuration.minimumTLSVersion = .tlsv13
        configuration.maximumTLSVersion = .tlsv13
        configuration.certificateChain = [.certificate(certificate)]
        configuration.privateKey = .privateKey(key)
        configuration.applicationProtocols = protocols
        // A certificate is required, and checked by each connection's callback. There are no trust roots, so that
        // without a callback every certificate would be refused.
        configuration.certificateVerification = .noHostnameVerification
        configuration.trustRoots = .certificates([])
        // The keys are P-256; this is TLS 1.3's signature algorithm for them.
        configuration.signingSignatureAlgorithms = [.ecdsaSecp256R1Sha256]
        configuration.verifySignatureAlgorithms = [.ecdsaSecp256R1Sha256]
        // A peer that doesn't answer `close_notify` has nothing more to send.
        configuration.shutdownTimeout = .seconds(1)
        return configuration
    }

    /// Adds TLS and, behind it, the handler for messages. On the channel's event loop.
    ///
    /// - Parameters:
    ///   - timeout: from the TCP connection (or from now, if it is established) to `onSecured`.
    ///   - gate: paces the handshake's steps; nil: they aren't paced.
    func add(
        _ role: Role, to pipeline: ChannelPipeline.SynchronousOperations,
        timeout: TimeAmount = SecureControl.handshakeTimeout, gate: HandshakeGate? = nil, events: SecureControl.Events
    ) throws -> SecureControl {
        let proof = PeerProof()
        let verify: NIOSSLCustomVerificationCallback = { chain, promise in
            promise.succeed(proof.check(chain) ? .certificateVerified : .failed)
        }
        let tls: NIOSSLHandler =
            switch role {
            case .viewer:
                // No server name: trust doesn't depend on names, and it would be sent unencrypted.
                try NIOSSLClientHandler(
                    context: viewer, serverHostname: nil, customVerificationCallback: verify)
            case .host: NIOSSLServerHandler(context: host, customVerificationCallback: verify)
            }
        let control = SecureControl(
            tls: tls, protocols: purpose.protocols(role), proof: proof, timeout: timeout, events: events)
        // The last handler first, because the handshake may begin and fail while TLS is added.
        try pipeline.addHandler(control)
        try pipeline.addHandler(tls, position: .before(control))
        if let gate { try pipeline.addHandler(gate, name: HandshakeGate.name, position: .before(tls)) }
        return control
    }
}

/// The result of one connection's certificate check. Confined to the connection's event loop.
final class PeerProof {
    private(set) var result: Result<DeviceKey, PeerCertificateError>?

    /// Checks the peer's certificate chain. True if it is accepted.
    func check(_ chain: [NIOSSLCertificate]) -> Bool {
        do throws(PeerCertificateError) {
            var ders: [[UInt8]] = []
            for certificate in chain {
                guard let der = try? certificate.toDERBytes() else { throw .unreadable }
                ders.append(der)
            }
            result = .success(try PeerCertificate.check(ders))
            return true
        } catch {
            result = .failure(error)
            return false
        }
    }
}
