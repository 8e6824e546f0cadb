import BeamLibAV
import BeamMedia
import CAVCodec
import Synchronization

/// Which encoders work on this machine.
enum EncoderProbe {
    /// The H.264 encoders that really open, the standard one first; found out once.
    static let working: [String] = {
        guard LibAV.codecProblem == nil else { return [] }
        _ = LibAV.quietened
        var names: [String] = []
        var iterator: UnsafeMutableRawPointer?
        while let codec = av_codec_iterate(&iterator) {
            guard codec.pointee.id == AV_CODEC_ID_H264, av_codec_is_encoder(codec) != 0, opens(codec) else { continue }
            names.append(String(cString: codec.pointee.name))
        }
        return names.filter { $0 == OpenedEncoder.standardName } + names.filter { $0 != OpenedEncoder.standardName }
    }()

    private static let preference = Mutex(EncoderPreference())

    /// The encoder for a stream for which nobody has named one: a device's where one is there and codes pictures of this size
    /// quicker than libx264 does, else libx264.
    ///
    /// Tried once, for the first stream: at most half a second where there is a device, no time at all where there is none.
    static func preferred(for settings: EncoderSettings) -> String {
        preference.withLock { $0.name(for: settings, trial: .standard) }
    }

    /// The encoder that was preferred has failed: from here on it is libx264.
    static func giveUpPreferred() { preference.withLock { $0.giveUp() } }

    private static func opens(_ codec: UnsafePointer<AVCodec>) -> Bool {
        guard let format = OpenedEncoder.InputFormat(codec) else { return false }
        // Hardware has a least size; this is above all known ones.
        let settings = EncoderSettings(size: PixelSize(width: 640, height: 360), frameRate: 30)
        let opened = try? OpenedEncoder(codec, name: String(cString: codec.pointee.name), format: format, settings)
        return opened != nil
    }
}

/// A choice that is made once: a stream that changes its size must not stand still for another trial.
struct EncoderPreference {
    private var chosen: String?

    mutating func name(for settings: EncoderSettings, trial: EncoderTrial) -> String {
        let name = chosen ?? trial.choose(for: settings)
        chosen = name
        return name
    }

    mutating func giveUp() { chosen = OpenedEncoder.standardName }
}
