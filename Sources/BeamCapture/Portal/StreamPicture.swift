import BeamMedia
import CBeamPortal

/// What a buffer of a stream is good for.
enum StreamPicture: Equatable {
    /// A picture: the rectangle of the stream's picture that counts, and the bytes before its first pixel.
    case picture(PixelRect, offset: Int)
    /// The buffer has no picture, only the cursor's place.
    case none

    /// - Parameters:
    ///   - length: the bytes that may be read, `stride` of them for each row.
    ///   - chunk: the bytes that the source says it has written; 0: none.
    ///   - crop: the rectangle that counts; nil: all. A window's stream is as large as the monitor, for example.
    init(size: PixelSize, stride: Int, length: Int, chunk: Int, isCorrupted: Bool, crop: PixelRect?) {
        self = .none
        guard !isCorrupted, chunk > 0, size.width > 0, size.height > 0, stride >= size.width * 4 else { return }
        let part = (crop ?? PixelRect(size)).intersection(PixelRect(size))
        // Some sources give the last row without its padding.
        let (end, overflow) = stride.multipliedReportingOverflow(by: part.maxY - 1)
        guard !part.isEmpty, !overflow, end + part.maxX * 4 <= length else { return }
        self = .picture(part, offset: part.y * stride + part.x * 4)
    }

    init(_ buffer: beam_buffer, size: PixelSize) {
        self.init(
            size: size, stride: Int(buffer.stride), length: buffer.pixels == nil ? 0 : buffer.length,
            chunk: Int(buffer.chunk_size), isCorrupted: buffer.is_corrupted != 0,
            crop: buffer.has_crop != 0 ? PixelRect(buffer.crop) : nil)
    }
}

extension PixelRect {
    fileprivate init(_ rect: beam_portal_rect) {
        self.init(x: Int(rect.x), y: Int(rect.y), width: Int(rect.width), height: Int(rect.height))
    }
}
