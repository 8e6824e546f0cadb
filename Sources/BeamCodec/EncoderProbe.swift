import BeamLibAV
import BeamMedia
import CAVCodec

/// Which encoders work on this machine.
enum EncoderProbe {
    /// The H.264 encoders that really open, the standard one first; found out once.
    static let working: [String] = {
        _ = LibAV.quietened
        var names: [String] = []
        var iterator: UnsafeMutableRawPointer?
        while let codec = av_codec_iterate(&iterator) {
            guard codec.pointee.id == AV_CODEC_ID_H264, av_codec_is_encoder(codec) != 0, opens(codec) else { continue }
            names.append(String(cString: codec.pointee.name))
        }
        return names.filter { $0 == OpenedEncoder.standardName } + names.filter { $0 != OpenedEncoder.standardName }
    }()

    private static func opens(_ codec: UnsafePointer<AVCodec>) -> Bool {
        guard let format = OpenedEncoder.InputFormat(codec) else { return false }
        // Hardware has a least size; this is above all known ones.
        let settings = EncoderSettings(size: PixelSize(width: 640, height: 360), frameRate: 30)
        let opened = try? OpenedEncoder(codec, name: String(cString: codec.pointee.name), format: format, settings)
        return opened != nil
    }
}
