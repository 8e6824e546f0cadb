import BeamMedia
import CBeamSound
import CLateLibraries
import COpus

/// Decodes the packets of a `SoundEncoder`, and conceals those that are missing. Used by one thread.
///
/// Packets come from the network and may be anything. Samples are in two channels, from -1 to 1.
public final class SoundDecoder {
    /// RFC 6716, 3.2.1: the longest frame.
    private static let mostBytes = 1275

    private let decoder: OpaquePointer

    /// - Throws: `noLibrary`, `noCodec`.
    public init() throws(SoundError) {
        try Opus.load()
        var error: CInt = OPUS_OK
        guard
            let decoder = opus_decoder_create(
                opus_int32(SoundBlock.sampleRate), CInt(SoundBlock.channelCount), &error)
        else { throw .noCodec(reason: Opus.message(error)) }
        self.decoder = decoder
    }

    deinit { opus_decoder_destroy(decoder) }

    /// Decodes a packet of 10 ms.
    ///
    /// - Parameter output: left and right in turn; has room for `SoundBlock.length` × `SoundBlock.channelCount` values.
    /// - Returns: false if the packet is invalid or not of 10 ms; then it has no effect and nothing is written.
    public func decode(_ packet: UnsafeBufferPointer<UInt8>, into output: UnsafeMutablePointer<Float>) -> Bool {
        guard let bytes = packet.baseAddress, (1...Self.mostBytes).contains(packet.count) else { return false }
        let count = opus_int32(packet.count)
        // A packet of one channel gives two equal ones: an encoder does that at low rates.
        guard opus_packet_get_nb_samples(bytes, count, opus_int32(SoundBlock.sampleRate)) == SoundBlock.length,
            opus_decode_float(decoder, bytes, count, output, CInt(SoundBlock.length), 0) == SoundBlock.length
        else { return false }
        beam_sound_clip(output, SoundBlock.length * SoundBlock.channelCount)
        return true
    }

    /// Decodes a packet of 10 ms, as above.
    public func decode(_ packet: [UInt8], into output: UnsafeMutablePointer<Float>) -> Bool {
        packet.withUnsafeBufferPointer { decode($0, into: output) }
    }

    /// Makes up sound in place of what is missing, from what came before. What is made up of it for long fades to noise like
    /// the background, which needn't be silent.
    ///
    /// - Parameters:
    ///   - samples: a multiple of 120 (2.5 ms), at most `SoundBlock.length`.
    ///   - output: left and right in turn; has room for `samples` × `SoundBlock.channelCount` values.
    public func conceal(samples: Int = SoundBlock.length, into output: UnsafeMutablePointer<Float>) {
        let count = samples * SoundBlock.channelCount
        if opus_decode_float(decoder, nil, 0, output, CInt(samples), 0) == samples {
            beam_sound_clip(output, count)
        } else {
            output.update(repeating: 0, count: count)
        }
    }

    /// Forgets what was decoded before: for the packets of an encoder that has begun anew.
    public func reset() { _ = beam_opus_decoder_reset(decoder) }
}
