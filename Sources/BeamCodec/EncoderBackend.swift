import BeamMedia

/// An encoder library behind `VideoEncoder`. Used by one thread.
protocol EncoderBackend: AnyObject {
    /// The encoder's name in libavcodec.
    var name: String { get }

    /// Sets the rate limit in bits a second, from the next picture on. `isPathBound`: the path limits the rate, so a
    /// large frame delays those after it.
    func setRate(_ bitRate: Int, isPathBound: Bool)

    /// The last frame's quantiser (QP, 0…51); nil if unknown.
    var lastQuantiser: Int? { get }

    /// Whether it can make disposable frames.
    var supportsTemporalLayers: Bool { get }

    /// Make every other frame disposable, from the next picture on.
    var usesTemporalLayers: Bool { get set }

    /// Codes `picture` (of the settings' chroma and size), as a keyframe if requested. Returns nil only from an encoder
    /// that delays frames. The frame's capture time is its picture's time. `isSeen`: those who get the frame see its
    /// changes already.
    func encode(_ picture: Picture, keyframe: Bool, isSeen: Bool) throws(CodecError) -> EncodedFrame?

    /// Codes the last picture again, in a frame that changes nothing. Its damage is empty.
    func encodeAgain(_ picture: Picture) throws(CodecError) -> EncodedFrame?

    /// Whether coding the last picture again would gain nothing.
    var isRefined: Bool { get }

    /// Codes the last picture again, better, in about `budget` bits at most; nil if that isn't worthwhile or possible.
    func refine(_ picture: Picture, budget: Int?) throws(CodecError) -> EncodedFrame?
}

extension EncoderBackend {
    var lastQuantiser: Int? { nil }
    var supportsTemporalLayers: Bool { false }
    var usesTemporalLayers: Bool {
        get { false }
        // Not supported: ignored.
        set {}
    }
    func encode(_ picture: Picture, keyframe: Bool) throws(CodecError) -> EncodedFrame? {
        try encode(picture, keyframe: keyframe, isSeen: false)
    }
    func encodeAgain(_ picture: Picture) throws(CodecError) -> EncodedFrame? { try encode(picture, keyframe: false) }
    var isRefined: Bool { true }
    func refine(_ picture: Picture, budget: Int?) throws(CodecError) -> EncodedFrame? { nil }
}
