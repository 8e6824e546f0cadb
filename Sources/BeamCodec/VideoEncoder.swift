import BeamLibAV
import BeamMedia

/// Encodes H.264: Main profile (High 4:4:4 Predictive for full colour), no B-frames, BT.709 limited range and signalled
/// so, without delay.
///
/// Keyframes are made on request and at the start, never otherwise. Used by one thread.
///
/// libx264 is used directly, every other encoder through libavcodec. libx264 codes at constant quality within the rate
/// limit, averaged over half a second: a still picture takes next to nothing, motion takes what the rate allows. Other
/// encoders use their own rate control at that rate.
public final class VideoEncoder {
    /// The name of the encoder that works on all machines: libx264.
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
        // Only libx264 is known to code full colour everywhere.
        let name =
            settings.name ?? (settings.chroma == .full ? Self.standardName : EncoderProbe.preferred(for: settings))
        if settings.chroma == .full, name != Self.standardName { throw .noFullColour(name: name) }
        named.name = name
        backend = try Self.open(named, isNamed: settings.name != nil)
        rate = (settings.boundedBitRate, false)
    }

    /// Opens the encoder. A device's encoder that wasn't named in the options is replaced by libx264 if it doesn't open
    /// (any more, or at this size).
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

    /// The preferred encoder has failed: prefer libx264 from now on.
    public static func giveUpPreferred() { EncoderProbe.giveUpPreferred() }

    /// The name of the encoder in use, in libavcodec.
    public var name: String { backend.name }

    /// The H.264 encoders that open on this machine, by libavcodec's names, libx264 first. Opens each one, once.
    public static func workingEncoders() -> [String] {
        [X264Encoder.standardName] + EncoderProbe.working.filter { $0 != X264Encoder.standardName }
    }

    /// Sets the rate limit in bits a second. libx264 follows from the next picture on. An encoder of libavcodec that
    /// can't change its rate is reopened with its next keyframe, or, if the rate falls much, at once with a keyframe.
    ///
    /// `isPathBound`: the path limits the rate, so frames have to be small: at most about 0.1 s of the rate (0.22 s for
    /// a keyframe). Otherwise half a second's worth may be sent at once.
    public func setRate(_ bitRate: Int, isPathBound: Bool) {
        let wanted = (bitRate: EncoderSettings.bounded(bitRate), isPathBound: isPathBound)
        guard wanted != rate else { return }
        rate = wanted
        backend.setRate(wanted.bitRate, isPathBound: isPathBound)
    }

    private var rate: (bitRate: Int, isPathBound: Bool)

    /// Whether `usesTemporalLayers` has an effect: with libx264 only, because libavcodec has no common interface for
    /// it.
    public var supportsTemporalLayers: Bool { backend.supportsTemporalLayers }

    /// Make every other frame disposable (`AccessUnit.isDisposable`), without reordering or delay, from the next
    /// picture on. Both changes take effect without a keyframe. Keyframes and `refine`'s frames are never disposable.
    ///
    /// Costs bits and time: what a disposable frame changed is coded again in the next frame, which refers two frames
    /// back and for which libx264 analyses the whole picture. Encoders that don't support it ignore it.
    public var usesTemporalLayers: Bool {
        get { backend.usesTemporalLayers }
        set { backend.usesTemporalLayers = newValue }
    }

    /// The last frame's quantiser (QP, 0…51; +6 doubles the step); nil if the encoder doesn't say.
    public var lastQuantiser: Int? { backend.lastQuantiser }

    /// Codes `picture` (i420, or i444 for full colour, of the settings' size, BT.709 limited), as a keyframe if
    /// requested.
    ///
    /// Returns the frame at once, with the picture's time as its capture time. Only an encoder that delays frames (some
    /// hardware does) returns nil, and the frame from a later call. Such an encoder may read the picture until its
    /// buffer is released; libx264 has copied it on return.
    ///
    /// libx264 codes only what `picture.damage` covers, which has to be everything that differs from the picture coded
    /// before: unite the damage of skipped pictures (`Picture.replacing`).
    ///
    /// - Parameter isSeen: Those who get the frame see its changes already, by exact patches. libx264 codes it well enough
    ///   for a viewer that has missed them, and improves nothing else that is legible. Other encoders ignore it.
    public func encode(_ picture: Picture, keyframe: Bool, isSeen: Bool = false) throws(CodecError) -> EncodedFrame? {
        try check(picture)
        return try backend.encode(picture, keyframe: keyframe, isSeen: isSeen)
    }

    /// Whether the last picture has its final quality, so that `refine` has nothing to do. Always true of encoders
    /// other than libx264.
    public var isRefined: Bool { backend.isRefined }

    /// Refines the picture that was encoded last: codes a frame that refers to the last one and changes only what isn't
    /// visually lossless yet. For a screen at rest: call it 50 to 100 ms after the last change, and again every few
    /// frame intervals until `isRefined`.
    ///
    /// - Parameters:
    ///   - picture: The last picture, the same pixels. Its time becomes the frame's capture time; its damage is ignored.
    ///   - budget: The frame's size in bits, approximately; nil: a share of what the bit rate leaves at this time.
    /// - Returns: Nil if nothing is left to do (`isRefined`), if the bit rate has no room at this time, and always for
    ///   an encoder other than libx264.
    public func refine(_ picture: Picture, budget: Int? = nil) throws(CodecError) -> EncodedFrame? {
        try check(picture)
        return try backend.refine(picture, budget: budget)
    }

    /// Codes the picture that was encoded last once more, as a frame that changes nothing: some tens of bytes with libx264.
    /// It isn't refined, and no rate control takes it for a change.
    ///
    /// - Parameter picture: The last picture, the same pixels. Its time becomes the frame's capture time; its damage is
    ///   ignored.
    /// - Returns: Nil if an encoder delays frames.
    public func encodeAgain(_ picture: Picture) throws(CodecError) -> EncodedFrame? {
        try check(picture)
        var picture = picture
        picture.damage = DamageRegion()
        return try backend.encodeAgain(picture)
    }

    private func check(_ picture: Picture) throws(CodecError) {
        let format = settings.chroma.pixelFormat
        guard picture.format == format, picture.size == settings.size else {
            throw .unexpectedPicture(
                "\(picture.format) of \(picture.size), where \(format) of \(settings.size) is coded")
        }
    }
}
