import BeamMedia
import CAVCodec

/// A caption of a recording.
struct TimedCaption: Sendable {
    /// May have several lines.
    var text: String
    /// On the clock of the access units.
    var time: MediaTime
    var duration: Duration

    var end: MediaTime { time + duration }
}

/// The subtitle track of a recording, its second stream: SubRip texts in Matroska, 3GPP Timed Text (TS 26.245) in MP4.
///
/// In MP4 a sample's time is the sum of the durations before it, and one sample at a time is shown. So a caption waits here
/// until its end is known: until the next one begins, or its own time is over.
struct CaptionTrack {
    /// A caption whose end isn't known yet.
    private struct Waiting {
        var texts: [String]
        var start: Int64
        var end: Int64
    }

    static let index = 1
    /// A caption that was over for so long isn't recorded: it comes from a part of the room that was cut off.
    private static let latest = Duration.seconds(10)
    /// In MP4, one that comes after its time is shown for so long.
    private static let shortest = Duration.seconds(1)
    /// In MP4, captions that begin within this time are shown together, as many as the window has lines: nobody can read
    /// the first of them before the next one begins.
    private static let together = Duration.milliseconds(100)
    private static let mostTogether = 3
    /// Of a sample in MP4: libavformat takes durations of up to 2³¹ ticks, which are 6.6 h.
    private static let longestSample = Duration.seconds(3600)
    /// In bytes; the length of a 3GPP text has 16 bits.
    private static let longest = 65_000

    private let kind: ContainerFile.Kind
    private let timeBase: AVRational
    /// In Matroska: of the last caption.
    private var lastStart: Int64 = 0
    /// In MP4: the end of what was written.
    private var written: Int64 = 0
    private var waiting: Waiting?

    /// Call it once the header is written: it decides about the time base.
    init(_ kind: ContainerFile.Kind, timeBase: AVRational) {
        self.kind = kind
        self.timeBase = timeBase
    }

    /// Describes the track, whose picture has `size`. False without memory.
    static func describe(_ stream: UnsafeMutablePointer<AVStream>, kind: ContainerFile.Kind, size: PixelSize) -> Bool {
        let parameters = stream.pointee.codecpar
        parameters?.pointee.codec_type = AVMEDIA_TYPE_SUBTITLE
        // Players show it without being told to.
        stream.pointee.disposition = AV_DISPOSITION_DEFAULT
        switch kind {
        case .mkv:
            stream.pointee.time_base = AVRational(num: 1, den: 1000)
            parameters?.pointee.codec_id = AV_CODEC_ID_SUBRIP
            return true
        case .mp4:
            // The video's: libavformat compares times of both tracks as numbers, to end a caption in time.
            stream.pointee.time_base = AVRational(num: 1, den: 90_000)
            parameters?.pointee.codec_id = AV_CODEC_ID_MOV_TEXT
            parameters?.pointee.width = CInt(size.width)
            parameters?.pointee.height = CInt(size.height)
            return parameters?.setExtradata(timedTextDescription(size)) ?? false
        }
    }

    /// TS 26.245, 5.16, `TextSampleEntry` after the common fields: white text, centred at the picture's lower edge, a
    /// twentieth of the picture high.
    private static func timedTextDescription(_ size: PixelSize) -> [UInt8] {
        let fontSize = UInt8(clamping: max(12, size.height / 20))
        let (width, height) = (UInt16(clamping: size.width), UInt16(clamping: size.height))
        let font = Array("Sans-Serif".utf8)
        var bytes: [UInt8] = [0, 0, 0, 0, 1, 0xFF, 0, 0, 0, 0]
        bytes += [0, 0, 0, 0]
        for side in [height, width] { bytes += [UInt8(side >> 8), UInt8(side & 0xFF)] }
        bytes += [0, 0, 0, 0, 0, 1, 0, fontSize, 0xFF, 0xFF, 0xFF, 0xFF]
        // The font table.
        bytes += [0, 0, 0, UInt8(13 + font.count)] + Array("ftab".utf8)
        bytes += [0, 1, 0, 1, UInt8(font.count)] + font
        return bytes
    }

