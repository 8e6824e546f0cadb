/// A key for datagrams of one direction: AES-128, with the salt that begins each nonce.
///
/// It is made at random, used by one sender in one run of the program, and its counter begins at 0: so no nonce is ever
/// used twice.
public struct SealingKey: Sendable, Hashable {
    public static let keyLength = 16
    public static let saltLength = 4

    /// By which a datagram names it.
    public let number: UInt16
    let key: [UInt8]
    let salt: [UInt8]

    /// Nil unless `key` has 16 bytes and `salt` 4.
    init?(number: UInt16, key: [UInt8], salt: [UInt8]) {
        guard key.count == Self.keyLength, salt.count == Self.saltLength else { return nil }
        self.number = number
        self.key = key
        self.salt = salt
    }

    /// A fresh one. Pass the system's generator, but in tests.
    init(number: UInt16, random: inout some RandomNumberGenerator) {
        self.number = number
        key = (0..<Self.keyLength).map { _ in .random(in: 0...255, using: &random) }
        salt = (0..<Self.saltLength).map { _ in .random(in: 0...255, using: &random) }
    }

    /// The salt's bytes as they lie in memory.
    var saltWord: UInt32 { salt.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) } }
}

extension SealingKey: CustomStringConvertible, CustomReflectable {
    /// Without the secret: this may end up in a log.
    public var description: String { "sealing key \(number)" }
    public var customMirror: Mirror { Mirror(self, children: ["number": number]) }
}
