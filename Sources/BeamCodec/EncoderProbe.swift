import BeamLibAV
import BeamMedia
import CAVCodec
import Synchronization

/// Finds out which encoders work on this machine.
enum EncoderProbe {
    /// The H.264 encoders that open, libx264 first; determined once.
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

    /// The encoder for a stream whose options name none: a device's, if it codes pictures of this size faster than
    /// libx264, else libx264.
    ///
    /// Tried once, for the first stream. Takes at most half a second, and no time without a device.
    static func preferred(for settings: EncoderSettings) -> String {
        preference.withLock { $0.name(for: settings, trial: .standard) }
    }

    /// The preferred encoder has failed: prefer libx264 from now on.
    static func giveUpPreferred() { preference.withLock { $0.giveUp() } }

    private static func opens(_ codec: UnsafePointer<AVCodec>) -> Bool {
        guard let format = OpenedEncoder.InputFormat(codec) else { return false }
        // Hardware encoders have a least size; this is above all known ones.
        let settings = EncoderSettings(size: PixelSize(width: 640, height: 360), frameRate: 30)
        let opened = try? OpenedEncoder(codec, name: String(cString: codec.pointee.name), format: format, settings)
        return opened != nil
    }
}

/// A choice that is made once, so that a stream doesn't stop for another trial when its size changes.
struct EncoderPreference {
    private var chosen: String?

    mutating func name(for settings: EncoderSettings, trial: EncoderTrial) -> String {
        let name = chosen ?? trial.choose(for: settings)
        chosen = name
        return name
    }

    mutating func giveUp() { chosen = OpenedEncoder.standardName }
}
