import BeamCapture
import BeamMedia
import BeamPixels
import Glibc

/// A recording whose pictures were streamed, in a loop: each that comes is looked up in it.
///
/// A recording of the test pattern says which picture is which. In any other, the one that is most like it counts: a first
/// choice by small pictures of blocks' means, the last by comparing.
struct RecordingReference: PictureReference {
    private let recording: RecordedFrames
    /// Kept: what was read last, and the memory.
    private let pool = PixelBufferPool(limit: 4)
    /// The number that the recording's first picture carries; nil: none of them does.
    private let firstNumber: UInt32?
    private var thumbnails: [[UInt8]] = []
    /// Where it was found last.
    private var last = 0

    /// How many of the likeliest are compared.
    private static let finalists = 3

    var size: PixelSize { recording.header.size }
    var frameRate: Double? { recording.header.frameRate }

    /// Reads the whole recording once, unless it is one of the test pattern.
    ///
    /// - Throws: `unusableRecording` or `file`.
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

    /// Among equally likely ones, those that follow the one found last most closely.
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

/// A picture of 32 × 18 means of luma.
enum Thumbnail {
    static let columns = 32
    static let rows = 18

    static func of(_ buffer: PixelBuffer) -> [UInt8] {
        PlaneScaling.means(of: buffer.planes[0], buffer.size, to: PixelSize(width: columns, height: rows))
    }
}

/// The pictures of a `.y4m` file, each to be read whenever it is wanted.
final class RecordedFrames {
    let header: Y4MHeader
    private let file: OpenFile
    /// Where each picture's samples begin.
    private let offsets: [off_t]

    var count: Int { offsets.count }

    /// Opens it and finds every picture in it.
    ///
    /// - Throws: `unusableRecording` or `file`.
    init(path: String) throws(MeasureError) {
        file = try OpenFile(path)
        let descriptor = file.descriptor
        guard let line = Self.line(descriptor, at: 0) else {
            throw .unusableRecording(path: path, reason: "it is no YUV4MPEG2 file")
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
        var bytes = [UInt8](repeating: 0, count: Y4MHeader.longest)
        let count = pread(descriptor, &bytes, bytes.count, offset)
        guard count > 0, let end = bytes[..<count].firstIndex(of: 0x0a) else { return nil }
        return String(decoding: bytes[..<end], as: UTF8.self)
    }

    /// Reads picture `index` into an i420 buffer of the header's size; false if it can't be read.
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

/// A file that is open for reading for as long as this lives.
private final class OpenFile {
    let descriptor: CInt

    init(_ path: String) throws(MeasureError) {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .file(path: path, reason: SystemError.message(errno)) }
    }

    deinit { close(descriptor) }
}

/// What a `.y4m` recording says of itself.
public struct RecordingFacts: Sendable {
    public let size: PixelSize
    /// Nil where it doesn't say.
    public let frameRate: Double?

    /// - Throws: `unusableRecording` or `file`, if it can't serve as the reference.
    public init(path: String) throws(MeasureError) {
        let header = try RecordedFrames(path: path).header
        size = header.size
        frameRate = header.frameRate
    }
}
