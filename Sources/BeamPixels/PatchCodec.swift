import BeamMedia
import CBeamPixels
import CZstd

/// Why a patch's content is refused.
public enum PatchError: Error, Hashable, CustomStringConvertible {
    case length(Int)
    case format(UInt8)
    case rectangleCount(Int)
    /// It is empty, off the grid of tiles, or outside the picture.
    case rectangle(PixelRect)
    case overlap(PixelRect)
    /// It isn't one frame of Zstandard with as many pixels as its rectangles have.
    case pixels

    public var description: String {
        switch self {
        case .length(let length): "a patch whose content of \(length) bytes is cut short"
        case .format(let format): "a patch of format \(format), which isn't known"
        case .rectangleCount(let count): "a patch of \(count) rectangles"
        case .rectangle(let rect): "a patch of \(rect), which is off the grid of tiles or outside the picture"
        case .overlap(let rect): "a patch with \(rect), of which it has a part twice"
        case .pixels: "a patch with other pixels than its rectangles have"
        }
    }
}

/// Makes the content of exact patches, and reads it.
///
/// u8 format 1, u16 number of rectangles, for each u16 x, y, width, height, big-endian; then one frame of Zstandard
/// (RFC 8878) with the rectangles' pixels one after the other, rows from the top, without padding, 3 bytes each: blue,
/// green, red. Keeps working memory: one for each thread.
public struct PatchCodec: @unchecked Sendable {
    // Sendable: the contexts are used by whoever holds the value, by one thread at a time, as `mutating` says.

    /// The most rectangles of a patch.
    public static let mostRectangles = 64
    private static let format: UInt8 = 1
    private static let headLength = 3
    private static let rectangleLength = 8
    private static let spare = 64
    /// Chosen by measurement, see the page *Exact*.
    private static let level: Int32 = -1

    private let contexts = Contexts()
    private let kernel: PixelConversion.Kernel
    private var packed: [UInt8] = []
    private var restored = PatchMemory(0)

    private final class Contexts {
        let compression = ZSTD_createCCtx()
        let decompression = ZSTD_createDCtx()

        deinit {
            ZSTD_freeCCtx(compression)
            ZSTD_freeDCtx(decompression)
        }
    }

    public init() { self.init(kernel: .best) }

    package init(kernel: PixelConversion.Kernel) { self.kernel = kernel }

    /// Rectangles on the grid of tiles that cover a picture's damage and don't overlap, at most `mostRectangles`.
    public static func tileAligned(_ damage: DamageRegion, in size: PixelSize) -> [PixelRect] {
        let rects = damage.clipped(to: PixelRect(size)).rects
        if rects.count == 1 { return [ExactTiles.pixels(of: ExactTiles.touched(by: rects[0]), in: size)] }
        // Most damage is far smaller than the picture, so only the tiles around it are looked at.
        let touched = rects.map { ExactTiles.touched(by: $0) }
        let bounds = touched.reduce(PixelRect(x: 0, y: 0, width: 0, height: 0)) { $0.union($1) }
        var marked = [Bool](repeating: false, count: bounds.area)
        for tiles in touched {
            for row in tiles.y - bounds.y..<tiles.maxY - bounds.y {
                let first = row * bounds.width + tiles.x - bounds.x
                for tile in first..<first + tiles.width { marked[tile] = true }
            }
        }
        return ExactTiles.rectangles(marked, across: bounds.width, most: mostRectangles).map { tiles in
            let moved = PixelRect(
                x: tiles.x + bounds.x, y: tiles.y + bounds.y, width: tiles.width, height: tiles.height)
            return ExactTiles.pixels(of: moved, in: size)
        }
    }

    /// Exact pixels of a picture (bgrx) as content.
    ///
    /// - Parameter rects: on the grid of tiles, inside the picture, without overlaps.
    /// - Returns: nil if it would be longer than `limit` bytes, or there are no or too many rectangles.
    public mutating func encode(_ rects: [PixelRect], of picture: PixelBuffer, atMost limit: Int) -> [UInt8]? {
        precondition(picture.format == .bgrx)
        guard (1...Self.mostRectangles).contains(rects.count) else { return nil }
        let head = Self.headLength + rects.count * Self.rectangleLength
        let length = rects.reduce(0) { $0 + $1.area } * 3
        guard limit > head, let compression = contexts.compression else { return nil }
        if packed.count < length { packed = [UInt8](repeating: 0, count: length) }
        packed.withUnsafeMutableBytes { packed in
            var start = 0
            for rect in rects {
                beam_pack_pixels(
                    picture.planes[0].constant, rect.raw,
                    packed.baseAddress?.advanced(by: start).assumingMemoryBound(to: UInt8.self), kernel.raw)
                start += rect.area * 3
            }
        }
        var isShortEnough = false
        // It ends early when its memory is full. It writes whole words, and so needs more than its result takes.
        let room = min(limit, head + ZSTD_compressBound(length)) + Self.spare
        let content = [UInt8](unsafeUninitializedCapacity: room) { bytes, count in
            let memory = UnsafeMutableRawBufferPointer(bytes)
            memory[0] = Self.format
            var writer = BigEndianWriter(UnsafeMutableRawBufferPointer(rebasing: memory[1...]))
            writer.write(UInt16(rects.count))
            for rect in rects {
                for value in [rect.x, rect.y, rect.width, rect.height] { writer.write(UInt16(clamping: value)) }
            }
            let result = packed.withUnsafeBytes {
                ZSTD_compressCCtx(
                    compression, memory.baseAddress?.advanced(by: head), room - head, $0.baseAddress, length,
                    Self.level)
            }
            isShortEnough = ZSTD_isError(result) == 0 && head + result <= limit
            count = isShortEnough ? head + result : 0
        }
        return isShortEnough ? content : nil
    }

