import BeamIdentity
import BeamWire
import Crypto
import CryptoExtras
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Testing
import X509

@testable import BeamNetwork

/// Peers that are refused, and the reason: no key is reported, no message is delivered, and the connection ends.
struct SecureRefusalTests {
    enum Attack: CaseIterable {
        case expired, notYetValid, signedByTrusted, signedByTrustedOfSameName, withItsIssuer, twoCertificates
        case rsa, ed25519, p384, tampered, someoneElsesCertificate, tls12, otherProtocol, noProtocol

        /// A device that our end may trust.
        static let trusted = P256.Signing.PrivateKey()

        func peer() throws -> UnknownPeer {
            var unknownPeer = try UnknownPeer()
            let key = P256.Signing.PrivateKey()
            let publicKey = Certificate.PublicKey(key.publicKey)
            let own = Certificate.PrivateKey(key)
            let trusted = Certificate.PrivateKey(Self.trusted)
            let now = Date()
            unknownPeer.key = try NIOSSLPrivateKey(bytes: Array(key.derRepresentation), format: .der)
            unknownPeer.certificates = [try makeCertificate(for: publicKey, signedBy: own)]
            switch self {
            case .expired:
                unknownPeer.certificates = [try makeCertificate(for: publicKey, signedBy: own, to: now - 60)]
            case .notYetValid:
                unknownPeer.certificates = [try makeCertificate(for: publicKey, signedBy: own, from: now + 3600)]
            case .signedByTrusted:
                unknownPeer.certificates = [try makeCertificate(for: publicKey, signedBy: trusted, issuer: "Trusted")]
            case .signedByTrustedOfSameName:
                unknownPeer.certificates = [try makeCertificate(for: publicKey, signedBy: trusted)]
            case .withItsIssuer:
                unknownPeer.certificates = [
                    try makeCertificate(for: publicKey, signedBy: trusted),
                    try makeCertificate(for: trusted.publicKey, signedBy: trusted),
                ]
            case .twoCertificates:
                unknownPeer.certificates.append(try makeCertificate(for: trusted.publicKey, signedBy: trusted))
            case .rsa:
                let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
                let both = Certificate.PrivateKey(key)
                unknownPeer.key = try NIOSSLPrivateKey(bytes: Array(key.derRepresentation), format: .der)
                unknownPeer.certificates = [
                    try makeCertificate(for: both.publicKey, signedBy: both, .sha256WithRSAEncryption)
                ]
            case .ed25519:
                let key = Curve25519.Signing.PrivateKey()
                let both = Certificate.PrivateKey(key)
                // PKCS #8 (RFC 8410, 7)
                let header: [UInt8] = [
                    0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
                ]
                unknownPeer.key = try NIOSSLPrivateKey(bytes: header + key.rawRepresentation, format: .der)
                unknownPeer.certificates = [try makeCertificate(for: both.publicKey, signedBy: both, .ed25519)]
            case .p384:
                let key = P384.Signing.PrivateKey()
                let both = Certificate.PrivateKey(key)
                unknownPeer.key = try NIOSSLPrivateKey(bytes: Array(key.derRepresentation), format: .der)
                unknownPeer.certificates = [try makeCertificate(for: both.publicKey, signedBy: both, .ecdsaWithSHA384)]
            case .tampered:
                unknownPeer.certificates[0][unknownPeer.certificates[0].count - 1] ^= 1
            case .someoneElsesCertificate:
                let trusted = try makeCertificate(for: trusted.publicKey, signedBy: trusted)
                unknownPeer.certificates = [trusted]
                unknownPeer.key = NIOSSLPrivateKey(customPrivateKey: ForeignKey())
            case .tls12:
                unknownPeer.version = .tlsv12
            case .otherProtocol:
                unknownPeer.applicationProtocols = ["h2", "http/1.1"]
            case .noProtocol:
                unknownPeer.applicationProtocols = []
            }
            return unknownPeer
        }

        var reason: String {
            switch self {
            case .expired: PeerCertificateError.expired.description
            case .notYetValid: PeerCertificateError.notYetValid.description
            case .signedByTrusted: PeerCertificateError.signedByAnother.description
            case .signedByTrustedOfSameName, .tampered: PeerCertificateError.wrongSignature.description
            case .withItsIssuer, .twoCertificates: PeerCertificateError.several(2).description
            // The peer itself finds that no signature algorithm is shared, and gives up.
            case .rsa, .ed25519, .p384: TLSFailure.nothingInCommon
            case .someoneElsesCertificate: TLSFailure.notProven
            case .tls12: TLSFailure.version
            case .otherProtocol, .noProtocol: TLSFailure.applicationProtocol
            }
        }
    }

