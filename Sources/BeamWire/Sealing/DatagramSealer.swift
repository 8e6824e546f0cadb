import Synchronization

package enum SealingError: Error, Hashable, CustomStringConvertible {
    /// The key has sealed `limit` datagrams.
    case exhausted(keyNumber: UInt16)
    case refused(keyNumber: UInt16)

    package var description: String {
        switch self {
        case .exhausted(let number):
            "sealing key \(number) has been used for \(DatagramSealer.limit) datagrams and needs to be replaced"
        case .refused(let number): "the cipher refused to seal a datagram with key \(number)"
        }
    }
}

/// Seals datagrams with one key: AES-128-GCM (NIST SP 800-38D). The associated data is the outer header; the nonce is
/// the key's salt and a counter that begins at 0.
///
/// A class, because the counter must not be copied: two copies would use the same nonces, which breaks GCM.
package final class DatagramSealer: Sendable {
    /// The most datagrams that one key seals; after that a new key is needed.
    package static let limit: UInt64 = 1 << 32

    package let keyNumber: UInt16
    /// Nil if OpenSSL lacks the cipher: nothing can be sealed then.
    private let cipher: DatagramCipher?
    private let salt: UInt32
    private let counter: Atomic<UInt64>

    package convenience init(key: SealingKey) { self.init(key: key, counter: 0) }

    /// `counter` is the first counter; tests begin elsewhere than 0.
    package init(key: SealingKey, counter: UInt64) {
        keyNumber = key.number
        cipher = DatagramCipher(key: key, .seal)
        salt = key.saltWord
        self.counter = Atomic(counter)
    }

    /// Datagrams sealed with this key. Replace the key well before this reaches `limit`.
    package var datagramsSealed: UInt64 { min(counter.load(ordering: .relaxed), Self.limit) }

    /// Seals in place. `datagram` is room for the header, the plaintext, and room for the tag: 28 bytes more than the
    /// plaintext.
    package func seal(_ kind: SealedHeader.Kind, in datagram: UnsafeMutableRawBufferPointer) throws(SealingError) {
        precondition(datagram.count >= SealedHeader.overhead)
        let counter = counter.wrappingAdd(1, ordering: .relaxed).oldValue
        // Refused calls count, too; the counter can't overflow in practice.
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
            // Wiped, so that plaintext can't be sent by mistake.
            for index in datagram.indices { datagram[index] = 0 }
            throw .refused(keyNumber: keyNumber)
        }
    }

    /// Seals what `write` appends to `datagram`, which is emptied first, so that its memory can be reused.
    package func seal(
        _ kind: SealedHeader.Kind, in datagram: inout [UInt8], _ write: (inout [UInt8]) -> Void
    ) throws(SealingError) {
        datagram.removeAll(keepingCapacity: true)
        datagram.append(contentsOf: repeatElement(0, count: SealedHeader.length))
        write(&datagram)
        datagram.append(contentsOf: repeatElement(0, count: SealedHeader.tagLength))
        var failure: SealingError?
        datagram.withUnsafeMutableBytes { bytes in
            do throws(SealingError) { try seal(kind, in: bytes) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// Seals a copy, as viewers do.
    package func seal(_ kind: SealedHeader.Kind, _ plaintext: [UInt8]) throws(SealingError) -> [UInt8] {
        var datagram: [UInt8] = []
        datagram.reserveCapacity(plaintext.count + SealedHeader.overhead)
        try seal(kind, in: &datagram) { $0 += plaintext }
        return datagram
    }
}
