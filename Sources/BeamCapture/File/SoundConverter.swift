import BeamLibAV
import BeamMedia
import CAVCodec

/// Converts decoded sound of any format to that of `SoundBlock` with libswresample. Used by one thread.
final class SoundConverter {
    /// Of one decoded frame, in each channel. The codecs in use make fewer.
    static let mostSamples: Int64 = 1 << 18
    /// Samples a second of what is converted.
    private static let rates: ClosedRange<CInt> = 4000...768_000
    private static let mostChannels: CInt = 64

    private struct Format: Equatable {
        var rate: CInt
        var format: CInt
        var channels: CInt
        var mask: UInt64
    }

    private var format: Format?
    private var context: OpaquePointer?

    deinit { swr_free(&context) }

    /// Forgets the samples that are still to be converted.
    func reset() {
        swr_free(&context)
        format = nil
    }

    /// Whether `frame` has the format of the one before.
    func continues(with frame: FrameHandle) -> Bool { format == Self.format(of: frame) }

    /// Appends to `samples` what can be converted with `frame`; resampling needs the next frame for the last ones. The
    /// first result after a reset belongs to the first sample of the frame. False if the format can't be converted.
    func convert(_ frame: FrameHandle, into samples: inout [Float]) -> Bool {
        let wanted = Self.format(of: frame)
        if format != wanted {
            guard open(frame) else { return false }
            format = wanted
        }
        guard let data = frame.pointer.pointee.extended_data else { return false }
        return data.withMemoryRebound(to: UnsafePointer<UInt8>?.self, capacity: Int(wanted.channels)) {
            append($0, frame.pointer.pointee.nb_samples, to: &samples)
        }
    }

    /// Appends what is still to be converted to `samples`.
    func finish(into samples: inout [Float]) {
        if context != nil { _ = append(nil, 0, to: &samples) }
        reset()
    }

    private static func format(of frame: FrameHandle) -> Format {
        let fields = frame.pointer.pointee
        let mask = fields.ch_layout.order == AV_CHANNEL_ORDER_NATIVE ? fields.ch_layout.u.mask : 0
        return Format(
            rate: fields.sample_rate, format: fields.format, channels: fields.ch_layout.nb_channels, mask: mask)
    }

    private func open(_ frame: FrameHandle) -> Bool {
        reset()
        let fields = frame.pointer.pointee
        guard Self.rates.contains(fields.sample_rate), (1...Self.mostChannels).contains(fields.ch_layout.nb_channels),
            fields.nb_samples <= Self.mostSamples
        else { return false }
        var layout = fields.ch_layout
        // Without an order, as in a WAV file: what is usual for so many channels.
        if layout.order == AV_CHANNEL_ORDER_UNSPEC { av_channel_layout_default(&layout, layout.nb_channels) }
        var stereo = AVChannelLayout()
        av_channel_layout_default(&stereo, CInt(SoundBlock.channelCount))
        // The layouts are copied; a default one has no memory of its own.
        let result = swr_alloc_set_opts2(
            &context, &stereo, AV_SAMPLE_FMT_FLT, CInt(SoundBlock.sampleRate), &layout, AVSampleFormat(fields.format),
            fields.sample_rate, 0, nil)
        guard result >= 0, swr_init(context) >= 0 else {
            reset()
            return false
        }
        return true
    }

    private func append(
        _ data: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ count: CInt, to samples: inout [Float]
    ) -> Bool {
        guard Int64(count) <= Self.mostSamples else { return false }
        let room = swr_get_out_samples(context, count)
        guard room > 0 else { return room == 0 }
        let before = samples.count
        samples.append(contentsOf: repeatElement(0, count: Int(room) * SoundBlock.channelCount))
        let made = samples.withUnsafeMutableBufferPointer { target -> CInt in
            guard let base = target.baseAddress else { return 0 }
            return (base + before).withMemoryRebound(to: UInt8.self, capacity: Int(room) * 8) { bytes in
                var output: UnsafeMutablePointer<UInt8>? = bytes
                return swr_convert(context, &output, room, data, count)
            }
        }
        samples.removeLast(samples.count - before - Int(max(0, made)) * SoundBlock.channelCount)
        // Files may hold anything as floats.
        for index in before..<samples.count {
            samples[index] = samples[index].isFinite ? max(-1, min(1, samples[index])) : 0
        }
        return made >= 0
    }
}
