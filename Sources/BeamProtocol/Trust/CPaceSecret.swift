import CSodium

/// Bytes that nobody else is to learn, in memory of their own (`sodium_malloc`): wiped when their owner goes, left out
/// of core dumps, and kept from swap as far as the system's limit of locked memory goes.
///
/// What can't be wiped from Swift: what registers and the stack still hold of a value that has gone through them, and
/// the code itself, a string that is on the host's screen anyway.
final class SecretBytes: @unchecked Sendable {
    // Sendable: written only before `init` returns, and only read after.
    private let memory: UnsafeMutablePointer<UInt8>
    let count: Int

    /// `write` is lent the memory, and has to fill all `count` bytes of it.
    init(
        count: Int, _ write: (UnsafeMutablePointer<UInt8>) throws(PairingFailure) -> Void
    ) throws(PairingFailure) {
        try CPace.prepare()
        guard let start = sodium_malloc(count) else { throw .unavailable }
        memory = start.bindMemory(to: UInt8.self, capacity: count)
        self.count = count
        try write(memory)
    }

    /// A copy of bytes from elsewhere.
    convenience init(_ bytes: some Collection<UInt8>) throws(PairingFailure) {
        try self.init(count: bytes.count) { memory in
            _ = UnsafeMutableBufferPointer(start: memory, count: bytes.count).initialize(fromContentsOf: bytes)
        }
    }

    deinit { sodium_free(memory) }

    /// Lends the `count` bytes; the pointer is good for no longer than `body` runs.
    func withBytes<Result, Failure>(
        _ body: (UnsafePointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // The pointer doesn't keep its owner.
        defer { withExtendedLifetime(self) {} }
        return try body(UnsafePointer(memory))
    }
}

extension SecretBytes {
    /// A part of what is hashed.
    enum Piece {
        case open([UInt8])
        case secret(SecretBytes)

        var count: Int {
            switch self {
            case .open(let bytes): bytes.count
            case .secret(let bytes): bytes.count
            }
        }
    }

    /// SHA-512 (FIPS 180-4) over all pieces, one after the other: 64 bytes.
    static func hash(_ pieces: Piece...) throws(PairingFailure) -> SecretBytes {
        let input = try SecretBytes(count: pieces.reduce(0) { $0 + $1.count }) { memory in
            var end = memory
            for piece in pieces {
                switch piece {
                case .open(let bytes): end.initialize(from: bytes, count: bytes.count)
                case .secret(let bytes): bytes.withBytes { end.initialize(from: $0, count: bytes.count) }
                }
                end += piece.count
            }
        }
        return try SecretBytes(count: Int(crypto_hash_sha512_BYTES)) { memory in
            // It wipes its own state, and can't fail.
            _ = input.withBytes { crypto_hash_sha512(memory, $0, UInt64(input.count)) }
        }
    }

    /// A fresh scalar of ristretto255, uniform between 1 and the group's order less one, from the system's generator.
    static func randomScalar() throws(PairingFailure) -> SecretBytes {
        try SecretBytes(count: CPace.scalarLength) { crypto_core_ristretto255_scalar_random($0) }
    }
}