    /// The rectangles of content from a peer: they lie in a picture of `pictureSize`, on the grid, each part once.
    public static func rectangles(of content: [UInt8], pictureSize: PixelSize) throws(PatchError) -> [PixelRect] {
        guard content.count >= headLength else { throw .length(content.count) }
        guard content[0] == format else { throw .format(content[0]) }
        let count = Int(content[1]) << 8 | Int(content[2])
        guard (1...mostRectangles).contains(count) else { throw .rectangleCount(count) }
        let head = headLength + count * rectangleLength
        guard content.count > head else { throw .length(content.count) }
        var rects: [PixelRect] = []
        for index in 0..<count {
            func value(_ field: Int) -> Int {
                let place = headLength + index * rectangleLength + field * 2
                return Int(content[place]) << 8 | Int(content[place + 1])
            }
            let rect = PixelRect(x: value(0), y: value(1), width: value(2), height: value(3))
            guard ExactTiles.contains(rect, in: pictureSize) else { throw .rectangle(rect) }
            guard rects.allSatisfy({ $0.intersection(rect).isEmpty }) else { throw .overlap(rect) }
            rects.append(rect)
        }
        return rects
    }

    /// Reads content from a peer: what it restores is never larger than its rectangles.
    public mutating func decode(_ content: [UInt8], pictureSize: PixelSize) throws(PatchError) -> DecodedPatch {
        let rects = try Self.rectangles(of: content, pictureSize: pictureSize)
        let head = Self.headLength + rects.count * Self.rectangleLength
        let length = rects.reduce(0) { $0 + $1.area } * 3
        guard let decompression = contexts.decompression,
            content.withUnsafeBytes({ Self.isFrame($0[head...], of: length) })
        else { throw .pixels }
        if !isKnownUniquelyReferenced(&restored) || restored.bytes.count < length { restored = PatchMemory(length) }
        let pixels = restored
        // The memory of patches larger than changes, which are rare, isn't kept.
        if length > PatchMemory.mostKept { restored = PatchMemory(0) }
        let result = content.withUnsafeBytes {
            ZSTD_decompressDCtx(
                decompression, pixels.bytes.baseAddress, length, $0.baseAddress?.advanced(by: head), $0.count - head)
        }
        guard ZSTD_isError(result) == 0, result == length else { throw .pixels }
        return DecodedPatch(rects: rects, pixels: pixels, kernel: kernel)
    }

    /// Whether bytes are one frame that says this length, so that no memory is taken for a frame that says another.
    private static func isFrame(_ bytes: Slice<UnsafeRawBufferPointer>, of length: Int) -> Bool {
        let bytes = UnsafeRawBufferPointer(rebasing: bytes)
        return ZSTD_getFrameContentSize(bytes.baseAddress, bytes.count) == UInt64(length)
            && ZSTD_findFrameCompressedSize(bytes.baseAddress, bytes.count) == bytes.count
    }
}

/// Where pixels are restored. The codec writes there again once no patch has it: the program gives large blocks back to the
/// system, and new ones take longer to be mapped than a window takes to be restored.
private final class PatchMemory: @unchecked Sendable {
    // Sendable: written only by a codec that has the one reference to it.

    /// As long as the largest changes (640 × 360 pixels), and some more.
    static let mostKept = 1 << 20

    let bytes: UnsafeMutableRawBufferPointer

    init(_ count: Int) { bytes = .allocate(byteCount: count, alignment: 16) }

    deinit { bytes.deallocate() }
}

/// The exact pixels of some rectangles of a picture.
public struct DecodedPatch: Sendable {
    public let rects: [PixelRect]
    /// Of each rectangle one after the other, 3 bytes each: blue, green, red.
    fileprivate let pixels: PatchMemory
    fileprivate let kernel: PixelConversion.Kernel

    /// Copies a part of a rectangle to its place in a picture; the fourth byte is 255.
    ///
    /// - Parameters:
    ///   - index: the rectangle's.
    ///   - part: in pixels of the picture, inside the rectangle.
    ///   - plane: of the whole picture, bgrx.
    public func copy(_ index: Int, part: PixelRect, into plane: Plane) {
        let rect = rects[index]
        precondition(rect.contains(part))
        let start = rects[..<index].reduce(0) { $0 + $1.area } * 3
        let first = start + ((part.y - rect.y) * rect.width + part.x - rect.x) * 3
        beam_unpack_pixels(
            pixels.bytes.baseAddress?.advanced(by: first).assumingMemoryBound(to: UInt8.self), rect.width * 3,
            plane.raw, part.raw, kernel.raw)
    }
}
