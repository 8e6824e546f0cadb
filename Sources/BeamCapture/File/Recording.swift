import BeamLibAV
import BeamMedia
import CAVCodec

/// A recording's pictures in order, in an endless loop. Used by one thread at a time.
final class Recording {
    struct Entry {
        var buffer: PixelBuffer
        var colour: ColourDescription
        /// In nanoseconds; nil if the file has none.
        var timestamp: Int64?
        /// The first picture of the recording again, after its last one.
        var beginsAgain = false
    }

    enum Next {
        case picture(Entry)
        /// The file has one picture only, and it has been delivered.
        case still
        case stopped
    }

    private let path: String
    private let reader: RecordingReader
    private let pictures: RecordedPictures
    private let frame: FrameHandle
    /// The first picture, decoded in `init`, which proves that the file has one.
    let first: Entry
    let frameRate: Double
    let warnings: [String]
    private var countInLoop = 1
    private var isFirstLoop = true

    /// - Throws: `unreadableFile`.
    init(path: String, control: SourceControl) throws(CaptureError) {
        guard let frame = FrameHandle() else {
            throw .unreadableFile(path: path, reason: "there is not enough memory")
        }
        self.path = path
        self.frame = frame
        let reader = try RecordingReader(path: path, control: control)
        self.reader = reader
        guard reader.next(into: frame) == .frame else { throw Self.noPicture(path, reader) }
        frameRate = reader.frameRate
        pictures = RecordedPictures(isY4M: reader.isY4M)
        warnings = Self.warnings(stream: reader.stream.pointee, frame: frame.pointer.pointee)
        first = try Self.entry(frame, reader, pictures, path)
    }

    /// The picture after the last one returned (after `first` on the first call).
    ///
    /// - Throws: `unreadableFile`.
    func next() throws(CaptureError) -> Next {
        var step = reader.next(into: frame)
        var beginsAgain = false
        if step == .end {
            if isFirstLoop, countInLoop == 1 { return .still }
            isFirstLoop = false
            beginsAgain = true
            countInLoop = 0
            step = try reader.rewind(to: first.timestamp, into: frame)
        }
        switch step {
        case .stopped: return .stopped
        case .end: throw Self.noPicture(path, reader)
        case .frame: break
        }
        countInLoop += 1
        var entry = try Self.entry(frame, reader, pictures, path)
        entry.beginsAgain = beginsAgain
        return .picture(entry)
    }

    private static func entry(
        _ frame: FrameHandle, _ reader: RecordingReader, _ pictures: RecordedPictures, _ path: String
    ) throws(CaptureError) -> Entry {
        let timestamp = reader.timestamp(frame)
        do throws(RecordedPictures.Refusal) {
            let (buffer, colour) = try pictures.picture(takingFrom: frame)
            return Entry(buffer: buffer, colour: colour, timestamp: timestamp)
        } catch {
            throw .unreadableFile(path: path, reason: error.reason)
        }
    }

    private static func noPicture(_ path: String, _ reader: RecordingReader) -> CaptureError {
        let reason = reader.failure.map { ": " + LibAV.message($0) } ?? ""
        return .unreadableFile(path: path, reason: "no picture in it can be decoded" + reason)
    }

    private static func warnings(stream: AVStream, frame: AVFrame) -> [String] {
        var warnings: [String] = []
        let aspect = frame.sample_aspect_ratio
        if aspect.num > 0, aspect.den > 0, aspect.num != aspect.den {
            warnings.append(
                "The recording's pixels aren't square (\(aspect.num):\(aspect.den)): its pictures will look stretched.")
        }
        if frame.color_trc == AVCOL_TRC_SMPTE2084 || frame.color_trc == AVCOL_TRC_ARIB_STD_B67 {
            warnings.append("The recording has high dynamic range: its colours will look pale.")
        }
        var stream = stream
        var count = 0
        if let matrix = av_stream_get_side_data(&stream, AV_PKT_DATA_DISPLAYMATRIX, &count), count >= 36 {
            // A 3 × 3 matrix in 16.16 fixed point, row by row. Its upper left 2 × 2 part is the identity unless the
            // video is rotated or mirrored.
            let values = [0, 1, 3, 4].map {
                UnsafeRawPointer(matrix).loadUnaligned(fromByteOffset: $0 * 4, as: Int32.self)
            }
            if values != [1 << 16, 0, 0, 1 << 16] {
                warnings.append(
                    "The recording is marked as rotated or mirrored. It is shared without that correction.")
            }
        }
        return warnings
    }
}
