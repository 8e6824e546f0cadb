import BeamLibAV
import BeamMedia
import CAVCodec
import Foundation
import Testing

@testable import BeamCodec

/// libopus, as the host uses it: 48 kHz, two channels, 10 ms, restricted low delay.
final class OpusCoder {
    struct Failed: Error {}

    private let context: CodecHandle
    private let frame: FrameHandle
    private let packet: PacketHandle

    static let isThere: Bool = LibAV.codecProblem == nil && avcodec_find_encoder_by_name("libopus") != nil

    init(bitRate: Int64 = 128_000) throws {
        guard let codec = avcodec_find_encoder_by_name("libopus"), let context = CodecHandle(codec),
            let frame = FrameHandle(), let packet = PacketHandle()
        else { throw Failed() }
        (self.context, self.frame, self.packet) = (context, frame, packet)
        context.pointer.pointee.sample_rate = 48_000
        context.pointer.pointee.sample_fmt = AV_SAMPLE_FMT_FLT
        context.pointer.pointee.ch_layout.order = AV_CHANNEL_ORDER_NATIVE
        context.pointer.pointee.ch_layout.nb_channels = 2
        context.pointer.pointee.ch_layout.u.mask = 3
        context.pointer.pointee.bit_rate = bitRate
        var options = Options(["application": "lowdelay", "frame_duration": "10"])
        guard avcodec_open2(context.pointer, codec, &options.dictionary) >= 0 else { throw Failed() }
    }

    /// The packet of 480 samples of one channel, which go into both. Its first decoded sample is heard 2.5 ms before
    /// the first of `samples`.
    func encode(_ samples: ArraySlice<Float>) throws -> [UInt8] {
        let fields = frame.pointer
        av_frame_unref(fields)
        fields.pointee.nb_samples = 480
        fields.pointee.format = AV_SAMPLE_FMT_FLT.rawValue
        fields.pointee.sample_rate = 48_000
        fields.pointee.ch_layout = context.pointer.pointee.ch_layout
        guard av_frame_get_buffer(fields, 0) >= 0, let data = fields.pointee.data.0 else { throw Failed() }
        data.withMemoryRebound(to: Float.self, capacity: 960) { target in
            for (index, sample) in samples.enumerated() {
                target[2 * index] = sample
                target[2 * index + 1] = sample
            }
        }
        guard avcodec_send_frame(context.pointer, fields) >= 0,
            avcodec_receive_packet(context.pointer, packet.pointer) >= 0, let bytes = packet.pointer.pointee.data
        else { throw Failed() }
        defer { av_packet_unref(packet.pointer) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(packet.pointer.pointee.size)))
    }
}

/// Sound with a tone of 40 ms at known places.
struct Beeps {
    /// In seconds.
    var onsets: [Double]
    var frequency = 1000.0

    func samples(from start: Double, seconds: Double) -> [Float] {
        var samples = [Float](repeating: 0, count: Int((seconds * 48_000).rounded()))
        for onset in onsets {
            // The tone's first sample.
            let first = max(0, Int(((onset - start) * 48_000).rounded(.up)))
            for index in first..<max(first, min(samples.count, first + 1920)) {
                let time = start + Double(index) / 48_000 - onset
                guard time < 0.04 else { break }
                samples[index] = Float(0.5 * sin(2 * .pi * frequency * time))
            }
        }
        return samples
    }

    /// The packets of the sound from `start` on, and when their first decoded samples are heard, in seconds.
    func packets(from start: Double, count: Int) throws -> [(opus: [UInt8], time: Double)] {
        let coder = try OpusCoder()
        let samples = samples(from: start, seconds: Double(count) / 100)
        return try (0..<count).map { number in
            let opus = try coder.encode(samples[number * 480..<(number + 1) * 480])
            return (opus, start + Double(number) / 100 - 0.0025)
        }
    }

    /// Where tones begin in decoded samples, in seconds.
    static func onsets(_ samples: [Float]) -> [Double] {
        var found: [Double] = []
        var lastLoud = -48_000
        // Minutes of samples, without optimisation: no iterator.
        var index = 0
        samples.withUnsafeBufferPointer { samples in
            while index < samples.count {
                if abs(samples[index]) > 0.1 {
                    // Half a period of 1 kHz is 24 samples; the tones are far apart.
                    if index - lastLoud > 2400 { found.append(Double(index) / 48_000) }
                    lastLoud = index
                }
                index += 1
            }
        }
        return found
    }
}

/// ffmpeg and ffprobe, as independent readers of sound.
enum DecodedSound {
    /// The left channel as floats. `byTime`: as a player that goes by the packets' times, and not by the samples alone.
    static func read(_ file: String, byTime: Bool, decoder: String = "libopus") throws -> [Float] {
        let raw = file + ".\(byTime).\(decoder).f32"
        let filter = byTime ? "aresample=async=1:min_hard_comp=0.0005:first_pts=0,pan=mono|c0=c0" : "pan=mono|c0=c0"
        let ended = try Tool.run(
            "/usr/bin/ffmpeg",
            [
                "-nostdin", "-v", "error", "-y", "-c:a", decoder, "-i", file, "-map", "0:a:0", "-af", filter, "-f",
                "f32le", raw,
            ])
        guard ended.status == 0, ended.errors.isEmpty else { throw Subtitles.Failed(text: ended.errors) }
        let data = try Data(contentsOf: URL(fileURLWithPath: raw))
        return data.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
    }

    /// The packets' times in seconds, and their sizes.
    static func packets(_ file: String) throws -> [(time: Double, size: Int)] {
        let result = try Probe.run(
            file, "-select_streams", "a:0", "-show_packets", "-show_entries", "packet=pts_time,size")
        #expect(result.errors.isEmpty, "\(result.errors)")
        return result.lines.compactMap { line in
            let values = line.split(separator: ",").compactMap { Double($0) }
            return values.count == 2 ? (values[0], Int(values[1])) : nil
        }
    }
}
