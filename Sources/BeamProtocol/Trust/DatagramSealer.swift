import Crypto
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
    private let key: SymmetricKey
    private let salt: UInt32
    private let counter: Atomic<UInt64>

    convenience init(key: SealingKey) { self.init(key: key, counter: 0) }

    /// Begins to count elsewhere: for tests.
    init(key: SealingKey, counter: UInt64) {
        keyNumber = key.number
        self.key = SymmetricKey(data: key.key)
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
        let content = UnsafeMutableRawBufferPointer(rebasing: datagram[SealedHeader.length...])
        do {
            // A nonce is as long as the header, and ends with the counter too.
            SealedHeader(kind: kind, keyNumber: keyNumber, counter: counter).write(to: header)
            header.storeBytes(of: salt, as: UInt32.self)
            let nonce = try AES.GCM.Nonce(data: UnsafeRawBufferPointer(header))
            SealedHeader(kind: kind, keyNumber: keyNumber, counter: counter).write(to: header)
            let box = try AES.GCM.seal(
                UnsafeRawBufferPointer(rebasing: content.dropLast(SealedHeader.tagLength)), using: key, nonce: nonce,
                authenticating: UnsafeRawBufferPointer(header))
            // Of all that can be had from a box, the only thing that isn't copied once more: nonce, ciphertext, tag.
            guard let combined = box.combined, combined.count == datagram.count else {
                throw SealingError.refused(keyNumber: keyNumber)
            }
            combined.withUnsafeBytes {
                content.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[SealedHeader.length...]))
            }
        } catch {
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
