import BeamMedia

/// A media datagram's header, big-endian.
///
/// Version 1, 20 bytes: `"BMRV"`, u32 seq, u16 part, u16 parts, u16 flags, u16 width, u16 height, u16 length of the
/// parameter-set block. Version 2, 28 bytes, sealed: u32 seq, u16 part, u16 parts, u8 flags, u8 layer, u16 width,
/// u16 height, u16 length of the parameter-set block, u64 capture time in µs, u16 time waited and u16 time encoded in
/// units of 10 µs.
package struct MediaHeader: Hashable, Sendable {
    static let magic: UInt32 = 0x424D_5256  // "BMRV"

    /// Bit 0: keyframe. Bit 1: part 0 has parameter sets. Version 2 only: bit 2, of a part: it is a retransmission. Bit
    /// 3: nothing refers to this frame. Bit 4: nothing refers to the frame before this one (its number less 1). Unknown
    /// bits are accepted.
    package struct Flags: OptionSet, Hashable, Sendable {
        package var rawValue: UInt16

        package init(rawValue: UInt16) { self.rawValue = rawValue }

        package static let keyframe = Flags(rawValue: 1 << 0)
        package static let parameterSets = Flags(rawValue: 1 << 1)
        static let sentAgain = Flags(rawValue: 1 << 2)
        package static let disposable = Flags(rawValue: 1 << 3)
        static let afterDisposable = Flags(rawValue: 1 << 4)
        /// The flags that say which frames are disposable.
        static let temporal: Flags = [.disposable, .afterDisposable]
    }

    /// `StageTimes` in units of 10 µs; 65535 means that or longer.
    package struct Stages: Hashable, Sendable {
        package var waited: UInt16
        package var encode: UInt16

        private static let unit = Duration.microseconds(10)

        init(waited: UInt16, encode: UInt16) {
            self.waited = waited
            self.encode = encode
        }

        init(_ times: StageTimes) {
            func units(_ time: Duration) -> UInt16 { UInt16(clamping: time.inNanoseconds / Self.unit.inNanoseconds) }
            self.init(waited: units(times.waited), encode: units(times.encode))
        }

        package var times: StageTimes {
            StageTimes(waited: Self.unit * Int(waited), encode: Self.unit * Int(encode))
        }
    }

    /// The fields that all parts of a frame share.
    package struct Frame: Hashable, Sendable {
        package var partCount: UInt16
        package var flags: Flags
        /// The set bits of `Flags.temporal`. Empty in version 1, where these bits are unknown and stay in `flags`.
        var temporalFlags: Flags = []
        package var width: UInt16
        package var height: UInt16
        /// When the screen looked like this, on the host's clock. Nil for a repeated picture, and in version 1, which
        /// doesn't say.
        package var captureTime: MediaTime?
        /// The time spent in the host's stages. Nil where there is no capture time.
        package var stages: Stages?
        /// The simulcast layer. Each layer numbers its own frames. 0 in version 1.
        package var layer: UInt8 = 0

        package init(
            partCount: UInt16, flags: Flags, temporalFlags: Flags = [], width: UInt16, height: UInt16,
            captureTime: MediaTime? = nil, stages: Stages? = nil, layer: UInt8 = 0
        ) {
            self.partCount = partCount
            self.flags = flags
            self.temporalFlags = temporalFlags
            self.width = width
            self.height = height
            self.captureTime = captureTime
            self.stages = stages
            self.layer = layer
        }

        /// Decoding can start here: an IDR picture with its parameter sets.
        package var isStart: Bool { flags.isSuperset(of: [.keyframe, .parameterSets]) }
        /// Nothing refers to this frame, so it may be skipped. A keyframe is never disposable, whatever its flags say.
        package var isDisposable: Bool { temporalFlags.contains(.disposable) && !flags.contains(.keyframe) }
        /// The frame before this one is disposable, so this one doesn't need it. Tells a viewer so if nothing of that
        /// frame has arrived.
        package var isAfterDisposable: Bool { temporalFlags.contains(.afterDisposable) }
        package var size: PixelSize { PixelSize(width: Int(width), height: Int(height)) }
    }

    package var sequence: SequenceNumber
    package var part: UInt16
    package var frame: Frame
    /// Version 2: this part is a retransmission.
    package var isSentAgain = false
    /// The length in bytes of the parameter-set block that follows the header.
    var configLength: UInt16

    /// Writes the header at the start of `bytes`.
    package func write(to bytes: UnsafeMutableRawBufferPointer, as form: MediaForm) {
        var writer = BigEndianWriter(bytes)
        switch form {
        case .version1:
            writer.write(Self.magic)
            writer.write(sequence.value)
            writer.write(part)
            writer.write(frame.partCount)
            writer.write(frame.flags.rawValue)
            writer.write(frame.width)
            writer.write(frame.height)
            writer.write(configLength)
        case .version2:
            writer.write(sequence.value)
            writer.write(part)
            writer.write(frame.partCount)
            let flags = frame.flags.union(frame.temporalFlags).union(isSentAgain ? .sentAgain : [])
            writer.write(UInt8(truncatingIfNeeded: flags.rawValue))
            writer.write(frame.layer)
            writer.write(frame.width)
            writer.write(frame.height)
            writer.write(configLength)
            writer.write((frame.captureTime ?? .zero).microseconds)
            writer.write(frame.stages?.waited ?? 0)
            writer.write(frame.stages?.encode ?? 0)
        }
    }
}

extension MediaHeader {
    package enum Failure: Error {
        case truncated
        case magic
        case captureTime(UInt64)
    }

