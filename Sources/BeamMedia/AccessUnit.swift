/// One encoded frame: H.264 NAL units in AVCC form (ISO/IEC 14496-15: a 4-byte big-endian length before each).
///
/// Parameter sets stand beside the bytes, not in them.
public struct AccessUnit: Sendable, Equatable {
    /// The frame's NAL units are `bytes[range]`.
    public var bytes: [UInt8]
    public var range: Range<Int>
    /// An IDR picture: decoding can start here. Carries its parameter sets.
    public var isKeyframe: Bool
    /// Present on every keyframe.
    public var parameterSets: ParameterSets?
    /// The picture's own size. The coded size may be larger, by the sequence parameter set's cropping and by
    /// at most one column and row where the size is odd, which 4:2:0 cannot code.
    public var size: PixelSize
    /// When the screen looked like this; on a viewer, when the frame's last part arrived.
    public var time: MediaTime
    /// The frame's number: the wire's sequence number.
    public var number: UInt32
    /// On a viewer: when the screen looked like this, on this machine's clock, as well as that is known. Nil where the
    /// host doesn't say, as in version 1 of the wire. (The reassembly has it by the host's clock, in whole µs.)
    public var captureTime: MediaTime?

    public init(
        bytes: [UInt8], range: Range<Int>? = nil, isKeyframe: Bool, parameterSets: ParameterSets?, size: PixelSize,
        time: MediaTime, number: UInt32 = 0, captureTime: MediaTime? = nil
    ) {
        self.bytes = bytes
        self.range = range ?? 0..<bytes.count
        self.isKeyframe = isKeyframe
        self.parameterSets = parameterSets
        self.size = size
        self.time = time
        self.number = number
        self.captureTime = captureTime
    }

    /// The NAL units, each with its 4-byte length.
    public var avcc: ArraySlice<UInt8> { bytes[range] }
}

/// H.264 sequence and picture parameter sets: raw NAL units, without start code or length.
public struct ParameterSets: Sendable, Equatable {
    public var sps: [[UInt8]]
    public var pps: [[UInt8]]

    public init(sps: [[UInt8]], pps: [[UInt8]]) {
        self.sps = sps
        self.pps = pps
    }
}
