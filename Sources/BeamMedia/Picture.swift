/// The layout of a picture's samples in memory.
public enum PixelFormat: Hashable, Sendable {
    /// One plane with 4 bytes per pixel: blue, green, red, unused (X11's 24-bit TrueColor on a little-endian machine).
    case bgrx
    /// Three 8-bit planes, 4:2:0: Y, then Cb and Cr of ⌈width/2⌉ × ⌈height/2⌉.
    case i420
    /// Three 8-bit planes, 4:4:4: Y, Cb and Cr of width × height.
    case i444

    public var planeCount: Int { self == .bgrx ? 1 : 3 }

    /// Bytes per row of plane `index` (without padding) and its number of rows, for a picture of `size`.
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

    /// The description of the pictures that BeamRoom sends: BT.709, limited range.
    public static let bt709Limited = ColourDescription(matrix: .bt709, isFullRange: false)
}

/// A plane of a picture: rows of bytes, `stride` bytes apart.
public struct Plane: @unchecked Sendable {
    // Sendable: the memory belongs to the plane's `PixelBuffer`. Only one stage writes it, before the picture is handed
    // on.

    /// The first byte of the top row.
    public let base: UnsafeMutableRawPointer
    /// Bytes from one row to the next, at least a row's size.
    public let stride: Int

    public init(base: UnsafeMutableRawPointer, stride: Int) {
        self.base = base
        self.stride = stride
    }
}

/// A picture's memory, shared by its holders and released by the last one.
///
/// Written by its creator before it is handed on, read-only afterwards.
public final class PixelBuffer: @unchecked Sendable {
    // Sendable: immutable except for the pixels, which only the creator writes, before handing on.

    public let format: PixelFormat
    public let size: PixelSize
    public let planes: [Plane]
    private let release: @Sendable () -> Void

    /// Wraps memory owned elsewhere. `release` is called once, on any thread, when the last holder releases the buffer.
    public init(
        format: PixelFormat, size: PixelSize, planes: [Plane], release: @escaping @Sendable () -> Void
    ) {
        precondition(planes.count == format.planeCount)
        self.format = format
        self.size = size
        self.planes = planes
        self.release = release
    }

    /// New memory with rows aligned to 64 bytes. First use of new pages is slow, so reuse buffers (`PixelBufferPool`).
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
        // A margin after the last row, because vector code may read a full register there.
        nonisolated(unsafe) let memory = UnsafeMutableRawPointer.allocate(
            byteCount: total + alignment, alignment: alignment)
        self.init(
            format: format, size: size,
            planes: offsets.map { Plane(base: memory + $0.offset, stride: $0.stride) },
            release: { memory.deallocate() })
    }

    deinit { release() }

    /// The length of all planes without their rows' padding, in bytes.
    public var byteCount: Int {
        planes.indices.reduce(0) { sum, index in
            let (rowBytes, rows) = format.plane(index, of: size)
            return sum + rowBytes * rows
        }
    }
}

/// A picture with its metadata.
public struct Picture: Sendable {
    public var buffer: PixelBuffer
    public var colour: ColourDescription
    /// The capture time; for a decoded picture, the arrival time of its frame's last part. On this machine's clock.
    public var time: MediaTime
    /// For a decoded picture: the host's capture time converted to this machine's clock, if known.
    public var captureTime: MediaTime?
    /// For a decoded picture: when decoding finished.
    public var decodedTime: MediaTime?
    /// The damage since the source's previous picture. A source that doesn't know reports everything.
    public var damage: DamageRegion
    /// The source's number of the picture, from 0; for a decoded picture, the wire's sequence number.
    public var number: UInt64
    /// For a source's picture: all that has changed since the picture before was sent exactly (`ExactPatch`).
    public var isSentExactly = false
    /// For a decoded picture: which parts of the host's screen have changed since the picture before; nil: its frame
    /// doesn't say.
    public var changes: FrameChanges?
    /// For a decoded picture: its frame's session (`ReceivedFrame.session`).
    public var session = MediaTime.zero

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

    /// This picture, replacing `older`, which wasn't taken: the damage of both is combined.
    public func replacing(_ older: Picture) -> Picture {
        var picture = self
        guard older.size == size else {
            picture.damage = DamageRegion(PixelRect(size))
            picture.isSentExactly = false
            return picture
        }
        picture.damage.formUnion(older.damage)
        picture.isSentExactly = isSentExactly && older.isSentExactly
        if session == older.session {
            // After one that says nothing, all may have changed.
            picture.changes = changes.map { changes in
                older.changes.map { changes.following($0, size: size) } ?? .all(of: size, at: changes.captureTime)
            }
        }
        return picture
    }
}
