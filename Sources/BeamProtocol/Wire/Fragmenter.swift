import BeamMedia

/// Why a frame cannot be put on the wire.
enum FragmentationError: Error, Hashable, CustomStringConvertible {
    case malformedFrame
    case frameTooLong(Int)
    case size(PixelSize)
    case parameterSetsMissing
    /// They have to fit into the first datagram.
    case parameterSetsTooLong(Int)

    var description: String {
        switch self {
        case .malformedFrame: "the encoder's frame isn't in AVCC form"
        case .frameTooLong(let length):
            "a frame of \(length) bytes is larger than the \(MediaLimits.frameLength) allowed"
        case .size(let size): "a picture of \(size) doesn't fit the wire's 16-bit sizes"
        case .parameterSetsMissing: "a keyframe without its parameter sets cannot be decoded by anybody who joins"
        case .parameterSetsTooLong(let length): "parameter sets of \(length) bytes don't fit into one datagram"
        }
    }
}

/// Cuts frames into datagrams.
enum Fragmenter {
    /// Bytes behind the header in a full datagram.
    static let payloadLength = MediaLimits.datagramLength - MediaHeader.length

    /// The frame's datagrams one after the other, each exactly 1200 bytes but the last: one allocation, one copy.
    static func datagrams(
        of unit: AccessUnit, sequence: SequenceNumber
    ) throws(FragmentationError) -> [UInt8] {
        guard let width = UInt16(exactly: unit.size.width), let height = UInt16(exactly: unit.size.height),
            width > 0, height > 0
        else { throw .size(unit.size) }
        let config = try config(of: unit)
        let isWellFormed = unit.bytes.withUnsafeBytes {
            AVCC.isWellFormed(UnsafeRawBufferPointer(rebasing: $0[unit.range]))
        }
        guard isWellFormed else { throw .malformedFrame }
        let content = config.count + unit.range.count
        guard content <= MediaLimits.frameLength else { throw .frameTooLong(content) }

        // At most 8 MiB in parts of 1180 bytes: fewer than 2^13.
        let count = (content + payloadLength - 1) / payloadLength
        let frame = MediaHeader.Frame(
            partCount: UInt16(count), flags: unit.isKeyframe ? [.keyframe, .parameterSets] : [], width: width,
            height: height)
        let total = content + count * MediaHeader.length
        return [UInt8](unsafeUninitializedCapacity: total) { buffer, initialized in
            let output = UnsafeMutableRawBufferPointer(buffer)
            unit.bytes.withUnsafeBytes { source in
                var rest = UnsafeRawBufferPointer(rebasing: source[unit.range])
                var offset = 0
                for part in 0..<count {
                    let header = MediaHeader(
                        sequence: sequence, part: UInt16(part), frame: frame,
                        configLength: part == 0 ? UInt16(config.count) : 0)
                    header.write(to: UnsafeMutableRawBufferPointer(rebasing: output[offset...]))
                    offset += MediaHeader.length
                    var room = payloadLength
                    if part == 0 {
                        UnsafeMutableRawBufferPointer(rebasing: output[offset...]).copyBytes(from: config)
                        offset += config.count
                        room -= config.count
                    }
                    let taken = min(room, rest.count)
                    UnsafeMutableRawBufferPointer(rebasing: output[offset...]).copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: rest[..<taken]))
                    offset += taken
                    rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
                }
            }
            initialized = total
        }
    }

    private static func config(of unit: AccessUnit) throws(FragmentationError) -> [UInt8] {
        guard unit.isKeyframe else { return [] }
        guard let sets = unit.parameterSets, let block = ParameterSetBlock.encode(sets) else {
            throw .parameterSetsMissing
        }
        guard block.count <= payloadLength else { throw .parameterSetsTooLong(block.count) }
        return block
    }
}
