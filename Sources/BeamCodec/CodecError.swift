import BeamMedia

/// Errors of encoding, decoding and the files with either.
public enum CodecError: Error, Equatable, Sendable, CustomStringConvertible {
    /// libavcodec has no encoder with this name. `working` are the H.264 encoders that open on this machine.
    case unknownEncoder(name: String, working: [String])
    /// The encoder doesn't make H.264 from 8-bit 4:2:0 pictures.
    case notAnH264Encoder(name: String, working: [String])
    /// 4:4:4 was requested, and the encoder codes only 4:2:0.
    case noFullColour(name: String)
    /// The encoder exists, but couldn't be opened.
    case encoderDoesNotStart(name: String, size: PixelSize, reason: String, working: [String])
    /// A size that H.264 can't code, or outside BeamRoom's bounds (1…8192 pixels a side).
    case unsupportedSize(PixelSize)
    /// The picture's format or size isn't that of the settings.
    case unexpectedPicture(String)
    case encodingFailed(reason: String)
    /// The scaler or the format converter failed.
    case conversionFailed(reason: String)
    /// libavcodec has no H.264 decoder, or it could not be opened.
    case decoderDoesNotStart(reason: String)
    /// No decoder has this name. `working` are those that open on this machine.
    case unknownDecoder(name: String, working: [String])
    /// The requested device, or any device, can't be opened for decoding.
    case hardwareDecoderDoesNotStart(reason: String, working: [String])
    /// An access unit that is damaged or hostile. Decoding continues at the next keyframe.
    case damagedFrame(reason: String)
    /// The first frame, or the first one after damage, isn't a keyframe.
    case keyframeNeeded
    /// A stream that can be decoded, but not shown here.
    case unsupportedStream(reason: String)
    /// A stream that takes more memory to decode than it may (`StreamBounds`).
    case streamBeyondBounds(reason: String)
    /// The file name's ending isn't a known container's.
    case unknownFileEnding(path: String, known: [String])
    case fileExists(path: String)
    case cannotCreateFile(path: String, reason: String)
    case cannotWriteFile(path: String, reason: String)

    /// A sentence for the person.
    public var description: String {
        switch self {
        case .unknownEncoder(let name, let working):
            "There is no video encoder “\(name)” on this machine. \(Self.offer(working))"
        case .notAnH264Encoder(let name, let working):
            "The encoder “\(name)” doesn't make H.264 video of the kind that viewers take. \(Self.offer(working))"
        case .noFullColour(let name):
            "The encoder “\(name)” can't code full colour (4:4:4). Use --video-encoder libx264, or leave --chroma 444 out."
        case .encoderDoesNotStart(let name, let size, let reason, let working):
            "The video encoder “\(name)” doesn't start for \(size): \(reason). "
                + Self.offer(working.filter { $0 != name })
        case .unsupportedSize(let size):
            "A picture of \(size) can't be coded: each side has to be between 1 and 8192 pixels. "
                + "Choose a smaller part of the screen, or scale it down with --max-size."
        case .unexpectedPicture(let what):
            "The encoder got a picture of the wrong kind: \(what)."
        case .encodingFailed(let reason):
            "The video encoder has failed: \(reason). Name another one with --video-encoder."
        case .conversionFailed(let reason):
            "The picture can't be converted: \(reason)."
        case .decoderDoesNotStart(let reason):
            "The H.264 decoder doesn't start: \(reason). Check the installation of libavcodec."
        case .unknownDecoder(let name, let working):
            "There is no video decoder “\(name)”. Use auto, software, vaapi or vaapi:DEVICE. "
                + Self.offerDecoders(working)
        case .hardwareDecoderDoesNotStart(let reason, let working):
            "The hardware decoder doesn't start: \(reason). \(Self.offerDecoders(working))"
        case .damagedFrame(let reason):
            "A frame is damaged: \(reason)."
        case .keyframeNeeded:
            "The picture can't be decoded before the next keyframe."
        case .unsupportedStream(let reason):
            "The video stream can't be shown: \(reason)."
        case .streamBeyondBounds(let reason):
            "The video stream isn't decoded: \(reason)."
        case .unknownFileEnding(let path, let known):
            "“\(path)” must end in \(known.joined(separator: " or ")), which says what kind of file to write."
        case .fileExists(let path):
            "“\(path)” exists already and is left as it is. Choose another name, or remove it first."
        case .cannotCreateFile(let path, let reason):
            "“\(path)” can't be created: \(reason). Choose another place."
        case .cannotWriteFile(let path, let reason):
            "“\(path)” can't be continued: \(reason). What was written before is kept."
        }
    }

    private static func offerDecoders(_ working: [String]) -> String {
        "These work here: \(working.joined(separator: ", "))."
    }

    private static func offer(_ working: [String]) -> String {
        guard !working.isEmpty else {
            return "No H.264 encoder works here: install libavcodec with libx264 (on Debian, libavcodec-extra)."
        }
        return "These work here: \(working.joined(separator: ", "))."
    }
}
