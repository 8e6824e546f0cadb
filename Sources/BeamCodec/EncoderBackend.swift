import BeamMedia

/// A library's way from pictures to H.264. Used by one thread.
protocol EncoderBackend: AnyObject {
    /// The encoder's name, as libavcodec has it.
    var name: String { get }

    /// Bounds the rate to so many bits a second, from the next picture on; `isPathBound`: that is what the path carries, so that
    /// each larger frame makes those after it wait.
    func setRate(_ bitRate: Int, isPathBound: Bool)

    /// The last frame's quantiser (H.264's QP, 0…51); nil where it isn't known.
    var lastQuantiser: Int? { get }

    /// Whether it can make frames that nothing later refers to.
    var supportsTemporalLayers: Bool { get }

    /// Every other frame is one that nothing later refers to, from the next picture on.
    var usesTemporalLayers: Bool { get set }

    /// Codes `picture` (of the settings' chroma and size), as a keyframe where asked. Nil only from an encoder that delays frames.
    /// The frame's capture time is its picture's time.
    func encode(_ picture: Picture, keyframe: Bool) throws(CodecError) -> EncodedFrame?

    /// Whether nothing would be won by coding the last picture again.
    var isRefined: Bool { get }

    /// Codes the last picture again, better, in at most about `budget` bits; nil when that isn't worth it, or not possible.
    func refine(_ picture: Picture, budget: Int?) throws(CodecError) -> EncodedFrame?
}

extension EncoderBackend {
    var lastQuantiser: Int? { nil }
    var supportsTemporalLayers: Bool { false }
    var usesTemporalLayers: Bool {
        get { false }
        // Goes on without.
        set {}
    }
    var isRefined: Bool { true }
    func refine(_ picture: Picture, budget: Int?) throws(CodecError) -> EncodedFrame? { nil }
}