    @Test(arguments: Attack.allCases)
    func `A host refuses`(attack: Attack) async throws {
        let host = try await SecureEnd.host(LocalIdentity())
        let unknownPeer = try await attack.peer().connect(port: host.port)
        // What it would send if it were admitted.
        unknownPeer.channel.writeAndFlush(ByteBuffer(bytes: [0, 0, 0, 1, 0x42]), promise: nil)
        #expect(host.events.waitForEnd() == attack.reason)
        #expect(host.events.keys.isEmpty)
        #expect(host.events.messages.isEmpty)
        #expect(unknownPeer.hasEnded)
    }

    @Test(arguments: Attack.allCases)
    func `A viewer refuses`(attack: Attack) async throws {
        let listener = try await attack.peer().listen()
        let viewer = try await SecureEnd.viewer(LocalIdentity(), port: listener.port)
        #expect(viewer.events.waitForEnd() == attack.reason)
        #expect(viewer.events.keys.isEmpty)
        #expect(viewer.events.messages.isEmpty)
        listener.close()
    }

    @Test func `A viewer without a certificate is refused`() async throws {
        let host = try await SecureEnd.host(LocalIdentity())
        var unknownPeer = try UnknownPeer()
        unknownPeer.certificates = []
        unknownPeer.key = nil
        let connection = try await unknownPeer.connect(port: host.port)
        #expect(host.events.waitForEnd() == PeerCertificateError.missing.description)
        #expect(host.events.keys.isEmpty)
        #expect(connection.hasEnded)
    }

    @Test func `The trusted key with a valid certificate is admitted`() async throws {
        let host = try await SecureEnd.host(LocalIdentity())
        var unknownPeer = try UnknownPeer()
        let key = Certificate.PrivateKey(Attack.trusted)
        unknownPeer.key = try NIOSSLPrivateKey(bytes: Array(Attack.trusted.derRepresentation), format: .der)
        unknownPeer.certificates = [try makeCertificate(for: key.publicKey, signedBy: key)]
        let connection = try await unknownPeer.connect(port: host.port)
        let expected = DeviceKey(Attack.trusted.publicKey)
        #expect(host.events.wait { $0 == .secured(expected) } != nil)
        connection.close()
    }

    @Test func `A refused viewer learns of the refusal`() async throws {
        var unknownPeer = try UnknownPeer()
        unknownPeer.acceptsPeer = false
        let listener = try await unknownPeer.listen()
        let viewer = try await SecureEnd.viewer(LocalIdentity(), port: listener.port)
        #expect(viewer.events.waitForEnd() == TLSFailure.refused)
        #expect(viewer.events.messages.isEmpty)
        listener.close()
    }

    // MARK: Not TLS

