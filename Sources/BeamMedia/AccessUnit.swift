/// A coded picture (an access unit, H.264 clause 3.1) as a decoder or a file needs it: its NAL units in AVCC form (ISO/IEC 14496-15: a
/// 4-byte big-endian length before each).
///
/// Parameter sets stand beside the bytes, not in them. What the encoder adds is in `EncodedFrame`, what the network adds in
/// `ReceivedFrame`.
public struct AccessUnit: Sendable, Equatable {
    /// The NAL units are `bytes[range]`.
    public var bytes: [UInt8]
    public var range: Range<Int>
    /// An IDR picture: decoding can start here. Carries its parameter sets.
    public var isKeyframe: Bool
    /// Present on every keyframe.
    public var parameterSets: ParameterSets?
    /// The picture's own size. The coded size may be larger, by the sequence parameter set's cropping and by
    /// at most one column and row where the size is odd, which 4:2:0 cannot code.
    public var size: PixelSize
    /// Nothing later refers to this picture: whoever lacks it can decode all the others. Never set on a keyframe. Set by the
    /// encoder (`StreamDemand.wantsTemporalLayers`), whose slices say so, too (`nal_ref_idc` 0, clause 7.4.1); on a viewer what the
    /// host said.
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