    /// Adds `caption` to a file that began at `start`, unless nothing of it is shown there. `lastPicture` is the last
    /// picture's time since then, in ns.
    ///
    /// - Returns: what is to be written now.
    mutating func add(_ caption: TimedCaption, start: MediaTime, lastPicture: Int64) -> [TrackSample] {
        let end = (caption.end - start).inNanoseconds
        guard caption.duration > .zero, end > 0, end > lastPicture - Self.latest.inNanoseconds else { return [] }
        let text = SubRip.payload(caption.text)
        guard !text.isEmpty else { return [] }
        let from = ticks(max(0, (caption.time - start).inNanoseconds))
        let to = max(from + 1, ticks(end))
        switch kind {
        case .mkv:
            // Captions may overlap, but begin in order.
            lastStart = max(lastStart, from)
            return [TrackSample(start: lastStart, length: max(1, to - lastStart), payload: Self.cut(text))]
        case .mp4: return next(text, from, to)
        }
    }

    /// What is over at the time of a picture, in the track's time base; nil: at the file's end.
    mutating func takeEnded(at time: Int64?) -> [TrackSample] {
        guard kind == .mp4 else { return [] }
        if let waiting {
            guard waiting.end <= time ?? .max else { return [] }
            self.waiting = nil
            return sample(waiting, until: waiting.end)
        }
        guard let time, time - written >= ticks(Self.longestSample.inNanoseconds) else { return [] }
        return gap(until: time)
    }

    private mutating func next(_ text: String, _ from: Int64, _ to: Int64) -> [TrackSample] {
        var from = from
        // A late one is shown for so long after those that came before it.
        let least = min(to - from, ticks(Self.shortest.inNanoseconds))
        var samples: [TrackSample] = []
        if var before = waiting {
            let isTogether = from - before.start < ticks(Self.together.inNanoseconds)
            let bytes = before.texts.reduce(text.utf8.count) { $0 + $1.utf8.count + 1 }
            if isTogether, before.texts.count < Self.mostTogether, bytes <= Self.longest {
                before.texts.append(text)
                before.end = max(before.end, to, before.start + least)
                waiting = before
                return []
            }
            from = max(from, before.start + 1)
            samples = sample(before, until: min(before.end, from))
        }
        from = max(from, written)
        waiting = Waiting(texts: [text], start: from, end: max(to, from + least))
        return samples
    }

    private mutating func sample(_ caption: Waiting, until end: Int64) -> [TrackSample] {
        let before = gap(until: caption.start)
        let length = min(end - caption.start, ticks(Self.longestSample.inNanoseconds))
        written = caption.start + length
        // 3GPP texts have no codes, but libavcodec passes on those of SubStation Alpha: they are treated as SubRip's.
        let bytes = Self.cut(caption.texts.joined(separator: "\n"))
        let payload = [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)] + bytes
        return before + [TrackSample(start: caption.start, length: length, payload: payload)]
    }

    /// Empty samples while nothing is said for hours; shorter gaps are filled by libavformat.
    private mutating func gap(until end: Int64) -> [TrackSample] {
        let most = ticks(Self.longestSample.inNanoseconds)
        var samples: [TrackSample] = []
        while end - written >= most {
            samples.append(TrackSample(start: written, length: most, payload: [0, 0]))
            written += most
        }
        return samples
    }

    /// The text in UTF-8, of at most `longest` bytes and whole characters.
    private static func cut(_ text: String) -> [UInt8] {
        var bytes = Array(text.utf8)
        guard bytes.count > longest else { return bytes }
        var end = longest
        while end > 0, bytes[end] & 0xC0 == 0x80 { end -= 1 }
        bytes.removeSubrange(end...)
        return bytes
    }

    private func ticks(_ nanoseconds: Int64) -> Int64 {
        av_rescale_q(nanoseconds, AVRational(num: 1, den: 1_000_000_000), timeBase)
    }
}
