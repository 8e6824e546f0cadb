import BeamLibAV
import BeamMedia

/// H.264 from pictures: Main profile (High 4:4:4 Predictive for full colour), no B-frames, BT.709 limited range and signalled so,
/// and no frame waits for another.
///
/// Keyframes come when asked for (and at the start), never by themselves. Used by one thread.
///
/// libx264 is driven directly, every other encoder through libavcodec. libx264 codes at constant quality, bounded by the bit
/// rate: what stands still costs next to nothing, what moves gets what the rate allows, measured over half a second. Other
/// encoders follow their own rate control at that rate.
public final class VideoEncoder {
    /// The encoder that works everywhere: libx264.
    public static let standardName = X264Encoder.standardName

    public let settings: EncoderSettings
    private let backend: any EncoderBackend

    /// Opens the encoder.
    ///
    /// - Throws: `unknownEncoder`, `notAnH264Encoder`, `noFullColour`, `encoderDoesNotStart` (each with the encoders that do start here) or
    ///   `unsupportedSize`.
    public init(_ settings: EncoderSettings) throws(CodecError) {
        self.settings = settings
        guard LibAV.isSupported(settings.size) else { throw .unsupportedSize(settings.size) }
        var named = settings
        // Of the encoders only libx264 is known to code full colour everywhere.
        let name =
            settings.name ?? (settings.chroma == .full ? Self.standardName : EncoderProbe.preferred(for: settings))
        if settings.chroma == .full, name != Self.standardName { throw .noFullColour(name: name) }
        named.name = name
        backend = try Self.open(named, isNamed: settings.name != nil)
        rate = (settings.boundedBitRate, false)
    }

    /// A device's encoder that nobody has named gives way to libx264 when it doesn't open (any more, or not at this size).
    private static func open(_ settings: EncoderSettings, isNamed: Bool) throws(CodecError) -> any EncoderBackend {
        guard settings.name != standardName else { return try X264Encoder(settings) }
        do {
            return try LibAVEncoder(settings)
        } catch {
            guard !isNamed else { throw error }
            giveUpPreferred()
            var settings = settings
            settings.name = standardName
            return try X264Encoder(settings)
        }
    }

    /// The encoder that this machine seemed to do best with has failed: from here on it is libx264 where none is named.
    public static func giveUpPreferred() { EncoderProbe.giveUpPreferred() }

    /// The name of the encoder in use, as libavcodec has it.
    public var name: String { backend.name }

    /// The H.264 encoders that start on this machine, by libavcodec's names, libx264 first. Each is really opened, once.
    public static func workingEncoders() -> [String] {
        [X264Encoder.standardName] + EncoderProbe.working.filter { $0 != X264Encoder.standardName }
    }

    /// Another bound in bits a second, at any time. libx264 follows from the next picture on. An encoder of libavcodec that only
    /// follows when it is opened anew is, with its next keyframe, or where the rate falls much, with a keyframe.
    ///
    /// `isPathBound`: the bound is what the path carries, so that frames have to be small: none of about
    /// more than a tenth of a second's worth (a keyframe: a quarter), where otherwise half a second's worth may be sent at once.
    public func setRate(_ bitRate: Int, isPathBound: Bool) {
        let wanted = (bitRate: EncoderSettings.bounded(bitRate), isPathBound: isPathBound)
        guard wanted != rate else { return }
        rate = wanted
        backend.setRate(wanted.bitRate, isPathBound: isPathBound)
    }

    private var rate: (bitRate: Int, isPathBound: Bool)

    /// Whether `usesTemporalLayers` has an effect: libx264 can do it, libavcodec's encoders have no common way to ask for it.
    public var supportsTemporalLayers: Bool { backend.supportsTemporalLayers }

    /// From the next picture on, every other frame is one that nothing later refers to (`AccessUnit.isDisposable`), without
    /// reordering or delay. Takes effect without a keyframe, either way. Keyframes and `refine`'s frames are never disposable.
    ///
    /// Costs bits and time: what a disposable frame changed is coded once more in the frame after it, which refers two frames
    /// back and for which the library looks at the whole picture. Encoders that can't do it go on without, and answer false.
    public var usesTemporalLayers: Bool {
        get { backend.usesTemporalLayers }
        set { backend.usesTemporalLayers = newValue }
    }

    /// The last frame's quantiser (H.264's QP, 0…51: six more double the step); nil for an encoder that doesn't tell.
    public var lastQuantiser: Int? { backend.lastQuantiser }

    /// Codes `picture` (i420, or i444 for full colour, of the size in the settings, BT.709 limited), as a keyframe where asked.
    ///
    /// Returns the frame at once, with the picture's time as its capture time. Only an encoder that delays frames (some hardware does)
    /// returns nil, and the frame from a later call. The picture is the encoder's for reading until its buffer is let go; libx264 has copied it on return.
    ///
    /// libx264 looks at nothing but `picture.damage`, which has to cover what differs from the picture coded before: unite
    /// the damage of pictures that are left out (`Picture.replacing`).
    public func encode(_ picture: Picture, keyframe: Bool) throws(CodecError) -> EncodedFrame? {
        try check(picture)
        return try backend.encode(picture, keyframe: keyframe)
    }

    /// Whether the last picture has arrived as well as it ever will: `refine` has nothing to do. Always true of encoders other
    /// than libx264.
    public var isRefined: Bool { backend.isRefined }

    /// Codes the picture that was encoded last once more, better: a frame that depends on the one before and touches only what
    /// isn't visually lossless yet. For a screen that has come to rest: call it some 50 to 100 ms after the last change, and
    /// again every few frames' time until `isRefined`.
    ///
    /// - Parameters:
    ///   - picture: The last picture, the same pixels; its time becomes the frame's capture time, its damage doesn't matter.
    ///   - budget: About how many bits the frame may have; nil for a share of what the bit rate leaves at this time.
    /// - Returns: Nil when nothing is left to do (`isRefined`), when the bit rate has no room at this time, and always from an
    ///   encoder other than libx264.
    public func refine(_ picture: Picture, budget: Int? = nil) throws(CodecError) -> EncodedFrame? {
        try check(picture)
        return try backend.refine(picture, budget: budget)
    }

    private func check(_ picture: Picture) throws(CodecError) {
        let format = settings.chroma.pixelFormat
        guard picture.format == format, picture.size == settings.size else {
            throw .unexpectedPicture(
                "\(picture.format) of \(picture.size), where \(format) of \(settings.size) is coded")
        }
    }
}
