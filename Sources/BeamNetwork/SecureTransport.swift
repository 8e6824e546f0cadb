import BeamIdentity
import BeamProtocol
import NIOCore
import NIOSSL

/// TLS 1.3 as version 2 speaks it, for all connections of this machine. Made once: it reads nothing from the disk, but
/// parses the key and the certificate.
///
/// Both sides show a certificate. What BoringSSL would make of it (chains, authorities, names) is replaced as a whole by
/// `PeerCertificate`; that the other side has the certificate's key is what TLS proves (RFC 8446, 4.4.3).
struct SecureTransport: Sendable {
    enum Role {
        /// TLS client.
        case viewer
        /// TLS server.
        case host
    }

    /// By ALPN (RFC 7301).
    static let applicationProtocol = "beamroom/2"

    private let viewer: NIOSSLContext
    private let host: NIOSSLContext

    init(_ identity: LocalIdentity) throws {
        let certificate = try NIOSSLCertificate(bytes: identity.certificate, format: .der)
        let key = try NIOSSLPrivateKey(bytes: identity.privateKeyDER, format: .der)
        viewer = try NIOSSLContext(
            configuration: Self.configured(.makeClientConfiguration(), certificate: certificate, key: key))
        host = try NIOSSLContext(
            configuration: Self.configured(
                .makeServerConfiguration(certificateChain: [], privateKey: .privateKey(key)), certificate: certificate,
                key: key))
    }

    private static func configured(
        _ base: TLSConfiguration, certificate: NIOSSLCertificate, key: NIOSSLPrivateKey
    ) -> TLSConfiguration {
        var configuration = base
        configuration.minimumTLSVersion = .tlsv13
        configuration.maximumTLSVersion = .tlsv13
        configuration.certificateChain = [.certificate(certificate)]
        configuration.privateKey = .privateKey(key)
        configuration.applicationProtocols = [applicationProtocol]
        // A certificate is required, and looked at by the callback that each connection has; there are no roots, so
        // that without a callback nothing at all would be let in.
        configuration.certificateVerification = .noHostnameVerification
        configuration.trustRoots = .certificates([])
        // The keys are P-256, and this is how TLS 1.3 signs with them.
        configuration.signingSignatureAlgorithms = [.ecdsaSecp256R1Sha256]
        configuration.verifySignatureAlgorithms = [.ecdsaSecp256R1Sha256]
        // Somebody who doesn't answer a goodbye has no more to say.
        configuration.shutdownTimeout = .seconds(1)
        return configuration
    }

    /// Adds TLS and, behind it, the end of the pipeline, through which messages come and go. On the channel's event loop.
    ///
    /// - Parameters:
    ///   - timeout: from the TCP connection (or from now, if there is one) to `onSecured`.
    ///   - gate: lets the handshake go on step by step; nil: as fast as the other side does.
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
                // No server name: names are nothing that trust rests on, and would be sent in the clear.
                try NIOSSLClientHandler(
                    context: viewer, serverHostname: nil, customVerificationCallback: verify)
            case .host: NIOSSLServerHandler(context: host, customVerificationCallback: verify)
            }
        let control = SecureControl(tls: tls, role: role, proof: proof, timeout: timeout, events: events)
        // The end first: the handshake may begin, and fail, as TLS is added.
        try pipeline.addHandler(control)
        try pipeline.addHandler(tls, position: .before(control))
        if let gate { try pipeline.addHandler(gate, name: HandshakeGate.name, position: .before(tls)) }
        return control
    }
}

/// What one connection's certificate check has found. Confined to the connection's event loop.
final class PeerProof {
    private(set) var result: Result<DeviceKey, PeerCertificateError>?

    /// Whether what the other side presents is good.
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
