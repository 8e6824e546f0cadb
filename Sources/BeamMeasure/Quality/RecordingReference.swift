import BeamCapture
import BeamMedia
import BeamPixels
import Glibc

/// A streamed recording as a reference: finds each received picture in it.
///
/// A recording of the test pattern contains each picture's number. Otherwise the most similar picture counts:
/// thumbnails preselect candidates, which are then compared in full.
struct RecordingReference: PictureReference {
    private let recording: RecordedFrames
    /// Reuses the buffers of pictures read from the file.
    private let pool = PixelBufferPool(limit: 4)
    /// The number in the recording's first picture; nil if it isn't a recording of the test pattern.
    private let firstNumber: UInt32?
    private var thumbnails: [[UInt8]] = []
    /// The index found last.
    private var last = 0

    /// How many preselected candidates are compared in full.
    private static let finalists = 3

    var size: PixelSize { recording.header.size }
    var frameRate: Double? { recording.header.frameRate }

    /// Reads the whole recording once, unless it is one of the test pattern.
    ///
    init(path: String) throws(MeasureError) {
        recording = try RecordedFrames(path: path)
        let first = pool.buffer(format: .i420, size: recording.header.size)
        guard recording.read(0, into: first) else {
            throw .unusableRecording(path: path, reason: "its first picture can't be read")
        }
        firstNumber = PatternCode.read(Picture(buffer: first, time: .zero))?.number
        guard firstNumber == nil else { return }
        for index in 0..<recording.count {
            guard recording.read(index, into: first) else {
                throw .unusableRecording(path: path, reason: "picture \(index + 1) of it can't be read")
            }
            thumbnails.append(Thumbnail.of(first))
        }
    }

    mutating func picture(for picture: Picture) -> PixelBuffer? {
        guard picture.size == size else { return nil }
        if let firstNumber {
            guard let number = PatternCode.read(picture)?.number, number >= firstNumber else { return nil }
            return frame(Int(number - firstNumber))
        }
        var best: (ratio: Double, buffer: PixelBuffer)?
        for index in likeliest(Thumbnail.of(picture.buffer)) {
            guard let buffer = frame(index) else { continue }
            let ratio = PictureQuality.psnr(picture.buffer, buffer)
            if best.map({ ratio > $0.ratio }) ?? true {
                best = (ratio, buffer)
                last = index
            }
        }
        return best?.buffer
    }

    private func frame(_ index: Int) -> PixelBuffer? {
        guard (0..<recording.count).contains(index) else { return nil }
        let buffer = pool.buffer(format: .i420, size: size)
        return recording.read(index, into: buffer) ? buffer : nil
    }

    /// The most similar thumbnails' indices. Among equal ones, those that follow the last found index most closely come
    /// first.
    private func likeliest(_ thumbnail: [UInt8]) -> ArraySlice<Int> {
        let count = recording.count
        let distances = thumbnails.map { other in
            zip(thumbnail, other).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
        }
        return thumbnails.indices
            .sorted { (distances[$0], ($0 - last + count) % count) < (distances[$1], ($1 - last + count) % count) }
            .prefix(Self.finalists)
    }
}

/// A thumbnail: the means of 32 × 18 blocks of luma.
enum Thumbnail {
    static let columns = 32
    static let rows = 18

    static func of(_ buffer: PixelBuffer) -> [UInt8] {
        PlaneScaling.means(of: buffer.planes[0], buffer.size, to: PixelSize(width: columns, height: rows))
    }
}

/// Random access to the pictures of a `.y4m` file.
final class RecordedFrames {
    let header: Y4MHeader
    private let file: OpenFile
    /// File offsets of each picture's samples.
    private let offsets: [off_t]

    var count: Int { offsets.count }

    /// Opens the file and locates every picture.
    ///
    init(path: String) throws(MeasureError) {
        file = try OpenFile(path)
        let descriptor = file.descriptor
        guard let line = Self.line(descriptor, at: 0) else {
            throw .unusableRecording(path: path, reason: "it isn't a YUV4MPEG2 file")
        }
        do throws(Y4MHeader.Refusal) {
            header = try Y4MHeader(line: line)
        } catch {
            throw .unusableRecording(path: path, reason: error.reason)
        }
        guard header.format == .i420 else {
            throw .unusableRecording(path: path, reason: "its pictures are 4:4:4, and what is streamed is 4:2:0")
        }
        let end = lseek(descriptor, 0, SEEK_END)
        var offset = off_t(line.utf8.count + 1)
        var offsets: [off_t] = []
        while let head = Self.line(descriptor, at: offset), head.hasPrefix("FRAME") {
            let samples = offset + off_t(head.utf8.count + 1)
            guard samples + off_t(header.frameBytes) <= end else { break }
            offsets.append(samples)
            offset = samples + off_t(header.frameBytes)
        }
        guard !offsets.isEmpty else { throw .unusableRecording(path: path, reason: "there is no whole picture in it") }
        self.offsets = offsets
    }

    private static func line(_ descriptor: CInt, at offset: off_t) -> String? {
        var bytes = [UInt8](repeating: 0, count: Y4MHeader.maxBytes)
        let count = pread(descriptor, &bytes, bytes.count, offset)
        guard count > 0, let end = bytes[..<count].firstIndex(of: 0x0a) else { return nil }
        return String(decoding: bytes[..<end], as: UTF8.self)
    }

    /// Reads picture `index` into an i420 buffer of the header's size. False on errors.
    func read(_ index: Int, into buffer: PixelBuffer) -> Bool {
        var offset = offsets[index]
        for plane in 0..<3 {
            let (rowBytes, rows) = header.format.plane(plane, of: header.size)
            for row in 0..<rows {
                let target = buffer.planes[plane].base + row * buffer.planes[plane].stride
                guard pread(file.descriptor, target, rowBytes, offset) == rowBytes else { return false }
                offset += off_t(rowBytes)
            }
        }
        return true
    }
}

/// Owns a descriptor of a file opened for reading.
private final class OpenFile {
    let descriptor: CInt

    init(_ path: String) throws(MeasureError) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .file(path: path, reason: SystemError.message(errno)) }
    }

    deinit { close(descriptor) }
}

/// The size and frame rate of a `.y4m` recording.
public struct RecordingFacts: Sendable {
    public let size: PixelSize
    /// Nil if the header doesn't have it.
    public let frameRate: Double?

    /// - Throws: `unusableRecording` or `file`, if it can't serve as the reference.
    public init(path: String) throws(MeasureError) {
        let header = try RecordedFrames(path: path).header
        size = header.size
        frameRate = header.frameRate
    }
}
