import BeamLibAV
import BeamMedia
import CAVCodec
import Glibc

/// A sample of a track beside the pictures, in the track's time base.
struct TrackSample {
    var start: Int64
    var length: Int64
    var payload: [UInt8]
}

/// One file with one H.264 stream, and perhaps tracks of captions and sound, written by libavformat through a file
/// descriptor that this object owns.
final class ContainerFile {
    /// The containers, by file ending.
    enum Kind: String, CaseIterable {
        case mkv
        case mp4

        var format: String { self == .mkv ? "matroska" : "mp4" }

        /// Write to the file at least every half second, however far apart keyframes are.
        ///
        /// Each caption has an entry in Matroska's index, which no reserved space is large enough for. It is written at the
        /// end then.
        func options(hasCaptions: Bool) -> Options {
            switch self {
            case .mkv where hasCaptions: Options(["cluster_time_limit": "500"])
            case .mkv: Options(["cluster_time_limit": "500", "reserve_index_space": "16384"])
            case .mp4:
                Options(["movflags": "+empty_moov+default_base_moof+frag_keyframe", "frag_duration": "500000"])
            }
        }
    }

    let size: PixelSize
    private let path: String
    private let sets: ParameterSets
    private let start: MediaTime
    private let output: FileOutput
    private let packet: PacketHandle
    /// The last picture, in MP4, until its duration is known: the last one lasts until the file's end. A caption or
    /// sound may begin a fragment, too, and libavformat lets the next picture begin where the last one in the fragment
    /// before ended.
    private let lastPicture: PacketHandle?
    private var context: UnsafeMutablePointer<AVFormatContext>
    /// In the container's time base.
    private var lastTimestamp: Int64 = -1
    private var stills = StillPictures()
    /// Nil: captions aren't recorded.
    private var captions: CaptionTrack?
    /// Nil: sound isn't recorded.
    private var sound: SoundTrack?
    /// Of the stream with the sound, which is the last one.
    private let soundIndex: Int
    private var isOpen = true

    /// Writes the file's header. The object owns `descriptor` from here on, even if this throws.
    init(
        descriptor: CInt, path: String, kind: Kind, sets: ParameterSets, size: PixelSize, start: MediaTime,
        hasCaptions: Bool, hasSound: Bool
    ) throws(CodecError) {
        _ = LibAV.quietened
        let output = FileOutput(descriptor)
        guard let record = NALUnits.configurationRecord(sets) else {
            throw .cannotWriteFile(path: path, reason: "the stream's parameter sets are unusable")
        }
        var made: UnsafeMutablePointer<AVFormatContext>?
        avformat_alloc_output_context2(&made, nil, kind.format, nil)
        guard let context = made, let packet = PacketHandle(), let stream = avformat_new_stream(context, nil),
            let io = output.makeContext()
        else {
            avformat_free_context(made)
            throw .cannotWriteFile(
                path: path, reason: "libavformat can't write \(kind.format), or there is not enough memory")
        }
        self.context = context
        self.packet = packet
        lastPicture = kind == .mp4 ? PacketHandle() : nil
        soundIndex = hasCaptions ? CaptionTrack.index + 1 : 1
        self.output = output
        self.path = path
        self.sets = sets
        self.size = size
        self.start = start
        context.pointee.pb = io
        context.pointee.flags |= AVFMT_FLAG_FLUSH_PACKETS | AVFMT_FLAG_CUSTOM_IO
        stream.pointee.time_base = AVRational(num: 1, den: 90_000)
        try Self.describe(stream.pointee.codecpar, record: record, size: size, path: path)
        if hasCaptions {
            guard let track = avformat_new_stream(context, nil), CaptionTrack.describe(track, kind: kind, size: size)
            else { throw .cannotWriteFile(path: path, reason: "there is not enough memory") }
        }
        if hasSound {
            guard let track = avformat_new_stream(context, nil), SoundTrack.describe(track) else {
                throw .cannotWriteFile(path: path, reason: "there is not enough memory")
            }
        }
        var options = kind.options(hasCaptions: hasCaptions)
        try check(avformat_write_header(context, &options.dictionary))
        if hasCaptions, let track = context.pointee.streams[CaptionTrack.index] {
            captions = CaptionTrack(kind, timeBase: track.pointee.time_base)
        }
        if hasSound, let track = context.pointee.streams[soundIndex] {
            sound = SoundTrack(timeBase: track.pointee.time_base)
        }
    }

