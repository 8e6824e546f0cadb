import BeamMedia
import BeamWire

/// Validates that a version 2 viewer receives at the address that its hellos come from, before the stream goes there
/// (path validation, RFC 9000, 8.2).
///
/// Whoever holds a viewer's key can send a hello with another machine's source address. So a new address is sent a
/// token first, and gets the stream when a hello from there returns the token. Until then it is sent at most three
/// times the bytes that came from it (RFC 9000, 8.1).
struct AddressValidation: Sendable {
    enum Verdict: Hashable, Sendable {
        /// The token was returned: the viewer receives at this address.
        case validated
        /// Send this token to the address, if `pay` allows it.
        case challenge(token: UInt64)
    }

    private struct Candidate: Sendable {
        let address: NetworkAddress
        let token: UInt64
        let expiry: MediaTime
        /// Bytes of UDP payload received from and sent to the address.
        var received = 0
        var sent = 0
    }

    /// How long a token is valid.
    static let lifetime = Duration.seconds(3)
    private static let amplification = 3

    private var candidate: Candidate?

    /// When the validation under way fails; nil if there is none.
    var expiry: MediaTime? { candidate?.expiry }

    /// Takes the viewer's newest hello, of `length` bytes, from an address that the stream doesn't go to.
    mutating func hello(
        _ length: Int, token: UInt64?, from address: NetworkAddress, now: MediaTime,
        random: inout some RandomNumberGenerator
    ) -> Verdict {
        var candidate =
            candidate.flatMap { $0.address == address && $0.expiry > now ? $0 : nil }
            ?? Candidate(address: address, token: random.next(), expiry: now + Self.lifetime)
        guard token != candidate.token else {
            self.candidate = nil
            return .validated
        }
        candidate.received += length
        self.candidate = candidate
        return .challenge(token: candidate.token)
    }

    /// Whether `length` more bytes may be sent to the address being validated; counts them if so.
    mutating func pay(_ length: Int) -> Bool {
        guard let candidate, candidate.sent + length <= candidate.received * Self.amplification else { return false }
        self.candidate?.sent += length
        return true
    }

    /// Ends the validation under way.
    mutating func cancel() { candidate = nil }
}
