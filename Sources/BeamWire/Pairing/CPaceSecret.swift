import CSodium

/// Secret bytes in memory from `sodium_malloc`: wiped when freed, excluded from core dumps, and locked against swap as
/// far as the system's limit on locked memory allows.
///
/// Swift can't wipe copies in registers and on the stack, nor the code itself, a string that is on the host's screen
/// anyway.
package final class SecretBytes: @unchecked Sendable {
    // Sendable: written only before `init` returns, and only read after.
    private let memory: UnsafeMutablePointer<UInt8>
    package let count: Int

    /// `write` must fill all `count` bytes of the memory.
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

    /// The pointer to the `count` bytes is valid only while `body` runs.
    func withBytes<Result, Failure>(
        _ body: (UnsafePointer<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // The pointer doesn't keep this object alive.
        defer { withExtendedLifetime(self) {} }
        return try body(UnsafePointer(memory))
    }
}

extension SecretBytes {
    /// A piece of a hash's input.
    package enum Piece {
        case open([UInt8])
        case secret(SecretBytes)

        package var count: Int {
            switch self {
            case .open(let bytes): bytes.count
            case .secret(let bytes): bytes.count
            }
        }
    }

    /// SHA-512 (FIPS 180-4) of the concatenated pieces: 64 bytes.
    package static func hash(_ pieces: Piece...) throws(PairingFailure) -> SecretBytes {
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

    /// A random ristretto255 scalar, uniform from 1 to the group's order less one, from the system's generator.
    static func randomScalar() throws(PairingFailure) -> SecretBytes {
        try SecretBytes(count: CPace.scalarLength) { crypto_core_ristretto255_scalar_random($0) }
    }
}