    deinit { avformat_free_context(context) }

    private static func describe(
        _ parameters: UnsafeMutablePointer<AVCodecParameters>, record: [UInt8], size: PixelSize, path: String
    ) throws(CodecError) {
        guard parameters.setExtradata(record) else {
            throw .cannotWriteFile(path: path, reason: "there is not enough memory")
        }
        parameters.pointee.codec_type = AVMEDIA_TYPE_VIDEO
        parameters.pointee.codec_id = AV_CODEC_ID_H264
        parameters.pointee.format = AV_PIX_FMT_YUV420P.rawValue
        parameters.pointee.width = CInt(size.width)
        parameters.pointee.height = CInt(size.height)
        parameters.pointee.sample_aspect_ratio = AVRational(num: 1, den: 1)
    }

    /// In a still picture's place, one like it is written after so long: players find a time in it, and what is killed
    /// leaves a file that is nearly as long as it lasted.
    private static let stillInterval = Duration.seconds(2)
    /// A shorter time than this needs no picture of its own at the file's end.
    private static let shortestStill = Duration.milliseconds(100)
    /// How long a picture is shown that ends the file at an unknown time, or is its last repetition.
    private static let lastDuration = Duration.nanoseconds(33_333_333)
    /// libavformat takes longer durations of a picture for a mistake.
    private static let longestPicture = Int64(Int32.max)

    /// Appends `unit`, to be shown at `time`.
    func write(_ unit: AccessUnit, at time: MediaTime) throws(CodecError) {
        guard isOpen else { throw .cannotWriteFile(path: path, reason: "it is closed already") }
        let inBand = unit.parameterSets.map { $0 == sets ? [] : $0.sps + $0.pps } ?? []
        var bytes: [UInt8] = []
        for set in inBand {
            NALUnits.appendLength(set.count, to: &bytes)
            bytes += set
        }
        let picture = stills.follow(unit).map { $0[...] } ?? unit.avcc
        try append(
            bytes, picture, at: max(lastTimestamp + 1, ticks(time)), flags: unit.isKeyframe ? AV_PKT_FLAG_KEY : 0)
        try write(sound?.follow(max(0, (time - start).inNanoseconds)) ?? [], to: soundIndex)
    }

    /// Lets time go on without a new picture: the last one is repeated every 2 s, if the stream allows it, and silence
    /// is written. Units that come afterwards are shown after `time`.
    func passTime(until time: MediaTime) throws(CodecError) {
        guard isOpen, lastTimestamp >= 0 else { return }
        let (step, now) = (ticks(Self.stillInterval), ticks(time))
        while lastTimestamp + step <= now {
            guard let still = stills.next(isLast: false) else { break }
            try append([], still[...], at: lastTimestamp + step)
        }
        if lastPicture != nil { try write(captions?.takeEnded(at: now) ?? [], to: CaptionTrack.index) }
        try write(sound?.follow(max(0, (time - start).inNanoseconds)) ?? [], to: soundIndex)
    }

