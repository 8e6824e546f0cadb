import BeamIdentity
import Crypto
import Glibc
import NIOSSL

/// TLS for browsers.
enum WebTLS {
    /// - Throws: `certificateUnusable`, with what is wrong with which file.
    static func context(_ certificate: WebServer.Certificate) throws(WebError) -> NIOSSLContext {
        switch certificate {
        case .lasting(let identity):
            do {
                let key = try NIOSSLPrivateKey(bytes: identity.privateKeyDER, format: .der)
                let own = try NIOSSLCertificate(bytes: identity.certificate, format: .der)
                return try context([own], key)
            } catch {
                throw .certificateUnusable(file: nil, reason: "this machine's own certificate can't be used (\(error))")
            }
        case .files(let certificates, let key): return try context(certificates, key)
        }
    }

    /// The names that a certificate is for: browsers come by them.
    static func names(_ certificate: WebServer.Certificate) -> [String] {
        guard case .files(let file, _) = certificate, let first = (try? NIOSSLCertificate.fromPEMFile(file))?.first
        else {
            return []
        }
        return WebIdentity.names(inCertificate: (try? first.toDERBytes()) ?? [])
    }

    /// SHA-256 of what is shown; empty if it can't be read.
    static func fingerprint(_ certificate: WebServer.Certificate) -> [UInt8] {
        let der: [UInt8]? =
            switch certificate {
            case .lasting(let identity): identity.certificate
            case .files(let file, _): try? NIOSSLCertificate.fromPEMFile(file).first?.toDERBytes()
            }
        return der.map { Array(SHA256.hash(data: $0)) } ?? []
    }

    private static func context(_ file: String, _ keyFile: String) throws(WebError) -> NIOSSLContext {
        let chain: [NIOSSLCertificate]
        do {
            chain = try NIOSSLCertificate.fromPEMFile(file)
        } catch {
            throw .certificateUnusable(file: file, reason: reason(file, "a certificate"))
        }
        guard !chain.isEmpty else {
            throw .certificateUnusable(file: file, reason: "there is no certificate in it")
        }
        let key: NIOSSLPrivateKey
        do {
            key = try NIOSSLPrivateKey(file: keyFile, format: .pem)
        } catch {
            throw .certificateUnusable(file: keyFile, reason: reason(keyFile, "a private key without a passphrase"))
        }
        do {
            return try context(chain, key)
        } catch {
            throw .certificateUnusable(
                file: keyFile, reason: "the key isn't that of the certificate in \(file), or is of no usable kind")
        }
    }

    /// Why a file can't be read.
    private static func reason(_ file: String, _ expected: String) -> String {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return String(cString: strerror(errno)) }
        close(descriptor)
        return "it can't be read as \(expected) in PEM"
    }

    private static func context(_ chain: [NIOSSLCertificate], _ key: NIOSSLPrivateKey) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        // Each browser that can show the stream speaks it.
        configuration.minimumTLSVersion = .tlsv13
        configuration.applicationProtocols = ["http/1.1"]
        configuration.shutdownTimeout = .seconds(1)
        return try NIOSSLContext(configuration: configuration)
    }
}
