/// A coded picture (an access unit, H.264 clause 3.1): its NAL units in AVCC form (ISO/IEC 14496-15: a 4-byte
/// big-endian length before each).
///
/// Parameter sets are separate from the bytes. `EncodedFrame` has what the encoder adds, `ReceivedFrame` what the
/// network adds.
public struct AccessUnit: Sendable, Equatable {
    /// The NAL units are `bytes[range]`.
    public var bytes: [UInt8]
    public var range: Range<Int>
    /// An IDR picture with its parameter sets: decoding can start here.
    public var isKeyframe: Bool
    /// Not nil on a keyframe.
    public var parameterSets: ParameterSets?
    /// The picture's size. The coded size may be larger, by the sequence parameter set's cropping, and for 4:2:0, which
    /// can't code odd sizes, by at most one column and row.
    public var size: PixelSize
    /// Nothing later refers to this picture, so all others can be decoded without it. Never set on a keyframe. The
    /// encoder sets it (`StreamDemand.wantsTemporalLayers`) and marks the slices (`nal_ref_idc` 0, clause 7.4.1); at a
    /// viewer it is what the host says.
    public var isDisposable: Bool

    /// `range` is nil for all of `bytes`.
    public init(
        bytes: [UInt8], range: Range<Int>? = nil, isKeyframe: Bool, parameterSets: ParameterSets?, size: PixelSize,
        isDisposable: Bool = false
    ) {
        self.bytes = bytes
        self.range = range ?? 0..<bytes.count
        self.isKeyframe = isKeyframe
        self.parameterSets = parameterSets
        self.size = size
        self.isDisposable = isDisposable
    }

    /// The NAL units, each with its 4-byte length.
    public var avcc: ArraySlice<UInt8> { bytes[range] }
}
