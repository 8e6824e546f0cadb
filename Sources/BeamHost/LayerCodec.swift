import BeamCodec
import BeamMedia

/// The converter and the encoder of one simulcast layer. libx264 replaces a device's encoder that fails. Used by the
/// encode stage's thread only.
struct LayerCodec {
    /// What the next frame is coded for.
    struct Aim {
        /// In bits a second.
        var rate: Int
        /// The path limits the rate (`VideoEncoder.setRate`).
        var isPathBound: Bool
        var wantsTemporalLayers: Bool
    }

    private var settings: EncodeStage.Settings
    private var encoder: VideoEncoder?
    private var converter: PictureConverter?
    /// The named encoder has failed, and is being replaced.
    private let onFallback: @Sendable (String, CodecError) -> Void

    init(
        _ settings: EncodeStage.Settings, encoder: VideoEncoder?,
        onFallback: @escaping @Sendable (String, CodecError) -> Void
    ) {
        self.settings = settings
        self.encoder = encoder
        self.onFallback = onFallback
    }

    var isOpen: Bool { encoder != nil }
    /// The size for which the encoder is open; nil: it isn't.
    var size: PixelSize? { encoder?.settings.size }
    var name: String? { encoder?.name }
    /// As `VideoEncoder.lastQuantiser`.
    var lastQuantiser: Int? { encoder?.lastQuantiser }
    /// As `VideoEncoder.isRefined`; false if no encoder is open.
    var isRefined: Bool { encoder?.isRefined ?? false }

    /// Opens an encoder for pictures of `size`, unless the present one has that size.
    mutating func open(_ size: PixelSize) throws(CodecError) {
        guard self.size != size else { return }
        // Close the old one first, to save memory.
        encoder = nil
        encoder = try VideoEncoder(settings.encoderSettings(for: size))
    }

    mutating func close() { (encoder, converter) = (nil, nil) }

    /// The picture as the encoder takes it.
    mutating func convert(_ picture: Picture, to size: PixelSize) throws(CodecError) -> Picture {
        let converter = self.converter ?? PictureConverter(settings.chroma)
        self.converter = converter
        return try converter.convert(picture, to: size)
    }

    // MARK: Frames, of pictures that are converted. Nil if no encoder is open, or as `VideoEncoder` says.

    /// - Parameter isSeen: All who get the frame see its changes already (`VideoEncoder.encode`).
    mutating func encode(
        _ picture: Picture, keyframe: Bool, isSeen: Bool, _ aim: Aim
    ) throws(CodecError) -> EncodedFrame? {
        try code(picture, aim) { encoder, picture throws(CodecError) in
            encoder.usesTemporalLayers = aim.wantsTemporalLayers
            return try encoder.encode(picture, keyframe: keyframe, isSeen: isSeen)
        }
    }

    /// Refines the last picture (`VideoEncoder.refine`).
    mutating func refine(_ picture: Picture, _ aim: Aim) throws(CodecError) -> EncodedFrame? {
        try code(picture, aim) { encoder, picture throws(CodecError) in try encoder.refine(picture) }
    }

    /// Codes the last picture once more (`VideoEncoder.encodeAgain`).
    mutating func encodeAgain(_ picture: Picture, _ aim: Aim) throws(CodecError) -> EncodedFrame? {
        try code(picture, aim) { encoder, picture throws(CodecError) in try encoder.encodeAgain(picture) }
    }

    /// The frame that `body` codes. If a device's encoder fails, libx264 replaces it and begins with a keyframe.
    private mutating func code(
        _ picture: Picture, _ aim: Aim, _ body: (VideoEncoder, Picture) throws(CodecError) -> EncodedFrame?
    ) throws(CodecError) -> EncodedFrame? {
        guard let encoder else { return nil }
        encoder.setRate(aim.rate, isPathBound: aim.isPathBound)
        do throws(CodecError) {
            return try body(encoder, picture)
        } catch {
            guard encoder.name != VideoEncoder.standardName else { throw error }
            onFallback(encoder.name, error)
            VideoEncoder.giveUpPreferred()
            settings.encoder = VideoEncoder.standardName
            let replacement = try VideoEncoder(settings.encoderSettings(for: picture.size))
            replacement.setRate(aim.rate, isPathBound: aim.isPathBound)
            replacement.usesTemporalLayers = aim.wantsTemporalLayers
            self.encoder = replacement
            return try body(replacement, picture)
        }
    }
}
