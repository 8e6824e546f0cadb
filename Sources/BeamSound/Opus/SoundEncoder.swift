import BeamMedia
import CLateLibraries
import COpus

/// Encodes sound with Opus (RFC 6716), in packets of 10 ms in two channels. Used by one thread.
///
/// Every packet of a bit rate has the same size: sizes that follow the content would tell who listens on an encrypted path
/// what is spoken (RFC 6562). Sizes that vary by up to 60 % would gain 1 dB at 128 kbit/s, and 0.5 dB at 64 (segmental SNR).
public final class SoundEncoder {
    /// Bits a second.
    public static let bitRates = 16_000...256_000
    /// No packet is longer.
    public static let mostBytes = bytes(ofBitRate: bitRates.upperBound)
    /// Of 0 to 10. 10 takes 1.4 times as long, and gains 0.2 dB at 128 kbit/s.
    private static let complexity = 5

    private let encoder: OpaquePointer
    private var packet = [UInt8](repeating: 0, count: mostBytes)

    /// How many samples a decoder's output is later than the input, in each channel. (The restricted low delay mode:
    /// 2.5 ms.)
    public let lookahead: Int

    /// Bits a second, in the range `bitRates`; another value is brought into it. May be changed between two packets.
    public var bitRate: Int {
        get { rate }
        set {
            rate = min(max(newValue, Self.bitRates.lowerBound), Self.bitRates.upperBound)
            _ = beam_opus_encoder_set(encoder, CInt(beam_opus_set_bitrate), CInt(rate))
        }
    }
    private var rate = bitRates.upperBound

    /// - Throws: `noLibrary`, `noCodec`.
    public init(bitRate: Int) throws(SoundError) {
        try Opus.load()
        var error: CInt = OPUS_OK
        guard
            let encoder = opus_encoder_create(
                opus_int32(SoundBlock.sampleRate), CInt(SoundBlock.channelCount), OPUS_APPLICATION_RESTRICTED_LOWDELAY,
                &error)
        else { throw .noCodec(reason: Opus.message(error)) }
        self.encoder = encoder
        var lookahead: CInt = 0
        let results = [
            beam_opus_encoder_set(encoder, CInt(beam_opus_set_vbr), 0),
            beam_opus_encoder_set(encoder, CInt(beam_opus_set_complexity), CInt(Self.complexity)),
            beam_opus_encoder_get(encoder, CInt(beam_opus_get_lookahead), &lookahead),
        ]
        self.lookahead = Int(lookahead)
        if let error = results.first(where: { $0 != OPUS_OK }) { throw .noCodec(reason: Opus.message(error)) }
        self.bitRate = bitRate
    }

    deinit { opus_encoder_destroy(encoder) }

    /// How long each packet of a bit rate is.
    public static func bytes(ofBitRate bitRate: Int) -> Int { (bitRate + 400) / 800 }

    /// Encodes a block of `SoundBlock.length` × `SoundBlock.channelCount` samples, of which each is a number. Returns an
    /// empty packet for a block of another length.
    public func encode(_ block: SoundBlock) -> [UInt8] {
        guard block.samples.count == SoundBlock.length * SoundBlock.channelCount else { return [] }
        let count = opus_encode_float(
            encoder, block.samples, CInt(SoundBlock.length), &packet, opus_int32(packet.count))
        return count > 0 ? Array(packet[..<Int(count)]) : []
    }

    /// Forgets what was encoded before. What follows has to be decoded by a new decoder or one that was reset.
    public func reset() { _ = beam_opus_encoder_reset(encoder) }
}

/// The library.
enum Opus {
    static func load() throws(SoundError) {
        if let reason = beam_load_libopus() { throw .noLibrary(package: "libopus0", reason: String(cString: reason)) }
    }

    static func message(_ error: CInt) -> String {
        opus_strerror(error).map { String(cString: $0) } ?? "error \(error)"
    }
}
