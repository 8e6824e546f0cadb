import BeamMedia
import Crypto

/// Pairing by comparing digits: commit, then reveal.
///
/// An attacker in the middle has to commit to a nonce towards the host before it learns the host's nonce, and sees the
/// viewer's nonce only when its own is fixed. So the digits agree with a probability of one in a million. The host
/// sends its nonce only when its person has agreed to compare, so each such chance takes a person's consent
/// (`ComparisonGuard`).
private enum Comparison {
    static func hash(_ purpose: String, _ context: PairingContext, _ parts: [UInt8]...) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: Array("BeamRoom 2 \(purpose)".utf8) + [0])
        hash.update(data: context.viewer.bytes + context.host.bytes + context.nonce)
        for part in parts { hash.update(data: part) }
        return Array(hash.finalize())
    }

    static func commitment(_ context: PairingContext, viewerNonce: [UInt8]) -> [UInt8] {
        hash("commit", context, viewerNonce)
    }

    static func digits(
        _ context: PairingContext, viewerNonce: [UInt8], hostNonce: [UInt8], _ length: PairingCode.Length
    ) -> PairingCode {
        let names = CPace.concatenated(Array(context.viewerName.utf8), Array(context.hostName.utf8))
        let hash = hash("compare", context, viewerNonce, hostNonce, names + [UInt8(length.rawValue)])
        let number = hash.withUnsafeBytes { bytes -> UInt64? in
            var reader = BigEndianReader(bytes)
            return reader.integer()
        }
        guard let number else { preconditionFailure("SHA-256 makes 32 bytes") }
        return PairingCode(number: number, length)
    }

    static func nonce(_ random: inout some RandomNumberGenerator) -> [UInt8] {
        (0..<PairingContext.nonceLength).map { _ in .random(in: 0...255, using: &random) }
    }

    static func check(_ nonce: [UInt8], _ name: String) throws(PairingFailure) {
        guard nonce.count == PairingContext.nonceLength else { throw .length(of: name, nonce.count) }
    }
}

/// The viewer's side: it commits.
package struct ComparisonViewer: Sendable {
    private let context: PairingContext
    private let nonce: [UInt8]
    /// SHA-256: 32 bytes.
    package let commitment: [UInt8]

    package init(context: PairingContext, random: inout some RandomNumberGenerator) {
        self.context = context
        nonce = Comparison.nonce(&random)
        commitment = Comparison.commitment(context, viewerNonce: nonce)
    }

    /// The nonce to reveal, and the digits that both sides show. `digitCount`, 6 or 9, is the host's choice: a person
    /// sees whether both sides show as many.
    package func reveal(
        hostNonce: [UInt8], digitCount: Int
    ) throws(PairingFailure) -> (nonce: [UInt8], digits: PairingCode) {
        try Comparison.check(hostNonce, "nonce")
        guard let length = PairingCode.Length(rawValue: digitCount) else { throw .digitCount(digitCount) }
        return (nonce, Comparison.digits(context, viewerNonce: nonce, hostNonce: hostNonce, length))
    }
}

/// The host's side. Make it when the viewer has committed and the host's person has agreed to compare.
package struct ComparisonHost: Sendable {
    private let context: PairingContext
    private let commitment: [UInt8]
    package let length: PairingCode.Length
    package let nonce: [UInt8]

    package init(
        context: PairingContext, commitment: [UInt8], _ length: PairingCode.Length,
        random: inout some RandomNumberGenerator
    ) throws(PairingFailure) {
        try Comparison.check(commitment, "commitment")
        self.context = context
        self.commitment = commitment
        self.length = length
        nonce = Comparison.nonce(&random)
    }

    /// The digits that both sides show. Throws if the revealed nonce doesn't match the commitment.
    package func digits(revealed: [UInt8]) throws(PairingFailure) -> PairingCode {
        try Comparison.check(revealed, "nonce")
        // Both values were sent in the clear: no constant time needed.
        guard Comparison.commitment(context, viewerNonce: revealed) == commitment else { throw .commitment }
        return Comparison.digits(context, viewerNonce: revealed, hostNonce: nonce, length)
    }
}
