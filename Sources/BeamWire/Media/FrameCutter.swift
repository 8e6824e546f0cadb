import BeamMedia

/// Cuts one frame into datagrams.
package struct FrameCutter {
    /// The fields that all the frame's datagrams share.
    package let header: MediaHeader.Frame
    package let form: MediaForm
    /// The length of its datagrams but the last.
    package let size: DatagramSize
    /// A keyframe's parameter-set block, which precedes the AVCC bytes in part 0; else empty.
    package let config: [UInt8]
    private let unit: AccessUnit

    /// `isAfterDisposable`: the frame before this one is disposable. Version 1 can't say either.
    package init(
        _ frame: EncodedFrame, as form: MediaForm, size: DatagramSize = .full, isAfterDisposable: Bool = false
    ) throws(FragmentationError) {
        let unit = frame.unit
        let payload = form.payloadLength(in: size)
        config = try Self.config(of: unit, payloadLength: payload)
        var header = try Self.header(of: frame, configLength: config.count, form: form, payloadLength: payload)
        if form == .version2 {
            if unit.isDisposable, !unit.isKeyframe { header.temporalFlags.insert(.disposable) }
            if isAfterDisposable { header.temporalFlags.insert(.afterDisposable) }
        }
        self.header = header
        self.form = form
        self.size = size
        self.unit = unit
    }

    package var partCount: Int { Int(header.partCount) }

    /// Parameter-set block and AVCC bytes, in bytes.
    var contentLength: Int { config.count + unit.range.count }

    /// The length of all datagrams in bytes.
    var totalLength: Int { contentLength + partCount * form.overhead }

    /// The length of one datagram in bytes: all but the last are full.
    package func length(ofPart part: Int) -> Int {
        part < partCount - 1 ? size.length : contentLength - part * form.payloadLength(in: size) + form.overhead
    }

    /// Writes one datagram, but for its seal, into memory of exactly its length.
    package func write(
        part: Int, sequence: SequenceNumber, isSentAgain: Bool = false, to datagram: UnsafeMutableRawBufferPointer
    ) {
        let header = MediaHeader(
            sequence: sequence, part: UInt16(part), frame: header, isSentAgain: isSentAgain,
            configLength: part == 0 ? UInt16(config.count) : 0)
        header.write(to: UnsafeMutableRawBufferPointer(rebasing: datagram[form.prefixLength...]), as: form)
        var room = UnsafeMutableRawBufferPointer(
            rebasing: datagram[(form.prefixLength + form.headerLength)...].dropLast(form.suffixLength))
        var start = part * form.payloadLength(in: size) - config.count
        if part == 0 {
            room.copyBytes(from: config)
            room = UnsafeMutableRawBufferPointer(rebasing: room[config.count...])
            start = 0
        }
        unit.bytes.withUnsafeBytes { source in
            let content = UnsafeRawBufferPointer(rebasing: source[unit.range])
            room.copyMemory(from: UnsafeRawBufferPointer(rebasing: content[start..<start + room.count]))
        }
    }

    /// Writes the frame's parity as sealed datagrams at the start of `memory`, and returns their length in bytes.
    /// `share`: parity rows for each part (`ParityLayout.rowCount`). Only frames in full datagrams have parity.
    package func writeParity(
        share: Double, sequence: SequenceNumber, sealedBy sealer: DatagramSealer, to memory: inout [UInt8]
    ) throws(FragmentationError) -> Int {
        let rows = ParityLayout(partCount: partCount).rowCount(forShare: share)
        guard rows > 0 else { return 0 }
        var failure: SealingError?
        let length = config.withUnsafeBytes { config in
            unit.bytes.withUnsafeBytes { bytes in
                let content = FrameContent(config: config, avcc: UnsafeRawBufferPointer(rebasing: bytes[unit.range]))
                do throws(SealingError) {
                    return try ParityFragmenter.write(
                        content, of: header, sequence: sequence, rows: 0..<rows, to: &memory
                    ) { datagram throws(SealingError) in try sealer.seal(.parity, in: datagram) }
                } catch {
                    failure = error
                    return 0
                }
            }
        }
        if let failure { throw .sealing(failure) }
        return length
    }

    private static func header(
        of frame: EncodedFrame, configLength: Int, form: MediaForm, payloadLength: Int
    ) throws(FragmentationError) -> MediaHeader.Frame {
        let unit = frame.unit
        guard let width = UInt16(exactly: unit.size.width), let height = UInt16(exactly: unit.size.height),
            width > 0, height > 0
        else { throw .size(unit.size) }
        let isWellFormed = unit.bytes.withUnsafeBytes {
            AVCC.isWellFormed(UnsafeRawBufferPointer(rebasing: $0[unit.range]))
        }
        guard isWellFormed else { throw .malformedFrame }
        let content = configLength + unit.range.count
        guard content <= MediaLimits.frameLength else { throw .frameTooLong(content) }
        // At most 8 MiB in parts of 492 bytes: fewer than 2¹⁵ parts.
        let count = (content + payloadLength - 1) / payloadLength
        return MediaHeader.Frame(
            partCount: UInt16(count), flags: unit.isKeyframe ? [.keyframe, .parameterSets] : [], width: width,
            height: height, captureTime: form == .version2 && !frame.isRepeated ? frame.captureTime : nil,
            stages: form == .version2 ? frame.stages.map { MediaHeader.Stages($0) } : nil,
            layer: form == .version2 ? UInt8(truncatingIfNeeded: frame.layer) : 0)
    }

    private static func config(of unit: AccessUnit, payloadLength: Int) throws(FragmentationError) -> [UInt8] {
        guard unit.isKeyframe else { return [] }
        guard let sets = unit.parameterSets, let block = ParameterSetBlock.encode(sets) else {
            throw .parameterSetsMissing
        }
        guard block.count <= payloadLength else { throw .parameterSetsTooLong(block.count) }
        return block
    }
}
