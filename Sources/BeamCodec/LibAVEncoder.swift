import BeamLibAV
import BeamMedia
import CAVCodec

/// One of libavcodec's H.264 encoders, with its own rate control.
final class LibAVEncoder: EncoderBackend {
    let name: String
    private let size: PixelSize
    private var settings: EncoderSettings
    private var buffer = RateRegime.optionBound
    private let followsRate: Bool
    private var opened: OpenedEncoder
    private var openedTime: MediaTime?
    private var feeder: EncoderFeeder
    private let packet: PacketHandle
    private var parameterSets: ParameterSets?
    /// Pictures that were sent to the encoder and haven't been returned as frames, oldest first.
    private var pending: [(timestamp: Int64, time: MediaTime)] = []
    private var finished: [EncodedFrame] = []
    private var origin: MediaTime?
    private var lastTimestamp: Int64 = -1

    /// `followsRate`: whether the encoder accepts a new rate while open; nil: known by its name.
    init(_ settings: EncoderSettings, followsRate: Bool? = nil) throws(CodecError) {
        let opened = try OpenedEncoder(settings)
        self.opened = opened
        self.settings = settings
        self.followsRate = followsRate ?? Self.rateFollowers.contains(opened.name)
        name = opened.name
        size = settings.size
        guard let packet = PacketHandle(), let feeder = EncoderFeeder(opened, size: settings.size) else {
            throw .encodingFailed(reason: "there is not enough memory")
        }
        self.packet = packet
        self.feeder = feeder
        parameterSets = opened.headerParameterSets?.inMainProfile
    }

    func setRate(_ bitRate: Int, isPathBound: Bool) {
        settings.bitRate = bitRate
        buffer = isPathBound ? .pathBound : .optionBound
        if followsRate { opened.setRate(bitRate, buffer) }
    }

    /// The encoders that accept a new rate while open.
    private static let rateFollowers: Set = ["libx264", "h264_nvenc"]
    /// An encoder that doesn't is reopened, with a keyframe, when its rate is too high or too low by these factors, and
    /// has been open for at least these times.
    private static let (mostOvershoot, mostUndershoot) = (1.25, 2.0)
    private static let reopeningDelay = (overshoot: Duration.seconds(1), undershoot: Duration.seconds(4))

    /// Whether the encoder has to be reopened for the present rate. `keyframe`: one is due anyway.
    private func isOutdated(at time: MediaTime, keyframe: Bool) -> Bool {
        guard !followsRate, opened.rate != (settings.boundedBitRate, buffer) else { return false }
        guard !keyframe else { return true }
        let (used, wanted) = (Double(opened.rate.bitRate), Double(settings.boundedBitRate))
        let age = time - (openedTime ?? time)
        return used > wanted * Self.mostOvershoot && age >= Self.reopeningDelay.overshoot
            || used * Self.mostUndershoot < wanted && age >= Self.reopeningDelay.undershoot
    }

    private func reopen() throws(CodecError) {
        // Delayed frames of the old encoder are dropped: they would refer to the old stream.
        opened = try OpenedEncoder(settings, buffer)
        guard let feeder = EncoderFeeder(opened, size: size) else {
            throw .encodingFailed(reason: "there is not enough memory")
        }
        self.feeder = feeder
        parameterSets = opened.headerParameterSets?.inMainProfile
        pending = []
        origin = nil
        openedTime = nil
        lastTimestamp = -1
    }

    func encode(_ picture: Picture, keyframe: Bool, isSeen: Bool) throws(CodecError) -> EncodedFrame? {
        if isOutdated(at: picture.time, keyframe: keyframe) { try reopen() }
        openedTime = openedTime ?? picture.time
        let frame = try feeder.frame(of: picture)
        let timestamp = nextTimestamp(picture.time)
        frame.pointee.pts = timestamp
        frame.pointee.pict_type = keyframe || origin == nil ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE
        origin = origin ?? picture.time
        pending.append((timestamp, picture.time))
        try send(frame)
        // The encoder has its own reference to the picture's memory if it needs one.
        feeder.releasePicture()
        while try receive() {}
        return finished.isEmpty ? nil : finished.removeFirst()
    }

    private func send(_ frame: UnsafeMutablePointer<AVFrame>) throws(CodecError) {
        var result = avcodec_send_frame(opened.context.pointer, frame)
        // EAGAIN: the encoder's output has to be fetched first.
        while result == beam_averror_eagain {
            guard try receive() else { break }
            result = avcodec_send_frame(opened.context.pointer, frame)
        }
        guard result >= 0 else { throw .encodingFailed(reason: LibAV.message(result)) }
    }

    /// Fetches one coded frame into `finished`; false if there is none yet.
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
        let unit = AccessUnit(
            bytes: sorted.avcc, isKeyframe: sorted.isKeyframe, parameterSets: sorted.isKeyframe ? parameterSets : nil,
            size: size)
        finished.append(EncodedFrame(unit: unit, captureTime: takeTime(of: coded.pts)))
        return true
    }

    /// Removes and returns the time of the picture with `timestamp`. Older entries are dropped, because an encoder may
    /// drop frames.
    private func takeTime(of timestamp: Int64) -> MediaTime {
        let index = pending.firstIndex { $0.timestamp == timestamp } ?? pending.startIndex
        guard index < pending.endIndex else { return origin ?? .zero }
        defer { pending.removeSubrange(...index) }
        return pending[index].time
    }

    /// A timestamp in units of 1/90,000 s since the first picture, strictly increasing.
    private func nextTimestamp(_ time: MediaTime) -> Int64 {
        let nanoseconds = max(0, (time - (origin ?? time)).inNanoseconds)
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        lastTimestamp = max(lastTimestamp + 1, seconds * 90_000 + rest * 90_000 / 1_000_000_000)
        return lastTimestamp
    }
}

extension ParameterSets {
    /// The same sets, with Main profile in place of Constrained Baseline.
    ///
    /// A Baseline stream with `constraint_set1_flag` conforms to Main (H.264 clause A.2.1). The protocol promises Main,
    /// and some decoders look only at this byte. Both profiles' sets have the same syntax.
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
