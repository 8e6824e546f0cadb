import BeamMedia
import CAVCodec

/// The sound of a recording: Opus packets of 10 ms as they came, and silence where none came.
///
/// Players differ in what they do with a gap: some play on at once, and are out of step from there. So the track has
/// none: a few missing packets become packets that a decoder conceals, and longer gaps become silent packets. Both are
/// written as time goes on, so that the track is never far behind the pictures.
///
/// Times are counted in samples of 1/48000 s since the file's start. A packet's time in the file is its own within 1
/// ms. In MP4, where a sample's time is the sum of the durations before it, a packet waits for the next one, which
/// ends it.
struct SoundTrack {
    /// 80 ms, in samples: what a decoder needs after a seek (RFC 7845, 4.6).
    static let seekPreRoll: CInt = 3840
    /// Of a packet, in samples.
    private static let packetLength: Int64 = 480
    /// A packet that is this much (5 ms) early or late follows a gap, or comes too late.
    private static let tolerance: Int64 = 240
    /// A packet's time is moved by less than this (1 ms), so that jitter in the times isn't heard.
    private static let mostMoved: Int64 = 48
    /// Fewer missing packets than this were lost, and are concealed. After more of them, concealment has faded out.
    private static let mostConcealed: Int64 = 5
    /// 0.5 s: how far silence stays behind the newest picture, for packets that are late.
    private static let lag: Int64 = 24_000
    /// Silence for one picture or packet (60 s, 11 kB): what comes after more of it waits for the next ones, so that no
    /// peer's times cost more.
    private static let mostFilled: Int64 = 60 * OpusPacket.sampleRate
    /// A packet so far ahead (24 h) has no time that makes sense.
    private static let mostAhead: Int64 = 24 * 3600 * OpusPacket.sampleRate

    private let timeBase: AVRational
    /// The end of what was placed. The track begins at 0: in MP4 it can't begin later.
    private var end: Int64 = 0
    /// What a decoder makes of all that was placed. It differs from `end` by the drift of the sound card's clock; each
    /// gap makes up for that, for players that go by the samples and not by their times.
    private var decoded: Int64 = 0
    /// The last one placed, until the next one tells how long it lasts.
    private var waiting: (bytes: [UInt8], start: Int64, length: Int64)?
    /// The last one that came, unless silence followed.
    private var last: [UInt8]?

    /// Call it once the header is written: it decides about the time base.
    init(timeBase: AVRational) { self.timeBase = timeBase }

    /// Describes the track. False without memory.
    static func describe(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
        stream.pointee.time_base = AVRational(num: 1, den: CInt(OpusPacket.sampleRate))
        guard let parameters = stream.pointee.codecpar else { return false }
        parameters.pointee.codec_type = AVMEDIA_TYPE_AUDIO
        parameters.pointee.codec_id = AV_CODEC_ID_OPUS
        parameters.pointee.sample_rate = CInt(OpusPacket.sampleRate)
        parameters.pointee.ch_layout.order = AV_CHANNEL_ORDER_NATIVE
        parameters.pointee.ch_layout.nb_channels = 2
        // Front left and front right.
        parameters.pointee.ch_layout.u.mask = 3
        parameters.pointee.frame_size = CInt(packetLength)
        parameters.pointee.seek_preroll = seekPreRoll
        return parameters.setExtradata(OpusPacket.header)
    }

    /// Adds a packet of 10 ms, whose first decoded sample is heard `time` ns after the file's start. One that comes
    /// after its place was filled, or isn't of 10 ms, is left out.
    ///
    /// - Returns: what is to be written now.
    mutating func add(_ packet: [UInt8], at time: Int64) -> [TrackSample] {
        guard time >= 0, packet.count <= OpusPacket.longest, OpusPacket.length(packet) == Self.packetLength else {
            return []
        }
        let start = Self.samples(time)
        let gap = start - end
        guard gap > -Self.tolerance, gap <= Self.mostAhead else { return [] }
        var samples: [TrackSample] = []
        if gap < (waiting == nil ? Self.mostMoved : Self.tolerance) {
            // Close to its own time, but from packet to packet near 10 ms. At the beginning, exactly there.
            let smooth = waiting == nil ? end : end + gap / 32
            place(packet, at: min(max(smooth, start - Self.mostMoved), start + Self.mostMoved), into: &samples)
        } else {
            let missing = (gap + Self.packetLength / 2) / Self.packetLength
            if let last, missing <= Self.mostConcealed {
                let concealed = OpusPacket.concealed(after: last)
                for _ in 0..<missing { place(concealed, at: end, into: &samples) }
            } else {
                guard silence(until: start, into: &samples) else { return samples }
            }
            place(packet, at: start, into: &samples)
        }
        last = packet
        return samples
    }

    /// Follows a picture at `time`, in ns since the file's start.
    ///
    /// - Returns: what is to be written now: the silence before it, except for the last half second.
    mutating func follow(_ time: Int64) -> [TrackSample] {
        guard let (length, bytes) = OpusPacket.silent.last else { return [] }
        var samples: [TrackSample] = []
        let latest = min(Self.samples(time) - Self.lag, end + Self.mostFilled)
        while end + length <= latest {
            place(bytes, at: end, length: length, into: &samples)
            last = nil
        }
        return samples
    }

    /// Ends the track with the last picture, at `time` ns.
    mutating func finish(at time: Int64) -> [TrackSample] {
        var samples: [TrackSample] = []
        if Self.samples(time) - end >= Self.packetLength { _ = silence(until: Self.samples(time), into: &samples) }
        takeWaiting(length: nil, into: &samples)
        return samples
    }

    /// Silence up to `time`. False if there is more to fill than may be written at once.
    private mutating func silence(until time: Int64, into samples: inout [TrackSample]) -> Bool {
        last = nil
        let gap = time - end
        let isWhole = gap <= Self.mostFilled
        let drift = min(max(end - decoded, -Self.tolerance), Self.tolerance)
        var rest = min(gap, Self.mostFilled) + drift
        rest = max(120, (rest + 60) / 120 * 120)
        // The longest that fit, but the shorter ones first. Then the last one begins before `time` in spite of the
        // drift.
        var counts: [Int64] = []
        for kind in OpusPacket.silent.reversed() {
            counts.insert(rest / kind.length, at: 0)
            rest %= kind.length
        }
        for (kind, count) in zip(OpusPacket.silent, counts) {
            for _ in 0..<count { place(kind.bytes, at: end, length: kind.length, into: &samples) }
        }
        return isWhole
    }

    private mutating func place(
        _ bytes: [UInt8], at start: Int64, length: Int64 = packetLength, into samples: inout [TrackSample]
    ) {
        takeWaiting(length: (waiting?.start).map { start - $0 }, into: &samples)
        waiting = (bytes, start, length)
        end = start + length
        decoded += length
    }

    private mutating func takeWaiting(length: Int64?, into samples: inout [TrackSample]) {
        guard let (bytes, start, nominal) = waiting else { return }
        waiting = nil
        let ticks = ticks(start)
        samples.append(
            TrackSample(start: ticks, length: self.ticks(start + (length ?? nominal)) - ticks, payload: bytes))
    }

    private static func samples(_ nanoseconds: Int64) -> Int64 {
        av_rescale_q(
            nanoseconds, AVRational(num: 1, den: 1_000_000_000), AVRational(num: 1, den: CInt(OpusPacket.sampleRate)))
    }

    private func ticks(_ samples: Int64) -> Int64 {
        av_rescale_q(samples, AVRational(num: 1, den: CInt(OpusPacket.sampleRate)), timeBase)
    }
}
