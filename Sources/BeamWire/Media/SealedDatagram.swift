import BeamMedia

/// A sealed datagram's outer header: 12 bytes, big-endian, unencrypted, authenticated as the AEAD's associated data.
///
/// u8 kind, u8 0, u16 key number, u64 counter. The ciphertext follows, then 16 bytes of tag.
package struct SealedHeader: Hashable, Sendable {
    /// In bytes.
    package static let length = 12
    /// The length of AES-GCM's tag at the datagram's end, in bytes.
    static let tagLength = 16
    /// Bytes that sealing adds to a plaintext.
    package static let overhead = length + tagLength

    package var kind: Kind
    package var keyNumber: UInt16
    /// The number of datagrams sealed with this key before this one, so it is never used twice.
    package var counter: UInt64

    /// Writes the header at the start of `bytes`.
    package func write(to bytes: UnsafeMutableRawBufferPointer) {
        var writer = BigEndianWriter(bytes)
        writer.write(kind.rawValue)
        writer.write(UInt8(0))
        writer.write(keyNumber)
        writer.write(counter)
    }
}

/// Why a sealed datagram is refused.
package enum SealedDatagramError: Error, Hashable, CustomStringConvertible {
    case length(Int)
    case kind(UInt8)
    case reserved(UInt8)
    case unknownKey(UInt16)
    /// It arrived before.
    case replayed(UInt64)
    /// It is behind the replay window, so whether it arrived before is unknown.
    case tooOld(UInt64)
    /// Its tag is wrong: it was made or changed without the key.
    case forged

    package var description: String {
        switch self {
        case .length(let length): "a sealed datagram of \(length) bytes"
        case .kind(let kind): "a datagram of kind 0x\(String(kind, radix: 16)), which has no place here"
        case .reserved(let byte): "a sealed datagram whose second byte is \(byte), not 0"
        case .unknownKey(let number): "a datagram sealed with key \(number), which isn't in use"
        case .replayed(let counter): "datagram \(counter) for the second time"
        case .tooOld(let counter): "datagram \(counter), far too late"
        case .forged: "a datagram that was not sealed with its key, or was changed on the way"
        }
    }
}

/// A sealed datagram with a valid outer header. It isn't authentic until it has been opened.
package struct SealedDatagram {
    package let header: SealedHeader
    /// The whole datagram, header included.
    package let bytes: UnsafeRawBufferPointer

    /// The associated data, the ciphertext and the tag.
    package var parts: (header: UnsafeRawBufferPointer, content: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer) {
        let end = bytes.count - SealedHeader.tagLength
        return (
            UnsafeRawBufferPointer(rebasing: bytes[..<SealedHeader.length]),
            UnsafeRawBufferPointer(rebasing: bytes[SealedHeader.length..<end]),
            UnsafeRawBufferPointer(rebasing: bytes[end...])
        )
    }

    /// A view of `bytes`, valid as long as they are. Nothing is copied or decrypted.
    package init(_ bytes: UnsafeRawBufferPointer, from sender: SealedHeader.Sender) throws(SealedDatagramError) {
        guard bytes.count >= SealedHeader.overhead, bytes.count <= MediaLimits.receivedDatagramLength else {
            throw .length(bytes.count)
        }
        var reader = BigEndianReader(bytes)
        guard let number: UInt8 = reader.integer(), let reserved: UInt8 = reader.integer(),
            let keyNumber: UInt16 = reader.integer(), let counter: UInt64 = reader.integer()
        else { throw .length(bytes.count) }
        guard let kind = SealedHeader.Kind(rawValue: number), kind.sender == sender else { throw .kind(number) }
        guard reserved == 0 else { throw .reserved(reserved) }
        header = SealedHeader(kind: kind, keyNumber: keyNumber, counter: counter)
        self.bytes = bytes
    }
}