    /// Appends a picture of two parts, the first of which may be empty. In MP4 its duration follows from the next one.
    private func append(
        _ first: [UInt8], _ second: ArraySlice<UInt8>, at timestamp: Int64, duration: Int64 = 0, flags: CInt = 0
    ) throws(CodecError) {
        av_packet_unref(packet.pointer)
        guard av_new_packet(packet.pointer, CInt(first.count + second.count)) >= 0,
            let data = packet.pointer.pointee.data
        else { throw .cannotWriteFile(path: path, reason: "there is not enough memory") }
        data.update(from: first, count: first.count)
        second.withUnsafeBufferPointer { source in
            if let base = source.baseAddress { (data + first.count).update(from: base, count: source.count) }
        }
        lastTimestamp = timestamp
        packet.pointer.pointee.pts = timestamp
        packet.pointer.pointee.dts = timestamp
        packet.pointer.pointee.duration = duration
        packet.pointer.pointee.flags = flags
        if let lastPicture {
            try writeLastPicture(until: timestamp)
            av_packet_move_ref(lastPicture.pointer, packet.pointer)
            // Both tracks have one time base.
            try write(captions?.takeEnded(at: timestamp) ?? [], to: CaptionTrack.index)
        } else {
            try check(av_write_frame(context, packet.pointer))
        }
    }

    private func writeLastPicture(until end: Int64) throws(CodecError) {
        guard let last = lastPicture?.pointer, last.pointee.data != nil else { return }
        last.pointee.duration = min(max(1, end - last.pointee.dts), Self.longestPicture)
        defer { av_packet_unref(last) }
        try check(av_write_frame(context, last))
    }

    /// The video track's time base.
    private var timeBase: AVRational {
        context.pointee.streams[0]?.pointee.time_base ?? AVRational(num: 1, den: 90_000)
    }

    private static let nanosecond = AVRational(num: 1, den: 1_000_000_000)

    private func ticks(_ duration: Duration) -> Int64 {
        av_rescale_q(duration.inNanoseconds, Self.nanosecond, timeBase)
    }

    /// A time in the file, not before its start.
    private func ticks(_ time: MediaTime) -> Int64 { ticks(max(.zero, time - start)) }

    /// Adds a caption, if the file has a track for them and it isn't over. No picture waits for the next caption: packets
    /// of the two tracks are written in the order in which they come. In MP4 a caption waits until its end is known.
    func write(_ caption: TimedCaption) throws(CodecError) {
        guard isOpen else { return }
        try write(captions?.add(caption, start: start, lastPicture: lastPictureTime) ?? [], to: CaptionTrack.index)
    }

    /// Adds an Opus packet of 10 ms, whose first decoded sample is heard at `time`, if the file has a track for sound.
    func writeSound(_ opus: [UInt8], at time: MediaTime) throws(CodecError) {
        guard isOpen else { return }
        try write(sound?.add(opus, at: (time - start).inNanoseconds) ?? [], to: soundIndex)
    }

    /// In ns since the file's start.
    private var lastPictureTime: Int64 { av_rescale_q(max(0, lastTimestamp), timeBase, Self.nanosecond) }

    private func write(_ samples: [TrackSample], to stream: Int) throws(CodecError) {
        for sample in samples {
            av_packet_unref(packet.pointer)
            guard av_new_packet(packet.pointer, CInt(sample.payload.count)) >= 0,
                let data = packet.pointer.pointee.data
            else { throw .cannotWriteFile(path: path, reason: "there is not enough memory") }
            data.update(from: sample.payload, count: sample.payload.count)
            packet.pointer.pointee.stream_index = CInt(stream)
            packet.pointer.pointee.pts = sample.start
            packet.pointer.pointee.dts = sample.start
            packet.pointer.pointee.duration = sample.length
            packet.pointer.pointee.flags = AV_PKT_FLAG_KEY
            try check(av_write_frame(context, packet.pointer))
        }
    }

    /// Completes the file, whose last picture lasts until `end`. Nil: for 1/30 s after it came.
    func finish(at end: MediaTime?) throws(CodecError) {
        guard isOpen else { return }
        defer { isOpen = false }
        let last = lastPictureTime
        if let end, lastTimestamp >= 0, (end - start).inNanoseconds > last {
            try fill(until: end)
        } else {
            try writeLastPicture(until: lastTimestamp + ticks(Self.lastDuration))
            try write(captions?.takeEnded(at: nil) ?? [], to: CaptionTrack.index)
            try write(sound?.finish(at: last) ?? [], to: soundIndex)
        }
        try check(av_write_trailer(context))
        if let io = context.pointee.pb { avio_flush(io) }
        try check(0)
        try output.close(path)
    }

