/// How a picture's samples lie in memory.
public enum PixelFormat: Hashable, Sendable {
    /// One plane of 4 bytes a pixel: blue, green, red, unused (X11's 24-bit TrueColor on a little-endian machine).
    case bgrx
    /// Three planes of 8 bits, 4:2:0: Y, then Cb and Cr of ⌈width/2⌉ × ⌈height/2⌉.
    case i420
    /// Three planes of 8 bits, 4:4:4: Y, Cb and Cr of width × height.
    case i444

    public var planeCount: Int { self == .bgrx ? 1 : 3 }

    /// Bytes of samples in a row of plane `index` (without padding), and its rows, for a picture of `size`.
    public func plane(_ index: Int, of size: PixelSize) -> (rowBytes: Int, rows: Int) {
        switch self {
        case .bgrx: (size.width * 4, size.height)
        case .i420 where index > 0: ((size.width + 1) / 2, (size.height + 1) / 2)
        case .i420, .i444: (size.width, size.height)
        }
    }
}

/// How YCbCr samples become RGB: ITU-T H.273's matrix coefficients and range. Ignored for RGB pictures.
public struct ColourDescription: Hashable, Sendable {
    /// H.273 table 4. `bt709` is 1, `bt601` stands for 5 and 6, `bt2020` for 9.
    public enum Matrix: Hashable, Sendable { case bt709, bt601, bt2020 }

    public var matrix: Matrix
    /// False: Y in 16…235, Cb and Cr in 16…240 (limited range). True: all 0…255.
    public var isFullRange: Bool

    public init(matrix: Matrix, isFullRange: Bool) {
        self.matrix = matrix
        self.isFullRange = isFullRange
    }

    /// What BeamRoom sends: BT.709, limited range.
    public static let bt709Limited = ColourDescription(matrix: .bt709, isFullRange: false)
}

/// One plane of a picture: rows of bytes, `stride` bytes from one row to the next.
public struct Plane: @unchecked Sendable {
    // Sendable: the memory belongs to the `PixelBuffer` that lends the plane, and is written by one stage only,
    // before the picture is handed on.

    /// The first byte of the top row.
    public let base: UnsafeMutableRawPointer
    /// Bytes from one row to the next, at least a row's own.
    public let stride: Int

    public init(base: UnsafeMutableRawPointer, stride: Int) {
        self.base = base
        self.stride = stride
    }
}

/// The memory of a picture, shared by whoever holds the picture and given back when the last one lets go.
///
/// Written by its maker before it is handed on, read-only afterwards.
public final class PixelBuffer: @unchecked Sendable {
    // Sendable: immutable but for the pixels, which only the maker writes, before handing on.

    public let format: PixelFormat
    public let size: PixelSize
    public let planes: [Plane]
    private let release: @Sendable () -> Void

    /// Wraps memory that somebody else owns; `release` is called once, on any thread, when nobody reads it any more.
    public init(
        format: PixelFormat, size: PixelSize, planes: [Plane], release: @escaping @Sendable () -> Void
    ) {
        precondition(planes.count == format.planeCount)
        self.format = format
        self.size = size
        self.planes = planes
        self.release = release
    }

    /// Fresh memory, rows aligned to 64 bytes. The first touch of fresh pages is dear: keep and reuse buffers (`PixelBufferPool`).
    public convenience init(format: PixelFormat, size: PixelSize) {
        let alignment = 64
        var offsets: [(offset: Int, stride: Int)] = []
        var total = 0
        for index in 0..<format.planeCount {
            let (rowBytes, rows) = format.plane(index, of: size)
            let stride = (rowBytes + alignment - 1) / alignment * alignment
            offsets.append((total, stride))
            total += stride * rows
        }
        // A margin behind the last row lets vector code read a full register there.
        nonisolated(unsafe) let memory = UnsafeMutableRawPointer.allocate(
            byteCount: total + alignment, alignment: alignment)
        self.init(
            format: format, size: size,
            planes: offsets.map { Plane(base: memory + $0.offset, stride: $0.stride) },
            release: { memory.deallocate() })
    }

    deinit { release() }
}

/// One picture on its way: pixels, and what is known of them.
public struct Picture: Sendable {
    public var buffer: PixelBuffer
    /// Meaning of the YCbCr samples.
    public var colour: ColourDescription
    /// When the screen looked like this (for a decoded picture: when its frame's last part arrived), on this machine's clock.
    public var time: MediaTime
    /// For a decoded picture: when the host's screen looked like this, on this machine's clock, if that is known.
    public var captureTime: MediaTime?
    /// For a decoded picture: when it was ready to be shown.
    public var decodedTime: MediaTime?
    /// What differs from the picture that the same source handed on before. A source that doesn't know says everything.
    public var damage: DamageRegion
    /// The source's own count of pictures, from 0; the wire's sequence number for a decoded one.
    public var number: UInt64

    public init(
        buffer: PixelBuffer, colour: ColourDescription = .bt709Limited, time: MediaTime, damage: DamageRegion? = nil,
        number: UInt64 = 0
    ) {
        self.buffer = buffer
        self.colour = colour
        self.time = time
        self.damage = damage ?? DamageRegion(PixelRect(buffer.size))
        self.number = number
    }

    public var size: PixelSize { buffer.size }
    public var format: PixelFormat { buffer.format }

    /// This picture in the place of `older`, which nobody has looked at: what changed then has changed now.
    public func replacing(_ older: Picture) -> Picture {
        var picture = self
        guard older.size == size else {
            picture.damage = DamageRegion(PixelRect(size))
            return picture
        }
        picture.damage.formUnion(older.damage)
        return picture
    }
}
