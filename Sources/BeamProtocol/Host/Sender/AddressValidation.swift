import BeamMedia

/// Whether a version 2 viewer is where its hellos come from, before the stream goes there: path validation as in RFC 9000, 8.2.
///
/// Whoever holds a viewer's key can send a hello with somebody else's address in it. So a new address gets a token first, and the
/// stream when a hello from there has brought the token back. Until then the address is sent at most three times as many bytes as
/// have come from it (RFC 9000, 8.1).
struct AddressValidation: Sendable {
    enum Verdict: Hashable, Sendable {
        /// The token has come back: the viewer is there.
        case validated
        /// To be sent there, if `pay` allows it.
        case challenge(token: UInt64)
    }

    private struct Candidate: Sendable {
        let address: NetworkAddress
        let token: UInt64
        let expiry: MediaTime
        /// UDP payload from there and to there, in bytes.
        var received = 0
        var sent = 0
    }

    /// How long a token is good.
    static let lifetime = Duration.seconds(3)
    private static let amplification = 3

    private var candidate: Candidate?

    /// When what is under way has failed, unless the token has come back; nil if nothing is under way.
    var expiry: MediaTime? { candidate?.expiry }

    /// The viewer's newest hello has come from an address where the stream doesn't go, `length` bytes long, with this token.
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

    /// Whether `length` bytes more may be sent to the address that is being proved; counts them if so.
    mutating func pay(_ length: Int) -> Bool {
        guard let candidate, candidate.sent + length <= candidate.received * Self.amplification else { return false }
        self.candidate?.sent += length
        return true
    }

    /// Nothing is under way any more.
    mutating func cancel() { candidate = nil }
}
