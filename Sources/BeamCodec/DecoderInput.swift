import BeamLibAV
import BeamMedia
import CAVCodec

/// Access units in the decoder's form: Annex B with the parameter sets in front, followed by the zero bytes that
/// libavcodec requires, in one buffer that is reused.
final class DecoderInput {
    let packet: PacketHandle
    private var buffer: UnsafeMutablePointer<AVBufferRef>?

    /// The longest access unit in bytes: more than any real frame of 8192 × 4352 pixels takes.
    private static let mostBytes = 64 << 20
    private static let padding = Int(AV_INPUT_BUFFER_PADDING_SIZE)

    /// Nil when there is no memory.
    init?() {
        guard let packet = PacketHandle() else { return nil }
        self.packet = packet
    }

    deinit { av_buffer_unref(&buffer) }

    /// Puts `unit` into the packet.
    func fill(_ unit: AccessUnit) throws(CodecError) {
        let sets = unit.parameterSets.map { $0.sps + $0.pps } ?? []
        let header = sets.reduce(0) { $0 + 4 + $1.count }
        let total = header + unit.avcc.count
        guard !unit.avcc.isEmpty else { throw .damagedFrame(reason: "it is empty") }
        guard total <= Self.mostBytes else { throw .damagedFrame(reason: "it has \(total) bytes") }
        // Drop the packet's reference first, so that the buffer is writable again.
        av_packet_unref(packet.pointer)
        let bytes = try reserve(total + Self.padding)
        var offset = 0
        for set in sets {
            Self.putStartCode(bytes, at: offset)
            set.withUnsafeBytes {
                if let base = $0.baseAddress { (bytes + offset + 4).copyMemory(from: base, byteCount: $0.count) }
            }
            offset += 4 + set.count
        }
        unit.avcc.withUnsafeBytes { source in
            if let base = source.baseAddress { (bytes + offset).copyMemory(from: base, byteCount: source.count) }
        }
        (bytes + total).initializeMemory(as: UInt8.self, repeating: 0, count: Self.padding)
        try Self.replaceLengths(bytes, from: offset, to: total)
        guard let reference = av_buffer_ref(buffer) else { throw .damagedFrame(reason: "there is not enough memory") }
        packet.pointer.pointee.buf = reference
        packet.pointer.pointee.data = reference.pointee.data
        packet.pointer.pointee.size = CInt(total)
    }

    private static func putStartCode(_ bytes: UnsafeMutableRawPointer, at offset: Int) {
        var writer = BigEndianWriter(UnsafeMutableRawBufferPointer(start: bytes + offset, count: 4))
        writer.write(UInt32(1))
    }

    /// Replaces the lengths by start codes, which are also 4 bytes.
    private static func replaceLengths(_ bytes: UnsafeMutableRawPointer, from start: Int, to end: Int)
        throws(CodecError)
    {
        var offset = start
        while offset < end {
            var reader = BigEndianReader(UnsafeRawBufferPointer(start: bytes + offset, count: end - offset))
            guard let count: UInt32 = reader.integer(), !reader.rest.isEmpty else {
                throw .damagedFrame(reason: "a NAL unit's length is cut off")
            }
            let length = Int(count)
            guard length > 0, length <= reader.rest.count else {
                throw .damagedFrame(reason: "a NAL unit of \(length) bytes where \(reader.rest.count) are left")
            }
            putStartCode(bytes, at: offset)
            offset += 4 + length
        }
    }

    /// The buffer, writable and with room for `count` bytes.
    private func reserve(_ count: Int) throws(CodecError) -> UnsafeMutableRawPointer {
        if let buffer, buffer.pointee.size >= count, av_buffer_is_writable(buffer) == 1 {
            return UnsafeMutableRawPointer(buffer.pointee.data)
        }
        av_buffer_unref(&buffer)
        // Half more, so that a slightly larger frame fits later.
        guard let fresh = av_buffer_alloc(count + count / 2) else {
            throw .damagedFrame(reason: "there is not enough memory for its \(count) bytes")
        }
        buffer = fresh
        return UnsafeMutableRawPointer(fresh.pointee.data)
    }
}