    // Answers that aren't TLS.
    @Test(arguments: [#"{"type":"welcome"}"# + "\n", "HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n"])
    func `A viewer refuses a host that answers in the clear`(answer: String) async throws {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Greeter(ByteBuffer(string: answer)))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        let viewer = try await SecureEnd.viewer(LocalIdentity(), port: port)
        #expect(viewer.events.waitForEnd() == TLSFailure.notTLS)
        #expect(viewer.events.keys.isEmpty)
        server.close(promise: nil)
    }

    @Test func `A viewer gives up on a host that doesn't answer`() async throws {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(server.localAddress?.port)
        let viewer = try await SecureEnd.viewer(LocalIdentity(), port: port, timeout: .milliseconds(200))
        #expect(viewer.events.waitForEnd() == TLSFailure.timedOut(.milliseconds(200), .nothingReceived))
        server.close(promise: nil)
    }

    /// Connects, sends `bytes` at once, and stays open.
    private func say(_ bytes: [UInt8], to port: Int) async throws -> any Channel {
        try await ClientBootstrap(group: SecureEnd.loop).connect(host: "127.0.0.1", port: port).flatMap { channel in
            channel.writeAndFlush(ByteBuffer(bytes: bytes)).map { channel }
        }.get()
    }

    @Test func `A host gives up on a connection that sends one byte of TLS`() async throws {
        let host = try await SecureEnd.host(LocalIdentity(), timeout: .seconds(1))
        let channel = try await say([0x16], to: host.port)
        #expect(host.events.waitForEnd() == TLSFailure.timedOut(.seconds(1), .begun))
        #expect(host.events.keys.isEmpty)
        try await channel.closeFuture.get()
    }

    @Test(
        arguments: [
            ([0x16, 0x7B, 0x22, 0x7D, 0x0A], TLSFailure.notTLS),
            ([0x16, 0x03, 0x01, 0xFF, 0xFF, 0x01], "the TLS connection has failed (encrypted length too long)"),
            (
                [0x16, 0x03, 0x01, 0x00, 0x05, 0x01, 0x00, 0x00, 0x01, 0x00],
                "the TLS connection has failed (clienthello parse failed)"
            ),
        ] as [([UInt8], String)])
    func `A host that hears what only begins like TLS`(bytes: [UInt8], reason: String) async throws {
        let host = try await SecureEnd.host(LocalIdentity())
        let channel = try await say(bytes, to: host.port)
        #expect(host.events.waitForEnd() == reason)
        #expect(host.events.keys.isEmpty)
        try await channel.closeFuture.get()
    }

    @Test func `A connection that ends during the handshake is reported`() async throws {
        let host = try await SecureEnd.host(LocalIdentity())
        let start = ByteBuffer(bytes: [0x16, 0x03, 0x01, 0x02, 0x00, 0x01])
        // All on the event loop: with waits between the steps the test could exceed the host's timeout.
        try await ClientBootstrap(group: SecureEnd.loop).connect(host: "127.0.0.1", port: host.port).flatMap {
            channel in
            channel.writeAndFlush(start).flatMap { channel.close() }
        }.get()
        #expect(host.events.waitForEnd() == TLSFailure.closedEarly)
    }

    // MARK: Resumption

    private static let openssl = ["/usr/bin/openssl", "/usr/local/bin/openssl"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    /// OpenSSL accepts the session ticket that it is given, and tries to resume. (BeamRoom never would.)
    @Test(.enabled(if: openssl != nil, "needs the openssl command"))
    func `A connection that resumes an earlier one isn't let in`() async throws {
        let openssl = try #require(Self.openssl)
        let folder = FileManager.default.temporaryDirectory.appending(path: "beamroom-resume-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let identity = try LocalIdentity()
        let base64 = Data(identity.certificate).base64EncodedString(options: .lineLength64Characters)
        let pem = "-----BEGIN CERTIFICATE-----\n\(base64)\n-----END CERTIFICATE-----\n"
        try (pem + identity.privateKeyPEM).write(
            to: folder.appending(path: "own.pem"), atomically: true, encoding: .utf8)

        let host = try await SecureEnd.host(LocalIdentity())
        /// Answers the host's events of this connection, and OpenSSL's output.
        func connect(_ extra: String...) async throws -> (events: ArraySlice<SecureEvent>, text: String) {
            let before = host.events.all.count
            let output = folder.appending(path: UUID().uuidString)
            try Data().write(to: output)
            let process = Process()
            let input = Pipe()
            process.executableURL = URL(filePath: openssl)
            process.currentDirectoryURL = folder
            process.arguments =
                [
                    "s_client", "-connect", "127.0.0.1:\(host.port)", "-tls1_3", "-cert", "own.pem", "-alpn",
                    "beamroom/2",
                ]
                + extra
            process.standardOutput = try FileHandle(forWritingTo: output)
            process.standardError = FileHandle.nullDevice
            process.standardInput = input
            try process.run()
            // Tickets come with the first message. OpenSSL reads them while its input is open.
            // Looks are counted, not seconds: other tests may take all of this process's threads for longer than a minute.
            var looks = 3000
            var text = ""
            while !text.contains("New Session Ticket arrived"), process.isRunning, looks > 0 {
                looks -= 1
                if host.events.all.dropFirst(before).contains(.secured(identity.deviceKey)) { try await host.send([1]) }
                try await Task.sleep(for: .milliseconds(20))
                text = try String(contentsOf: output, encoding: .utf8)
            }
            try input.fileHandleForWriting.close()
            process.waitUntilExit()
            while !host.events.all.dropFirst(before).contains(where: \.isEnd), looks > 0 {
                looks -= 1
                try await Task.sleep(for: .milliseconds(20))
            }
            return (host.events.all.dropFirst(before), try String(contentsOf: output, encoding: .utf8))
        }
        let first = try await connect("-sess_out", "session.pem")
        #expect(first.events.contains(.secured(identity.deviceKey)))
        try #require(
            FileManager.default.fileExists(atPath: folder.appending(path: "session.pem").path), "\(first.text)")
        let second = try await connect("-sess_in", "session.pem")
        #expect(second.text.contains("Reused, TLSv1.3"))
        #expect(second.events.contains { $0 == .ended(TLSFailure.resumed) })
        #expect(second.events.count == 2)
    }
}

/// Sends `words` as soon as a peer has connected.
private final class Greeter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let words: ByteBuffer

    init(_ words: ByteBuffer) { self.words = words }

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(Self.wrapOutboundOut(words), promise: nil)
    }
}
