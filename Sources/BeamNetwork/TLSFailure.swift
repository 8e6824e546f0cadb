import BeamIdentity
import BeamSockets
import BeamWire
import Glibc
import NIOCore
import NIOSSL

/// Errors of TLS in words for a person. Each is a part of a sentence.
enum TLSFailure {
    static let version = "the other side doesn't speak TLS 1.3; is it BeamRoom, and up to date?"
    static let applicationProtocol =
        "the other side speaks TLS, but not BeamRoom's protocol (\(SecureTransport.shareProtocol))"
    static let resumed = "the other side has resumed an earlier connection, which BeamRoom never does"
    static let closed = "the other side has closed the connection"

    static let closedEarly = "the other side has ended the connection before it was secured"
    static let notProven =
        "the other side can't prove that the key it shows is its own; somebody may be intercepting the connection"
    static let refused = "the other side has refused this machine's certificate; is BeamRoom up to date on both?"
    static let nothingInCommon = "the other side has no key or cipher that BeamRoom uses; is it up to date?"
    static let damaged = "what arrived was damaged or forged on the way"

    /// Another attempt would fail alike: the peer isn't who it claims to be, or speaks another protocol.
    static func isFinal(_ reason: String) -> Bool {
        [version, applicationProtocol, notProven, resumed].contains(reason)
    }

    static func timedOut(_ timeout: TimeAmount, _ stall: SecureControl.Stall) -> String {
        let seconds = Int((timeout.nanoseconds + 500_000_000) / 1_000_000_000)
        switch stall {
        case .nothingReceived:
            return "it has accepted the connection, but sent nothing for \(seconds) s"
        case .unacknowledged:
            return "what is sent to it is lost in the network: it has confirmed nothing for \(seconds) s"
        case .begun:
            return
                "the TLS handshake has stopped halfway for \(seconds) s: the network loses packets, perhaps all large ones, as some VPNs and tunnels do"
        }
    }

    /// The peer has closed the connection before it was secured, or it has ended otherwise without anything invalid.
    /// Not worth a report: viewers open several connections on a bad network, and close all but one.
    static func isDeparture(_ reason: String) -> Bool {
        [closed, closedEarly, String(cString: strerror(ECONNRESET)), String(cString: strerror(EPIPE))].contains(reason)
    }

    static let notTLS = "the other side doesn't speak TLS"

    static func reason(
        _ error: any Error, certificate: Result<DeviceKey, PeerCertificateError>?
    ) -> String {
        switch error {
        case NIOSSLError.handshakeFailed(let failure), NIOSSLError.shutdownFailed(let failure):
            return reason(failure, certificate: certificate)
        case let failure as BoringSSLError:
            return reason(failure, certificate: certificate)
        case NIOSSLError.noCertificateToValidate:
            return PeerCertificateError.missing.description
        case NIOSSLError.uncleanShutdown, is NIOSSLCloseTimedOutError:
            return closed
        case NIOSSLError.readInInvalidTLSState:
            return closedEarly
        default:
            return networkReason(error)
        }
    }

    private static func reason(
        _ failure: BoringSSLError, certificate: Result<DeviceKey, PeerCertificateError>?
    ) -> String {
        switch failure {
        case .sslError(let stack), .unknownError(let stack):
            if stack.contains(.eofDuringHandshake) { return closedEarly }
            let names = stack.compactMap { name(in: $0.description) }
            for name in names {
                if let reason = reason(name, certificate: certificate) { return reason }
            }
            guard let name = names.first else { return "the TLS connection has failed" }
            return "the TLS connection has failed (\(name.lowercased().replacing("_", with: " ")))"
        case .syscallError, .zeroReturn:
            return closed
        default:
            return "the TLS connection has failed"
        }
    }

    /// BoringSSL's name of an error, from `Error: 268435703 error:100000f7:SSL routines:OPENSSL_internal:NAME at
    /// FILE:LINE`.
    private static func name(in description: String) -> Substring? {
        let fields = description.split(separator: ":", omittingEmptySubsequences: false)
        guard fields.count > 5 else { return nil }
        return fields[5].split(separator: " ").first
    }

    private static func reason(
        _ name: Substring, certificate: Result<DeviceKey, PeerCertificateError>?
    ) -> String? {
        switch name {
        case "WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "INVALID_OUTER_RECORD_TYPE":
            return notTLS
        case "UNSUPPORTED_PROTOCOL", "TLSV1_ALERT_PROTOCOL_VERSION", "WRONG_SSL_VERSION",
            "UNSUPPORTED_PROTOCOL_FOR_CUSTOM_KEY":
            return version
        case "PEER_DID_NOT_RETURN_A_CERTIFICATE":
            return PeerCertificateError.missing.description
        case "CERTIFICATE_VERIFY_FAILED":
            if case .failure(let error) = certificate { return error.description }
            return PeerCertificateError.unreadable.description
        case "CANNOT_PARSE_LEAF_CERT", "CERT_LENGTH_MISMATCH", "UNKNOWN_CERTIFICATE_TYPE":
            return PeerCertificateError.unreadable.description
        case "BAD_SIGNATURE":
            return notProven
        case "WRONG_SIGNATURE_TYPE", "NO_COMMON_SIGNATURE_ALGORITHMS", "NO_SHARED_CIPHER", "NO_SHARED_GROUP",
            "WRONG_CURVE", "UNKNOWN_CIPHER_RETURNED", "SSLV3_ALERT_HANDSHAKE_FAILURE",
            "TLSV1_ALERT_INSUFFICIENT_SECURITY", "SSLV3_ALERT_ILLEGAL_PARAMETER":
            return nothingInCommon
        case "TLSV1_ALERT_NO_APPLICATION_PROTOCOL", "NO_APPLICATION_PROTOCOL":
            return applicationProtocol
        case "SSLV3_ALERT_BAD_CERTIFICATE", "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE", "SSLV3_ALERT_CERTIFICATE_REVOKED",
            "SSLV3_ALERT_CERTIFICATE_EXPIRED", "SSLV3_ALERT_CERTIFICATE_UNKNOWN", "SSLV3_ALERT_NO_CERTIFICATE",
            "TLSV1_ALERT_UNKNOWN_CA", "TLSV1_ALERT_ACCESS_DENIED", "TLSV1_ALERT_CERTIFICATE_REQUIRED",
            "TLSV1_CERTIFICATE_REQUIRED", "TLSV1_ALERT_DECRYPT_ERROR":
            return refused
        case "DECRYPTION_FAILED_OR_BAD_RECORD_MAC", "BAD_DECRYPT", "SSLV3_ALERT_BAD_RECORD_MAC", "DIGEST_CHECK_FAILED":
            return damaged
        default:
            return nil
        }
    }
}
