import BeamMedia
import BeamPixels
import CPango
import Glibc

/// Writes a picture as PNG, 8 bits each of red, green and blue, and nothing else: no time, no program, no background.
enum PNGFile {
    /// Blocks for as long as compressing and the disk take.
    ///
    /// - Returns: the `errno` of a failure; nil: all of it is written.
    static func write(_ picture: Picture, _ pointer: ScreenPointer, to file: CInt) -> CInt? {
        let size = picture.size
        let buffer = rgb(picture, pointer)
        let plane = buffer.planes[0]
        // The fourth byte of a pixel isn't used.
        guard
            let surface = cairo_image_surface_create_for_data(
                plane.base.assumingMemoryBound(to: UInt8.self), CAIRO_FORMAT_RGB24, Int32(size.width),
                Int32(size.height), Int32(plane.stride))
        else { return ENOMEM }
        defer { cairo_surface_destroy(surface) }
        let output = Output(file)
        let status = withExtendedLifetime((output, buffer)) {
            cairo_surface_write_to_png_stream(
                surface,
                { closure, bytes, count in
                    guard let closure else { return CAIRO_STATUS_WRITE_ERROR }
                    let output = Unmanaged<Output>.fromOpaque(closure).takeUnretainedValue()
                    output.take(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
                    return output.failure == nil ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR
                }, Unmanaged.passUnretained(output).toOpaque())
        }
        output.flush()
        if let failure = output.failure { return failure }
        return status == CAIRO_STATUS_SUCCESS ? nil : status == CAIRO_STATUS_NO_MEMORY ? ENOMEM : EIO
    }

    /// As the window shows it: by the same conversion.
    private static func rgb(_ picture: Picture, _ pointer: ScreenPointer) -> PixelBuffer {
        let layer = PlacedPointer(pointer, over: PixelRect(picture.size))?.layer()
        guard picture.format != .bgrx || layer != nil else { return picture.buffer }
        let buffer = PixelBuffer(format: .bgrx, size: picture.size)
        let (from, to) = (picture.buffer.planes[0], buffer.planes[0])
        if picture.format == .bgrx {
            for y in 0..<picture.size.height {
                (to.base + y * to.stride).copyMemory(
                    from: from.base + y * from.stride, byteCount: picture.size.width * 4)
            }
        } else {
            PixelConversion.toBGRX(
                picture.buffer, colour: picture.colour, into: to.base, stride: to.stride,
                rect: PixelRect(picture.size))
        }
        if let layer {
            Compositing.compose([layer], on: PixelCanvas(base: to.base, stride: to.stride, size: picture.size))
        }
        return buffer
    }

    /// Buffers what cairo gives in small pieces.
    private final class Output {
        private static let most = 256 << 10
        private let file: CInt
        private var filter = PNGChunks()
        private var pending: [UInt8] = []
        private(set) var failure: CInt?

        init(_ file: CInt) {
            self.file = file
            pending.reserveCapacity(2 * Self.most)
        }

        func take(_ bytes: UnsafeRawBufferPointer) {
            filter.take(bytes) { pending += $0 }
            if pending.count >= Self.most { flush() }
        }

        func flush() {
            guard failure == nil else { return }
            pending.withUnsafeBytes { bytes in
                var rest = bytes[...]
                while !rest.isEmpty {
                    let written = Glibc.write(file, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                    if written < 0, errno == EINTR { continue }
                    guard written > 0 else { return failure = written < 0 ? errno : EIO }
                    rest = rest.dropFirst(written)
                }
            }
            pending.removeAll(keepingCapacity: true)
        }
    }
}

/// Passes on a PNG without the chunks that a decoder may skip (PNG, 5.4: the first letter of their type is small). Cairo
/// writes a background colour in one.
struct PNGChunks {
    private enum Place {
        case signature(left: Int)
        /// The length and type of a chunk, as far as they have come.
        case head([UInt8])
        /// Its data and checksum.
        case body(left: Int, isKept: Bool)
    }

    private var place = Place.signature(left: 8)

    mutating func take(_ bytes: UnsafeRawBufferPointer, keep: (UnsafeRawBufferPointer.SubSequence) -> Void) {
        var rest = bytes[...]
        while !rest.isEmpty {
            switch place {
            case .signature(let left):
                let part = rest.prefix(left)
                keep(part)
                rest = rest.dropFirst(part.count)
                place = part.count == left ? .head([]) : .signature(left: left - part.count)
            case .head(var head):
                let part = rest.prefix(8 - head.count)
                head += part
                rest = rest.dropFirst(part.count)
                guard head.count == 8 else {
                    place = .head(head)
                    break
                }
                let length = head.prefix(4).reduce(0) { $0 << 8 | Int($1) }
                let isKept = head[4] & 0x20 == 0
                if isKept { head.withUnsafeBytes { keep($0[...]) } }
                place = .body(left: length + 4, isKept: isKept)
            case .body(let left, let isKept):
                let part = rest.prefix(left)
                if isKept { keep(part) }
                rest = rest.dropFirst(part.count)
                place = part.count == left ? .head([]) : .body(left: left - part.count, isKept: isKept)
            }
        }
    }
}
