import BeamMedia
import BeamPixels
import Glibc

/// Writes pictures to a YUV4MPEG2 file (`.y4m`): `C420jpeg` (chroma in the centre) or `C444`, of any size, with the
/// range in `XCOLORRANGE`. RGB pictures are converted to BT.709 limited 4:2:0.
///
/// When size, format or range changes, the file ends and the next is `NAME-2.y4m`, then `NAME-3.y4m`. A path of `-` is
/// standard output; there, and into a pipe, only the first part can be written. Used by one thread.
public final class Y4MWriter: OutputWriter {
    private struct Header: Equatable {
        var format: PixelFormat
        var size: PixelSize
        var isFullRange: Bool
    }

    /// The ending of the files' names.
    private static let ending = "y4m"

    private let path: String
    private let frameRate: Double
    private let pool = PixelBufferPool(limit: 1)
    /// -1 once it is closed.
    private var file: CInt
    /// Bytes that aren't written yet. No `FILE`: the program's exit would wait for one that a thread is blocked in.
    private var pending: [UInt8] = []
    private static let mostPending = 1 << 20
    private var header: Header?
    private var part = 1
    /// The path of the file being written.
    public private(set) var currentPath: String

    /// Creates the file, which must not exist. The header is written with the first picture, and says `frameRate`.
    ///
    /// - Throws: `unknownFileEnding`, `fileExists` or `cannotCreateFile`.
    public init(path: String, frameRate: Double) throws(CodecError) {
        guard path == "-" || OutputFile.ending(path) == Self.ending || OutputFile.isSpecial(path) else {
            throw .unknownFileEnding(path: path, known: [".\(Self.ending)"])
        }
        self.path = path
        self.frameRate = frameRate.isFinite && frameRate > 0 ? frameRate : 30
        currentPath = path
        file = try OutputFile.open(path)
        pending.reserveCapacity(Self.mostPending)
    }

    deinit { discard() }

    /// Appends `picture`.
    ///
    /// - Throws: `cannotWriteFile`, `fileExists` or `cannotCreateFile` (for a next part).
    public func write(_ picture: Picture) throws(CodecError) {
        let (buffer, colour) = yuv(picture)
        let header = Header(format: buffer.format, size: buffer.size, isFullRange: colour.isFullRange)
        if header != self.header {
            if self.header != nil { try startNextPart() }
            self.header = header
            try put(text: line(header))
        }
        try put(text: "FRAME\n")
        for index in 0..<3 {
            let (rowBytes, rows) = buffer.format.plane(index, of: buffer.size)
            let plane = buffer.planes[index]
            if plane.stride == rowBytes {
                try put(plane.base, rowBytes * rows)
            } else {
                for row in 0..<rows { try put(plane.base + row * plane.stride, rowBytes) }
            }
        }
    }

    /// Writes what is pending, and closes the file. Nothing can be written afterwards. Without a picture the empty file
    /// is removed.
    ///
    /// - Throws: `cannotWriteFile`.
    public func finish() throws(CodecError) {
        guard file >= 0 else { return }
        guard header != nil else { return discard() }
        defer { file = -1 }
        do throws(CodecError) {
            try writePending()
        } catch {
            close(file)
            throw error
        }
        guard close(file) == 0 else { throw failure(errno) }
    }

    /// Closes a file that isn't complete.
    private func discard() {
        guard file >= 0 else { return }
        // Standard output belongs to whoever started the program.
        if path == "-" { close(file) } else { OutputFile.discard(file, currentPath) }
        file = -1
    }

    private func startNextPart() throws(CodecError) {
        let next = try OutputFile.next(path, after: part)
        guard path != "-" else {
            throw .cannotWriteFile(path: "standard output", reason: "the picture's size or format has changed")
        }
        try finish()
        file = try OutputFile.open(next)
        part += 1
        currentPath = next
    }

    private func line(_ header: Header) -> String {
        // In thousandths unless it is a whole number: 29970:1000.
        let isWhole = frameRate == frameRate.rounded()
        let rate = isWhole ? "\(Int(frameRate)):1" : "\(Int((frameRate * 1000).rounded())):1000"
        let chroma = header.format == .i444 ? "444" : "420jpeg"
        let range = header.isFullRange ? "FULL" : "LIMITED"
        return
            "YUV4MPEG2 W\(header.size.width) H\(header.size.height) F\(rate) Ip A1:1 C\(chroma) XCOLORRANGE=\(range)\n"
    }

    private func yuv(_ picture: Picture) -> (PixelBuffer, ColourDescription) {
        guard picture.format == .bgrx else { return (picture.buffer, picture.colour) }
        let buffer = pool.buffer(format: .i420, size: picture.size)
        PixelConversion.bgrxToI420(picture.buffer, into: buffer, rects: DamageRegion(PixelRect(picture.size)))
        return (buffer, .bt709Limited)
    }

    private func put(text: String) throws(CodecError) {
        let bytes = Array(text.utf8)
        try put(bytes, bytes.count)
    }

    private func put(_ bytes: UnsafeRawPointer, _ count: Int) throws(CodecError) {
        let bytes = UnsafeRawBufferPointer(start: bytes, count: count)
        if pending.count + count > Self.mostPending { try writePending() }
        guard count < Self.mostPending else { return try writeOut(bytes) }
        pending.append(contentsOf: bytes)
    }

    private func writePending() throws(CodecError) {
        defer { pending.removeAll(keepingCapacity: true) }
        // Typed throws don't pass through `withUnsafeBytes`.
        let result = pending.withUnsafeBytes { bytes in
            Result { () throws(CodecError) in try writeOut(bytes) }
        }
        try result.get()
    }

    private func writeOut(_ bytes: UnsafeRawBufferPointer) throws(CodecError) {
        guard file >= 0 else { throw .cannotWriteFile(path: currentPath, reason: "it is closed already") }
        if let code = OutputFile.write(bytes, to: file) { throw failure(code) }
    }

    private func failure(_ code: CInt) -> CodecError {
        .cannotWriteFile(path: currentPath, reason: OutputFile.systemMessage(code))
    }
}