    /// Reads what `write` writes.
    init(_ bytes: UnsafeRawBufferPointer, as form: MediaForm) throws(Failure) {
        var reader = BigEndianReader(bytes)
        switch form {
        case .version1:
            guard let magic: UInt32 = reader.integer() else { throw .truncated }
            guard magic == Self.magic else { throw .magic }
            guard let sequence: UInt32 = reader.integer(), let part: UInt16 = reader.integer(),
                let partCount: UInt16 = reader.integer(), let flags: UInt16 = reader.integer(),
                let width: UInt16 = reader.integer(), let height: UInt16 = reader.integer(),
                let configLength: UInt16 = reader.integer()
            else { throw .truncated }
            let frame = Frame(partCount: partCount, flags: Flags(rawValue: flags), width: width, height: height)
            self.init(
                sequence: SequenceNumber(sequence), part: part, frame: frame, configLength: configLength)
        case .version2:
            guard let sequence: UInt32 = reader.integer(), let part: UInt16 = reader.integer(),
                let partCount: UInt16 = reader.integer(), let flagBits: UInt8 = reader.integer(),
                let layer: UInt8 = reader.integer(), let width: UInt16 = reader.integer(),
                let height: UInt16 = reader.integer(), let configLength: UInt16 = reader.integer(),
                let microseconds: UInt64 = reader.integer(), let waited: UInt16 = reader.integer(),
                let encode: UInt16 = reader.integer()
            else { throw .truncated }
            guard let captureTime = MediaTime(microseconds: microseconds) else { throw .captureTime(microseconds) }
            // 0 marks a repeated picture.
            let isNew = microseconds != 0
            let flags = Flags(rawValue: UInt16(flagBits))
            let frame = Frame(
                partCount: partCount, flags: flags.subtracting(.temporal.union(.sentAgain)),
                temporalFlags: flags.intersection(.temporal), width: width, height: height,
                captureTime: isNew ? captureTime : nil,
                stages: isNew ? Stages(waited: waited, encode: encode) : nil, layer: layer)
            self.init(
                sequence: SequenceNumber(sequence), part: part, frame: frame,
                isSentAgain: flags.contains(.sentAgain), configLength: configLength)
        }
    }
}

package enum MediaDatagramError: Error, Hashable, CustomStringConvertible {
    case length(Int)
    case magic
    case part(UInt16, of: UInt16)
    case tooManyParts(UInt16)
    case size(width: UInt16, height: UInt16)
    case parameterSets
    case configLength(Int)
    case emptyPart
    case captureTime(UInt64)

    package var description: String {
        switch self {
        case .length(let length): "a media datagram of \(length) bytes"
        case .magic: "a datagram that doesn't begin with BMRV"
        case .part(let part, let count): "part \(part) of a frame of \(count) parts"
        case .tooManyParts(let count): "a frame of \(count) parts, larger than any screen's"
        case .size(let width, let height): "a picture of \(width) × \(height) pixels"
        case .parameterSets: "parameter sets that don't belong to a keyframe, or a keyframe whose sets are missing"
        case .configLength(let length): "\(length) bytes of parameter sets, more than the datagram holds"
        case .emptyPart: "a part without content"
        case .captureTime(let time): "a frame captured \(time) µs after the clock's start"
        }
    }
}

/// A parsed datagram: its header, and views of its content.
package struct MediaDatagram {
    package let form: MediaForm
    package let header: MediaHeader
    /// The parameter-set block; empty except in part 0 of a keyframe.
    package let config: UnsafeRawBufferPointer
    /// The part's AVCC bytes.
    package let payload: UnsafeRawBufferPointer
    /// The datagram's length on the wire in bytes.
    package let wireLength: Int

    /// A view of a version 1 datagram, valid as long as `bytes`. Nothing is copied.
    package init(_ bytes: UnsafeRawBufferPointer) throws(MediaDatagramError) {
        try self.init(bytes, form: .version1)
    }

    /// A view of a version 2 datagram's plaintext, valid as long as `plaintext`. Nothing is copied.
    package init(version2 plaintext: UnsafeRawBufferPointer) throws(MediaDatagramError) {
        try self.init(plaintext, form: .version2)
    }

    private init(_ bytes: UnsafeRawBufferPointer, form: MediaForm) throws(MediaDatagramError) {
        let sealing = form.prefixLength + form.suffixLength
        guard bytes.count >= form.headerLength, bytes.count <= MediaLimits.receivedDatagramLength - sealing else {
            throw .length(bytes.count)
        }
        do throws(MediaHeader.Failure) {
            header = try MediaHeader(bytes, as: form)
        } catch {
            switch error {
            case .truncated: throw .length(bytes.count)
            case .magic: throw .magic
            case .captureTime(let time): throw .captureTime(time)
            }
        }
        self.form = form
        wireLength = bytes.count + sealing

        let frame = header.frame
        guard header.part < frame.partCount else { throw .part(header.part, of: frame.partCount) }
        guard Int(frame.partCount) <= form.longestPartCount else { throw .tooManyParts(frame.partCount) }
        guard frame.width > 0, frame.height > 0 else { throw .size(width: frame.width, height: frame.height) }
        let hasConfig = header.configLength > 0
        let mayHaveConfig = frame.isStart && header.part == 0
        guard hasConfig == mayHaveConfig, frame.flags.contains(.keyframe) || !frame.flags.contains(.parameterSets)
        else { throw .parameterSets }
        let payloadStart = form.headerLength + Int(header.configLength)
        guard payloadStart <= bytes.count else { throw .configLength(Int(header.configLength)) }
        config = UnsafeRawBufferPointer(rebasing: bytes[form.headerLength..<payloadStart])
        payload = UnsafeRawBufferPointer(rebasing: bytes[payloadStart...])
        // Only a parameter-set block can leave no room for AVCC bytes.
        guard !payload.isEmpty || (hasConfig && frame.partCount > 1) else { throw .emptyPart }
    }
}
