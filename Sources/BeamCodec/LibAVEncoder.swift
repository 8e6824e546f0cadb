import BeamLibAV
import BeamMedia
import CAVCodec

/// Any of libavcodec's H.264 encoders, with its own rate control.
final class LibAVEncoder: EncoderBackend {
    let name: String
    private let size: PixelSize
    private var settings: EncoderSettings
    private var buffer = RateRegime.generous
    private let follows: Bool
    private var opened: OpenedEncoder
    private var openedTime: MediaTime?
    private var feeder: EncoderFeeder
    private let packet: PacketHandle
    private var parameterSets: ParameterSets?
    /// What was sent in and hasn't come out yet, oldest first.
    private var pending: [(timestamp: Int64, time: MediaTime)] = []
    private var finished: [EncodedFrame] = []
    private var origin: MediaTime?
    private var lastTimestamp: Int64 = -1

    /// `follows`: whether it takes another rate while it runs; nil where that is known by its name.
    init(_ settings: EncoderSettings, follows: Bool? = nil) throws(CodecError) {
        let opened = try OpenedEncoder(settings)
        self.opened = opened
        self.settings = settings
        self.follows = follows ?? Self.following.contains(opened.name)
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
        buffer = isPathBound ? .pathBound : .generous
        if follows { opened.setRate(bitRate, buffer) }
    }

    /// Those that take another rate while they run.
    private static let following: Set = ["libx264", "h264_nvenc"]
    /// A rate that is wrong by so much, either way, is worth a keyframe where that is what it takes; not again before so long.
    private static let (mostExcess, mostWaste) = (1.25, 2.0)
    private static let patience = (excess: Duration.seconds(1), waste: Duration.seconds(4))

    /// Whether the encoder has to be opened anew for the rate that is wanted, at a time when a keyframe comes or not.
    private func isOutdated(at time: MediaTime, keyframe: Bool) -> Bool {
        guard !follows, opened.rate != (settings.boundedBitRate, buffer) else { return false }
        guard !keyframe else { return true }
        let (used, wanted) = (Double(opened.rate.bitRate), Double(settings.boundedBitRate))
        let age = time - (openedTime ?? time)
        return used > wanted * Self.mostExcess && age >= Self.patience.excess
            || used * Self.mostWaste < wanted && age >= Self.patience.waste
    }

    private func reopen() throws(CodecError) {
        // Frames that it still holds back would refer to a stream that has ended.
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

    func encode(_ picture: Picture, keyframe: Bool) throws(CodecError) -> EncodedFrame? {
        if isOutdated(at: picture.time, keyframe: keyframe) { try reopen() }
        openedTime = openedTime ?? picture.time
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
        let unit = AccessUnit(
            bytes: sorted.avcc, isKeyframe: sorted.isKeyframe, parameterSets: sorted.isKeyframe ? parameterSets : nil,
            size: size)
        finished.append(EncodedFrame(unit: unit, captureTime: takeTime(of: coded.pts)))
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
