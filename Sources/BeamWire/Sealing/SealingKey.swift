/// A key for datagrams in one direction: AES-128, and the salt at the start of each nonce.
///
/// It is random, used by one sender in one run of the program, and its counter begins at 0, so no nonce is used twice.
public struct SealingKey: Sendable, Hashable {
    /// AES-128's key, and the part of GCM's 12-byte nonce that isn't the counter; in bytes.
    public static let keyLength = 16
    public static let saltLength = 4

    /// The number by which datagrams name the key.
    public let number: UInt16
    package let key: [UInt8]
    let salt: [UInt8]

    /// Nil unless `key` has 16 bytes and `salt` 4.
    package init?(number: UInt16, key: [UInt8], salt: [UInt8]) {
        guard key.count == Self.keyLength, salt.count == Self.saltLength else { return nil }
        self.number = number
        self.key = key
        self.salt = salt
    }

    /// A key from as many bytes as key and salt have together.
    package init(number: UInt16, derived bytes: [UInt8]) {
        precondition(bytes.count == Self.keyLength + Self.saltLength)
        self.number = number
        key = Array(bytes.prefix(Self.keyLength))
        salt = Array(bytes.dropFirst(Self.keyLength))
    }

    /// A random key. Pass the system's generator, except in tests.
    package init(number: UInt16, random: inout some RandomNumberGenerator) {
        self.number = number
        key = (0..<Self.keyLength).map { _ in .random(in: 0...255, using: &random) }
        salt = (0..<Self.saltLength).map { _ in .random(in: 0...255, using: &random) }
    }

    /// The salt as a word, its bytes in the same order in memory.
    var saltWord: UInt32 { salt.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) } }
}

extension SealingKey: CustomStringConvertible, CustomReflectable {
    /// Without the secret, because it may be logged.
    public var description: String { "sealing key \(number)" }
    public var customMirror: Mirror { Mirror(self, children: ["number": number]) }
}
