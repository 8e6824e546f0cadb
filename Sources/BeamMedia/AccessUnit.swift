/// One encoded frame: H.264 NAL units in AVCC form (ISO/IEC 14496-15: a 4-byte big-endian length before each).
///
/// Parameter sets stand beside the bytes, not in them.
public struct AccessUnit: Sendable, Equatable {
    /// Where a frame's time went on the host.
    public struct StageTimes: Sendable, Hashable {
        /// From the capture time to the start of encoding.
        public var waited: Duration
        /// From there until the frame was handed to the session.
        public var encode: Duration

        public init(waited: Duration, encode: Duration) {
            self.waited = waited
            self.encode = encode
        }
    }

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
    /// Set by the host. On a viewer what the host said, in steps of 10 µs and at most 655.35 ms; nil where it doesn't
    /// say, as in version 1 of the wire.
    public var stages: StageTimes?
    /// Set by the host: a picture that was sent before, again or better. Nothing has changed on the screen.
    public var isRepeated = false
    /// Which of the host's streams the frame belongs to (`StreamDemand`): 0, or 1 for the reduced one.
    public var lane = 0
    /// Nothing later refers to this frame: whoever lacks it can decode all the others. Never set on a keyframe. Set by the
    /// encoder (`StreamDemand.wantsTemporalLayers`); on a viewer what the host said.
    public var isDisposable = false
    /// On a viewer: when the first of the frame's parts arrived, as `time` says when the last one did.
    public var firstArrival: MediaTime?

    public init(
        bytes: [UInt8], range: Range<Int>? = nil, isKeyframe: Bool, parameterSets: ParameterSets?, size: PixelSize,
        time: MediaTime, number: UInt32 = 0, captureTime: MediaTime? = nil,
        stages: StageTimes? = nil, firstArrival: MediaTime? = nil
    ) {
        self.bytes = bytes
        self.range = range ?? 0..<bytes.count
        self.isKeyframe = isKeyframe
        self.parameterSets = parameterSets
        self.size = size
        self.time = time
        self.number = number
        self.captureTime = captureTime
        self.stages = stages
        self.firstArrival = firstArrival
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
