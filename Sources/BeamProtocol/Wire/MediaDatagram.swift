import BeamMedia

/// A media datagram's header: 20 bytes, big-endian.
///
/// `"BMRV"`, u32 seq, u16 part, u16 parts, u16 flags, u16 width, u16 height, u16 length of the parameter-set block.
struct MediaHeader: Hashable, Sendable {
    static let length = 20
    static let magic: UInt32 = 0x424D_5256  // "BMRV"

    /// Bit 0: keyframe. Bit 1: parameter sets stand in part 0. The others are unknown, and let through.
    struct Flags: OptionSet, Hashable, Sendable {
        var rawValue: UInt16
        static let keyframe = Flags(rawValue: 1 << 0)
        static let parameterSets = Flags(rawValue: 1 << 1)
    }

    /// What all parts of a frame have in common.
    struct Frame: Hashable, Sendable {
        var partCount: UInt16
        var flags: Flags
        var width: UInt16
        var height: UInt16

        /// Decoding can start here: an IDR picture that brings its parameter sets.
        var isStart: Bool { flags.isSuperset(of: [.keyframe, .parameterSets]) }
        var size: PixelSize { PixelSize(width: Int(width), height: Int(height)) }
    }

    var sequence: SequenceNumber
    var part: UInt16
    var frame: Frame
    /// Of the parameter-set block that follows the header, in bytes.
    var configLength: UInt16

    /// Writes the header at the start of `bytes`, which has room for it.
    func write(to bytes: UnsafeMutableRawBufferPointer) {
        func store(_ value: some FixedWidthInteger, _ offset: Int) {
            bytes.storeBytes(of: value.bigEndian, toByteOffset: offset, as: type(of: value))
        }
        store(Self.magic, 0)
        store(sequence.value, 4)
        store(part, 8)
        store(frame.partCount, 10)
        store(frame.flags.rawValue, 12)
        store(frame.width, 14)
        store(frame.height, 16)
        store(configLength, 18)
    }
}

/// What is wrong with a datagram.
enum MediaDatagramError: Error, Hashable, CustomStringConvertible {
    case length(Int)
    case magic
    case part(UInt16, of: UInt16)
    case tooManyParts(UInt16)
    case size(width: UInt16, height: UInt16)
    case parameterSets
    case configLength(Int)
    case emptyPart

    var description: String {
        switch self {
        case .length(let length): "a media datagram of \(length) bytes"
        case .magic: "a datagram that doesn't begin with BMRV"
        case .part(let part, let count): "part \(part) of a frame of \(count) parts"
        case .tooManyParts(let count): "a frame of \(count) parts, larger than any screen's"
        case .size(let width, let height): "a picture of \(width) × \(height) pixels"
        case .parameterSets: "parameter sets that don't belong to a keyframe, or a keyframe whose sets are missing"
        case .configLength(let length): "\(length) bytes of parameter sets, more than the datagram holds"
        case .emptyPart: "a part without content"
        }
    }
}

/// A datagram that has been looked at: its header, and where its bytes are.
struct MediaDatagram {
    var header: MediaHeader
    /// The parameter-set block; empty in every part but part 0 of a keyframe.
    var config: UnsafeRawBufferPointer
    /// The part's AVCC bytes.
    var payload: UnsafeRawBufferPointer

    /// A view of `bytes`, valid as long as they are. Nothing is copied.
    init(_ bytes: UnsafeRawBufferPointer) throws(MediaDatagramError) {
        guard bytes.count >= MediaHeader.length, bytes.count <= MediaLimits.receivedDatagramLength else {
            throw .length(bytes.count)
        }
        func load<Value: FixedWidthInteger & BitwiseCopyable>(_ type: Value.Type, _ offset: Int) -> Value {
            Value(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: type))
        }
        guard load(UInt32.self, 0) == MediaHeader.magic else { throw .magic }
        let frame = MediaHeader.Frame(
            partCount: load(UInt16.self, 10), flags: MediaHeader.Flags(rawValue: load(UInt16.self, 12)),
            width: load(UInt16.self, 14), height: load(UInt16.self, 16))
        header = MediaHeader(
            sequence: SequenceNumber(load(UInt32.self, 4)), part: load(UInt16.self, 8), frame: frame,
            configLength: load(UInt16.self, 18))

        guard header.part < frame.partCount else { throw .part(header.part, of: frame.partCount) }
        guard Int(frame.partCount) * Fragmenter.payloadLength <= MediaLimits.frameLength else {
            throw .tooManyParts(frame.partCount)
        }
        guard frame.width > 0, frame.height > 0 else { throw .size(width: frame.width, height: frame.height) }
        let hasConfig = header.configLength > 0
        let mayHaveConfig = frame.isStart && header.part == 0
        guard hasConfig == mayHaveConfig, frame.flags.contains(.keyframe) || !frame.flags.contains(.parameterSets)
        else { throw .parameterSets }
        let payloadStart = MediaHeader.length + Int(header.configLength)
        guard payloadStart <= bytes.count else { throw .configLength(Int(header.configLength)) }
        config = UnsafeRawBufferPointer(rebasing: bytes[MediaHeader.length..<payloadStart])
        payload = UnsafeRawBufferPointer(rebasing: bytes[payloadStart...])
        // Only a block of parameter sets can leave no room for AVCC bytes.
        guard !payload.isEmpty || (hasConfig && frame.partCount > 1) else { throw .emptyPart }
    }
}
