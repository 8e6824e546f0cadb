import BeamLibAV
import BeamMedia
import CAVCodec

/// Any of libavcodec's H.264 encoders, with its own rate control.
final class LibAVEncoder: EncoderBackend {
    let name: String
    private let size: PixelSize
    private let opened: OpenedEncoder
    private let feeder: EncoderFeeder
    private let packet: PacketHandle
    private var parameterSets: ParameterSets?
    /// What was sent in and hasn't come out yet, oldest first.
    private var pending: [(timestamp: Int64, time: MediaTime)] = []
    private var finished: [AccessUnit] = []
    private var origin: MediaTime?
    private var lastTimestamp: Int64 = -1

    init(_ settings: EncoderSettings) throws(CodecError) {
        opened = try OpenedEncoder(settings)
        name = opened.name
        size = settings.size
        guard let packet = PacketHandle(), let feeder = EncoderFeeder(opened, size: settings.size) else {
            throw .encodingFailed(reason: "there is not enough memory")
        }
        self.packet = packet
        self.feeder = feeder
        parameterSets = opened.headerParameterSets?.inMainProfile
    }

    func setBitRate(_ bitRate: Int) { opened.setBitRate(bitRate) }

    func encode(_ picture: Picture, keyframe: Bool) throws(CodecError) -> AccessUnit? {
        let frame = try feeder.frame(of: picture)
        let timestamp = nextTimestamp(picture.time)
        frame.pointee.pts = timestamp
        frame.pointee.pict_type = keyframe || origin == nil ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE
        origin = origin ?? picture.time
        pending.append((timestamp, picture.time))
        try send(frame)
        // The reference to the picture's memory has gone over to the encoder, if it still needs one.
        feeder.letGo()
        while try receive() {}
        return finished.isEmpty ? nil : finished.removeFirst()
    }

    private func send(_ frame: UnsafeMutablePointer<AVFrame>) throws(CodecError) {
        var result = avcodec_send_frame(opened.context.pointer, frame)
        // An encoder that is full wants its output fetched first.
        while result == beam_averror_eagain {
            guard try receive() else { break }
            result = avcodec_send_frame(opened.context.pointer, frame)
        }
        guard result >= 0 else { throw .encodingFailed(reason: LibAV.message(result)) }
    }

    /// Fetches one coded frame into `finished`; false when there is none yet.
    private func receive() throws(CodecError) -> Bool {
        let result = avcodec_receive_packet(opened.context.pointer, packet.pointer)
        if result == beam_averror_eagain || result == beam_averror_eof { return false }
        guard result >= 0 else { throw .encodingFailed(reason: LibAV.message(result)) }
        defer { av_packet_unref(packet.pointer) }
        let coded = packet.pointer.pointee
        let sorted = NALUnits.sorted(annexB: UnsafeBufferPointer(start: coded.data, count: Int(coded.size)))
        if !sorted.parameterSets.sps.isEmpty, !sorted.parameterSets.pps.isEmpty {
            parameterSets = sorted.parameterSets.inMainProfile
        }
        guard !sorted.avcc.isEmpty else { return true }
        if sorted.isKeyframe, parameterSets == nil {
            throw .encodingFailed(reason: "the encoder \(name) gives no parameter sets")
        }
        finished.append(
            AccessUnit(
                bytes: sorted.avcc, isKeyframe: sorted.isKeyframe,
                parameterSets: sorted.isKeyframe ? parameterSets : nil, size: size, time: takeTime(of: coded.pts)))
        return true
    }

    /// The picture's time that went in with `timestamp`; older ones are forgotten (an encoder may drop frames).
    private func takeTime(of timestamp: Int64) -> MediaTime {
        let index = pending.firstIndex { $0.timestamp == timestamp } ?? pending.startIndex
        guard index < pending.endIndex else { return origin ?? .zero }
        defer { pending.removeSubrange(...index) }
        return pending[index].time
    }

    /// 90 kHz since the first picture, always growing.
    private func nextTimestamp(_ time: MediaTime) -> Int64 {
        let nanoseconds = max(0, (time - (origin ?? time)).inNanoseconds)
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        lastTimestamp = max(lastTimestamp + 1, seconds * 90_000 + rest * 90_000 / 1_000_000_000)
        return lastTimestamp
    }
}

extension ParameterSets {
    /// The same sets, saying Main profile where they say Constrained Baseline.
    ///
    /// A Baseline stream whose `constraint_set1_flag` is set conforms to the Main profile as it is (H.264 clause A.2.1); the wire
    /// promises Main, and some decoders look at nothing but this byte. Both profiles' sets have the same syntax.
    var inMainProfile: ParameterSets {
        let (baseline, main, constraintSet1): (UInt8, UInt8, UInt8) = (66, 77, 0x40)
        return ParameterSets(
            sps: sps.map { set in
                guard set.count > 2, set[1] == baseline, set[2] & constraintSet1 != 0 else { return set }
                var set = set
                set[1] = main
                return set
            }, pps: pps)
    }
}
