import BeamMedia

/// The proof that an author has told different members different things: two of its signatures that can't both be of one
/// log. Nobody else can make one, because what is signed names the room, the author and its run.
///
/// A signature vouches for all entries before its own: a chain of digests that leads to it shows what its author has signed
/// for at each number on the way.
package struct ForkProof: Hashable, Sendable {
    /// Of the author.
    package var publicKey: [UInt8]
    package var run: UInt64
    /// At this number the author has signed for two digests.
    package var number: UInt32
    /// The one that is signed there.
    package var digest: [UInt8]
    package var signature: [UInt8]
    /// The other one, and the digests of the entries after it, up to one that is signed. None: the other one is.
    package var other: [UInt8]
    package var entries: [[UInt8]]
    /// Of the last of those.
    package var otherSignature: [UInt8]

    /// The author; nil: the proof is wrong. Two signatures are checked.
    package func author(in scope: LogScope, _ signing: LogSigning) -> LogAuthor? {
        let (last, isTooMuch) = number.addingReportingOverflow(UInt32(clamping: entries.count))
        guard let device = signing.device(publicKey), number > 0, !isTooMuch, digest != other else { return nil }
        let author = LogAuthor(device: device, run: run)
        let end = entries.reduce(other) { EntryChain.next($0, .redacted(digest: $1)) }
        let one = EntryChain.signed(digest, number: number, of: author, in: scope)
        let two = EntryChain.signed(end, number: last, of: author, in: scope)
        guard signing.verify(signature, one, publicKey), signing.verify(otherSignature, two, publicKey) else {
            return nil
        }
        return author
    }

    /// As it is sent: 65 bytes public key, u64 run, u32 number, 32 bytes digest, 64 signature, 32 other digest, u16 count and
    /// the entries' digests of 32 bytes, 64 signature.
    package var bytes: [UInt8] {
        var bytes = publicKey
        bytes.append(bigEndian: run)
        bytes.append(bigEndian: number)
        bytes += digest + signature + other
        bytes.append(bigEndian: UInt16(clamping: entries.count))
        for entry in entries { bytes += entry }
        return bytes + otherSignature
    }

    package init(
        publicKey: [UInt8], run: UInt64, number: UInt32, digest: [UInt8], signature: [UInt8], other: [UInt8],
        entries: [[UInt8]], otherSignature: [UInt8]
    ) {
        self.publicKey = publicKey
        self.run = run
        self.number = number
        self.digest = digest
        self.signature = signature
        self.other = other
        self.entries = entries
        self.otherSignature = otherSignature
    }
}

extension LogReader {
    /// The signatures aren't checked.
    mutating func proof(_ kind: SecureMessage.Kind) throws(SecureMessageError) -> ForkProof {
        var proof = ForkProof(
            publicKey: try raw(LogSigning.keyLength), run: try integer(), number: try integer(),
            digest: try raw(EntryChain.length), signature: try raw(LogSigning.signatureLength),
            other: try raw(EntryChain.length), entries: [], otherSignature: [])
        let count: UInt16 = try integer()
        guard count <= LogLimits.batchEntries else { throw .value(kind: kind.rawValue, field: "number of entries") }
        for _ in 0..<count { proof.entries.append(try raw(EntryChain.length)) }
        proof.otherSignature = try raw(LogSigning.signatureLength)
        return proof
    }
}
