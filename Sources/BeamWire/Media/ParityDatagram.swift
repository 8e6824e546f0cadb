import BeamMedia

/// A parity datagram's header, big-endian, 28 bytes, sealed. It has the layout of version 2's media header, with the
/// parity index in place of the part number, and the length of the frame's last part in place of the parameter-set
/// block's: u32 seq, u16 parity index, u16 parts, u8 flags, u8 layer, u16 width, u16 height, u16 content bytes in the
/// last part, u64 capture time in µs, u16 time waited and u16 time encoded in units of 10 µs.
package struct ParityHeader: Hashable, Sendable {
    package var sequence: SequenceNumber
    /// See `ParityLayout`.
    package var index: UInt16
    /// The same as in the frame's parts.
    package var frame: MediaHeader.Frame
    /// Content of the frame's last part in bytes, parameter sets included if it is also the first.
    package var lastLength: UInt16

    /// Writes the header at the start of `bytes`.
    package func write(to bytes: UnsafeMutableRawBufferPointer) {
        MediaHeader(sequence: sequence, part: index, frame: frame, configLength: lastLength)
            .write(to: bytes, as: .version2)
    }
}

package enum ParityDatagramError: Error, Hashable, CustomStringConvertible {
    case length(Int)
    case partCount(UInt16)
    case index(UInt16, partCount: UInt16)
    case layer(UInt8)
    case size(width: UInt16, height: UInt16)
    case parameterSets
    case lastLength(UInt16)
    case captureTime(UInt64)

    package var description: String {
        switch self {
        case .length(let length): "a parity datagram of \(length) bytes"
        case .partCount(let count): "parity of a frame of \(count) parts"
        case .index(let index, let count): "parity \(index) of a frame of \(count) parts, more than it can have"
        case .layer(let layer): "parity of stream \(layer), which no host has"
        case .size(let width, let height): "parity of a picture of \(width) × \(height) pixels"
        case .parameterSets: "parity of a frame with parameter sets that is no keyframe"
        case .lastLength(let length): "parity of a frame whose last part has \(length) bytes"
        case .captureTime(let time): "parity of a frame captured \(time) µs after the clock's start"
        }
    }
}

/// A parsed parity datagram: its header, and a view of its shard.
package struct ParityDatagram {
    package let header: ParityHeader
    /// The shard, `ParityCode.shardLength` bytes.
    package let shard: UnsafeRawBufferPointer
    /// The datagram's length on the wire in bytes.
    package let wireLength: Int

    /// The most simulcast layers of a host.
    private static let layerCount = 2

    /// A view of a datagram's plaintext, valid as long as `plaintext`. Nothing is copied.
    package init(_ plaintext: UnsafeRawBufferPointer) throws(ParityDatagramError) {
        let form = MediaForm.version2
        guard plaintext.count == form.headerLength + ParityCode.shardLength else { throw .length(plaintext.count) }
        let fields: MediaHeader
        do throws(MediaHeader.Failure) {
            fields = try MediaHeader(plaintext, as: form)
        } catch {
            switch error {
            case .captureTime(let time): throw .captureTime(time)
            case .truncated, .magic: throw .length(plaintext.count)
            }
        }
        var frame = fields.frame
        // Parity is never retransmitted, so this bit is unknown here, and unknown bits are accepted.
        if fields.isSentAgain { frame.flags.insert(.sentAgain) }
        header = ParityHeader(
            sequence: fields.sequence, index: fields.part, frame: frame, lastLength: fields.configLength)

        guard frame.partCount > 0, Int(frame.partCount) <= form.partLimit else { throw .partCount(frame.partCount) }
        guard Int(header.index) < ParityLayout(partCount: Int(frame.partCount)).indexLimit else {
            throw .index(header.index, partCount: frame.partCount)
        }
        guard frame.layer < Self.layerCount else { throw .layer(frame.layer) }
        guard frame.width > 0, frame.height > 0 else { throw .size(width: frame.width, height: frame.height) }
        guard frame.flags.contains(.keyframe) || !frame.flags.contains(.parameterSets) else { throw .parameterSets }
        guard (1...ParityCode.shardLength).contains(Int(header.lastLength)) else {
            throw .lastLength(header.lastLength)
        }
        shard = UnsafeRawBufferPointer(rebasing: plaintext[form.headerLength...])
        wireLength = plaintext.count + form.prefixLength + form.suffixLength
    }
}
