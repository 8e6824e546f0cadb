import BeamMedia

/// Why a frame cannot be put on the wire.
enum FragmentationError: Error, Hashable, CustomStringConvertible {
    case malformedFrame
    case frameTooLong(Int)
    case size(PixelSize)
    case parameterSetsMissing
    /// They have to fit into the first datagram.
    case parameterSetsTooLong(Int)
    /// There are viewers to seal it for, and nothing to seal it with.
    case noSealingKey
    case sealing(SealingError)

    var description: String {
        switch self {
        case .malformedFrame: "the encoder's frame isn't in AVCC form"
        case .frameTooLong(let length):
            "a frame of \(length) bytes is larger than the \(MediaLimits.frameLength) allowed"
        case .size(let size): "a picture of \(size) doesn't fit the wire's 16-bit sizes"
        case .parameterSetsMissing: "a keyframe without its parameter sets cannot be decoded by anybody who joins"
        case .parameterSetsTooLong(let length): "parameter sets of \(length) bytes don't fit into one datagram"
        case .noSealingKey: "a frame can't be sent before there is a key to seal it with"
        case .sealing(let error): "\(error)"
        }
    }
}

/// Cuts frames into datagrams.
enum Fragmenter {
    /// Writes the frame's version 1 datagrams at the start of `memory`, one after the other, each exactly 1200 bytes
    /// but the last, and says how many bytes those are. `memory` grows if it is too small, and is used again for the
    /// next frame; what is behind the frame in it is of others.
    static func write(
        _ unit: AccessUnit, sequence: SequenceNumber, to memory: inout [UInt8]
    ) throws(FragmentationError) -> Int {
        try write(unit, sequence: sequence, as: .version1, to: &memory) { _ in }
    }

    /// The same in version 2, sealed where they lie. The unit's time is told as the capture time, and stages that aren't
    /// known as no time at all.
    static func write(
        _ unit: AccessUnit, sequence: SequenceNumber, sealedBy sealer: DatagramSealer, to memory: inout [UInt8]
    ) throws(FragmentationError) -> Int {
        try write(unit, sequence: sequence, as: .version2, to: &memory) { datagram throws(SealingError) in
            try sealer.seal(.media, in: datagram)
        }
    }

    /// Calls `finish` for each datagram once it is written.
    private static func write(
        _ unit: AccessUnit, sequence: SequenceNumber, as form: MediaForm, to memory: inout [UInt8],
        finish: (UnsafeMutableRawBufferPointer) throws(SealingError) -> Void
    ) throws(FragmentationError) -> Int {
        let config = try config(of: unit, form: form)
        let frame = try frame(of: unit, configLength: config.count, form: form)
        let count = Int(frame.partCount)
        let total = config.count + unit.range.count + count * form.overhead
        if memory.count < total { memory.append(contentsOf: repeatElement(0, count: total - memory.count)) }
        var failure: SealingError?
        memory.withUnsafeMutableBytes { output in
            unit.bytes.withUnsafeBytes { source in
                var rest = UnsafeRawBufferPointer(rebasing: source[unit.range])
                for part in 0..<count {
                    let start = part * MediaLimits.datagramLength
                    let datagram = UnsafeMutableRawBufferPointer(
                        rebasing: output[start..<min(start + MediaLimits.datagramLength, total)])
                    let header = MediaHeader(
                        sequence: sequence, part: UInt16(part), frame: frame,
                        configLength: part == 0 ? UInt16(config.count) : 0)
                    header.write(to: UnsafeMutableRawBufferPointer(rebasing: datagram[form.prefixLength...]), as: form)
                    var room = UnsafeMutableRawBufferPointer(
                        rebasing: datagram[(form.prefixLength + form.headerLength)...].dropLast(form.suffixLength))
                    if part == 0 {
                        room.copyBytes(from: config)
                        room = UnsafeMutableRawBufferPointer(rebasing: room[config.count...])
                    }
                    room.copyMemory(from: UnsafeRawBufferPointer(rebasing: rest[..<room.count]))
                    rest = UnsafeRawBufferPointer(rebasing: rest[room.count...])
                    do throws(SealingError) {
                        try finish(datagram)
                    } catch {
                        failure = error
                        return
                    }
                }
            }
        }
        if let failure { throw .sealing(failure) }
        return total
    }

    /// What the frame's datagrams have in common.
    private static func frame(
        of unit: AccessUnit, configLength: Int, form: MediaForm
    ) throws(FragmentationError) -> MediaHeader.Frame {
        guard let width = UInt16(exactly: unit.size.width), let height = UInt16(exactly: unit.size.height),
            width > 0, height > 0
        else { throw .size(unit.size) }
        let isWellFormed = unit.bytes.withUnsafeBytes {
            AVCC.isWellFormed(UnsafeRawBufferPointer(rebasing: $0[unit.range]))
        }
        guard isWellFormed else { throw .malformedFrame }
        let content = configLength + unit.range.count
        guard content <= MediaLimits.frameLength else { throw .frameTooLong(content) }
        // At most 8 MiB in parts of 1144 bytes: fewer than 2^13.
        let count = (content + form.payloadLength - 1) / form.payloadLength
        return MediaHeader.Frame(
            partCount: UInt16(count), flags: unit.isKeyframe ? [.keyframe, .parameterSets] : [], width: width,
            height: height, captureTime: form == .version2 && !unit.isRepeated ? unit.time : nil,
            stages: form == .version2 ? unit.stages.map { MediaHeader.Stages($0) } : nil)
    }

    private static func config(of unit: AccessUnit, form: MediaForm) throws(FragmentationError) -> [UInt8] {
        guard unit.isKeyframe else { return [] }
        guard let sets = unit.parameterSets, let block = ParameterSetBlock.encode(sets) else {
            throw .parameterSetsMissing
        }
        guard block.count <= form.payloadLength else { throw .parameterSetsTooLong(block.count) }
        return block
    }
}