    /// Makes all tracks last until `end`, which is after the last picture.
    private func fill(until end: MediaTime) throws(CodecError) {
        try passTime(until: end)
        let endTicks = ticks(end)
        if endTicks - lastTimestamp >= ticks(Self.shortestStill) {
            let length = ticks(Self.lastDuration)
            // A picture, because many players end with the last one, and find nothing at a time after it.
            if let still = stills.next(isLast: true) {
                try append([], still[...], at: endTicks - length, duration: length)
            } else if lastPicture == nil, sound == nil, captions != nil {
                // In Matroska an empty caption says how long the picture lasts, if nothing else does.
                try write([TrackSample(start: endTicks - length, length: length, payload: [])], to: CaptionTrack.index)
            }
        }
        try writeLastPicture(until: endTicks)
        try write(captions?.takeEnded(at: nil) ?? [], to: CaptionTrack.index)
        try write(sound?.finish(at: (end - start).inNanoseconds) ?? [], to: soundIndex)
    }

    /// Throws if the library failed, or a write in its callback did.
    private func check(_ result: CInt) throws(CodecError) {
        if let code = output.failure {
            throw .cannotWriteFile(path: path, reason: OutputFile.systemMessage(code))
        }
        guard result >= 0 else { throw .cannotWriteFile(path: path, reason: LibAV.message(result)) }
    }
}

/// A file descriptor as libavformat's output; owns the descriptor and the `AVIOContext`.
private final class FileOutput {
    private var descriptor: CInt
    private var context: UnsafeMutablePointer<AVIOContext>?
    /// The `errno` of the first failed write.
    private(set) var failure: CInt?

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    deinit {
        if let context {
            av_freep(&context.pointee.buffer)
            var context: UnsafeMutablePointer<AVIOContext>? = context
            avio_context_free(&context)
        }
        if descriptor >= 0 { Glibc.close(descriptor) }
    }

    /// Makes the `AVIOContext`, which lives as long as this object. Nil without memory.
    func makeContext() -> UnsafeMutablePointer<AVIOContext>? {
        let length = 1 << 16
        guard let buffer = av_malloc(length) else { return nil }
        // Unretained: this object outlives the context, which it frees.
        let me = Unmanaged.passUnretained(self).toOpaque()
        context = avio_alloc_context(
            buffer.assumingMemoryBound(to: UInt8.self), CInt(length), 1, me, nil,
            { me, bytes, count in
                guard let me, let bytes else { return beam_averror_invaliddata }
                return Unmanaged<FileOutput>.fromOpaque(me).takeUnretainedValue().write(bytes, Int(count))
            },
            { me, offset, whence in
                guard let me else { return -1 }
                return Unmanaged<FileOutput>.fromOpaque(me).takeUnretainedValue().seek(offset, whence)
            })
        if context == nil { av_free(buffer) }
        // A pipe can't seek back to complete its header.
        if let context, lseek(descriptor, 0, SEEK_CUR) < 0 { context.pointee.seekable = 0 }
        return context
    }

    private func write(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> CInt {
        var done = 0
        while done < count {
            let written = Glibc.write(descriptor, bytes + done, count - done)
            if written < 0 {
                if errno == EINTR { continue }
                failure = failure ?? errno
                return -errno
            }
            done += written
        }
        return CInt(count)
    }

    private func seek(_ offset: Int64, _ whence: CInt) -> Int64 {
        if whence & CInt(AVSEEK_SIZE) != 0 {
            var status = stat()
            return fstat(descriptor, &status) == 0 ? Int64(status.st_size) : -1
        }
        return Int64(lseek(descriptor, off_t(offset), whence & ~CInt(AVSEEK_FORCE)))
    }

    func close(_ path: String) throws(CodecError) {
        guard descriptor >= 0 else { return }
        let result = Glibc.close(descriptor)
        descriptor = -1
        guard result == 0 else { throw .cannotWriteFile(path: path, reason: OutputFile.systemMessage(errno)) }
    }
}
