import Synchronization

/// Why a datagram can't be sealed.
enum SealingError: Error, Hashable, CustomStringConvertible {
    /// The key has sealed as many datagrams as it may.
    case exhausted(keyNumber: UInt16)
    case refused(keyNumber: UInt16)

    var description: String {
        switch self {
        case .exhausted(let number):
            "sealing key \(number) has been used for \(DatagramSealer.limit) datagrams and needs to be replaced"
        case .refused(let number): "the cipher refused to seal a datagram with key \(number)"
        }
    }
}

/// Seals datagrams with one key: AES-128-GCM (NIST SP 800-38D), the outer header as associated data, and as nonce the
/// key's salt and a counter, which begins at 0.
///
/// A class, because a counter must not be copied: two copies would use the same nonces, which gives the key away.
final class DatagramSealer: Sendable {
    /// As many datagrams as one key may seal.
    static let limit: UInt64 = 1 << 32

    let keyNumber: UInt16
    /// Nil if the system has no such cipher: nothing can be sealed then.
    private let cipher: DatagramCipher?
    private let salt: UInt32
    private let counter: Atomic<UInt64>

    convenience init(key: SealingKey) { self.init(key: key, counter: 0) }

    /// Begins to count elsewhere: for tests.
    init(key: SealingKey, counter: UInt64) {
        keyNumber = key.number
        cipher = DatagramCipher(key: key, .seal)
        salt = key.saltWord
        self.counter = Atomic(counter)
    }

    /// How many datagrams the key has sealed. Replace it well before this is `limit`.
    var datagramsSealed: UInt64 { min(counter.load(ordering: .relaxed), Self.limit) }

    /// Seals in place. `datagram` has room for the header, then holds the plaintext, then has room for the tag:
    /// 28 bytes more than the plaintext.
    func seal(_ kind: SealedHeader.Kind, in datagram: UnsafeMutableRawBufferPointer) throws(SealingError) {
        precondition(datagram.count >= SealedHeader.overhead)
        let counter = counter.wrappingAdd(1, ordering: .relaxed).oldValue
        // Those that are refused count too; 2^64 of them never come.
        guard counter < Self.limit else { throw .exhausted(keyNumber: keyNumber) }
        let header = UnsafeMutableRawBufferPointer(rebasing: datagram[..<SealedHeader.length])
        let content = UnsafeMutableRawBufferPointer(
            rebasing: datagram[SealedHeader.length...].dropLast(SealedHeader.tagLength))
        let tag = UnsafeMutableRawBufferPointer(rebasing: datagram.suffix(SealedHeader.tagLength))
        SealedHeader(kind: kind, keyNumber: keyNumber, counter: counter).write(to: header)
        let isSealed = cipher?.seal(
            content, header: UnsafeRawBufferPointer(header), nonce: DatagramCipher.Nonce(salt: salt, counter: counter),
            tag: tag)
        guard isSealed == true else {
            // What may still be in the clear isn't to leave by mistake.
            for index in datagram.indices { datagram[index] = 0 }
            throw .refused(keyNumber: keyNumber)
        }
    }

    /// A datagram by itself, as viewers send them.
    func seal(_ kind: SealedHeader.Kind, _ plaintext: [UInt8]) throws(SealingError) -> [UInt8] {
        var datagram = [UInt8](repeating: 0, count: SealedHeader.length)
        datagram.reserveCapacity(plaintext.count + SealedHeader.overhead)
        datagram += plaintext
        datagram.append(contentsOf: repeatElement(0, count: SealedHeader.tagLength))
        var failure: SealingError?
        datagram.withUnsafeMutableBytes { bytes in
            do throws(SealingError) { try seal(kind, in: bytes) } catch { failure = error }
        }
        if let failure { throw failure }
        return datagram
    }
}
