import BeamMedia
import CPulse

/// How samples are exchanged with a server: as blocks have them.
enum PulseFormat {
    /// Bytes of one sample in all channels.
    static let frameSize = SoundBlock.channelCount * MemoryLayout<Float>.size

    static var specification: pa_sample_spec {
        pa_sample_spec(
            format: beam_pulse_float, rate: UInt32(SoundBlock.sampleRate), channels: UInt8(SoundBlock.channelCount))
    }

    /// Bytes of a sound of this length.
    static func bytes(of duration: Duration) -> UInt32 {
        let samples = duration.inNanoseconds * Int64(SoundBlock.sampleRate) / 1_000_000_000
        return UInt32(clamping: samples * Int64(frameSize))
    }
}
