import BeamMedia
import CBeamPixels
import CZstd

/// Why a patch's content is refused.
public enum PatchError: Error, Hashable, CustomStringConvertible {
    case length(Int)
    case format(UInt8)
    case rectangleCount(Int)
    /// It is empty or outside the picture, or off the grid of tiles in a patch that builds on nothing.
    case rectangle(PixelRect)
    /// It moves nothing, or from or to outside the picture.
    case move(PixelMove)
    case overlap(PixelRect)
    /// It isn't one frame of Zstandard with as many pixels as its rectangles have.
    case pixels

    public var description: String {
        switch self {
        case .length(let length): "a patch whose content of \(length) bytes is cut short"
        case .format(let format): "a patch of format \(format), which isn't known"
        case .rectangleCount(let count): "a patch of \(count) rectangles"
        case .rectangle(let rect): "a patch of \(rect), which is off the grid of tiles or outside the picture"
        case .move(let move): "a patch that moves \(move.target) by \(move.dx) and \(move.dy) pixels"
        case .overlap(let rect): "a patch with \(rect), of which it has a part twice"
        case .pixels: "a patch with other pixels than its rectangles have"
        }
    }
}

/// Makes the content of exact patches, and reads it. Big-endian:
///
/// - u8 format 2, u8 flags: bit 0, it builds on the picture before; bit 1, pixels have moved; u16 number of rectangles.
/// - With bit 0: u32 age of the picture before and u32 age of the last change of what is needed (`PatchPlan.Basis`), in µs.
/// - With bit 1, which needs bit 0: u16 x, y, width, height of where pixels have moved to, i16 dx, dy (`PixelMove`).
/// - For each rectangle u16 x, y, width, height.
/// - If there is a rectangle, one frame of Zstandard (RFC 8878) with the rectangles' pixels one after the other, rows from
///   the top, without padding, 3 bytes each: blue, green, red.
///
/// Keeps working memory: one for each thread.
public struct PatchCodec: @unchecked Sendable {
    // Sendable: the contexts are used by whoever holds the value, by one thread at a time, as `mutating` says.

    /// The most rectangles of a patch.
    public static let mostRectangles = 64
    private static let format: UInt8 = 2
    private static let headLength = 4
    private static let basisLength = 8
    private static let moveLength = 12
    private static let rectangleLength = 8
    private static let (hasBasis, hasMove) = (UInt8(1), UInt8(2))
    private static let spare = 64
    /// Chosen by measurement, see the page *Exact*: letters, which are few pixels, are worth a slower search.
    private static func level(_ length: Int) -> Int32 { length <= 2048 ? 7 : -1 }

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

    /// What has changed of a picture (bgrx) as content.
    ///
    /// - Parameter plan: inside the picture; on the grid of tiles if it builds on nothing.
    /// - Returns: nil if it would be longer than `limit` bytes, there is nothing in it, or there are too many rectangles.
    public mutating func encode(_ plan: PatchPlan, of picture: PixelBuffer, atMost limit: Int) -> [UInt8]? {
        precondition(picture.format == .bgrx)
        let rects = plan.rects
        guard rects.count <= Self.mostRectangles, !rects.isEmpty || plan.move != nil else { return nil }
        let head = Self.headLength(of: plan)
        let length = rects.reduce(0) { $0 + $1.area } * 3
        guard limit > head, let compression = contexts.compression else { return nil }
        pack(rects, of: picture, length)
        var isShortEnough = false
        // It ends early when its memory is full. It writes whole words, and so needs more than its result takes.
        let room = min(limit, head + ZSTD_compressBound(length)) + Self.spare
        let content = [UInt8](unsafeUninitializedCapacity: room) { bytes, count in
            let memory = UnsafeMutableRawBufferPointer(bytes)
            Self.writeHead(plan, to: memory)
            guard length > 0 else {
                (isShortEnough, count) = (true, head)
                return
            }
            let result = packed.withUnsafeBytes {
                ZSTD_compressCCtx(
                    compression, memory.baseAddress?.advanced(by: head), room - head, $0.baseAddress, length,
                    Self.level(length))
            }
            isShortEnough = ZSTD_isError(result) == 0 && head + result <= limit
            count = isShortEnough ? head + result : 0
        }
        return isShortEnough ? content : nil
    }

    /// The same for rectangles on the grid of tiles that build on nothing.
    public mutating func encode(_ rects: [PixelRect], of picture: PixelBuffer, atMost limit: Int) -> [UInt8]? {
        encode(PatchPlan(rects: rects), of: picture, atMost: limit)
    }

    private mutating func pack(_ rects: [PixelRect], of picture: PixelBuffer, _ length: Int) {
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
    }

    private static func headLength(of plan: PatchPlan) -> Int {
        headLength + (plan.basis == nil ? 0 : basisLength) + (plan.move == nil ? 0 : moveLength)
            + plan.rects.count * rectangleLength
    }

    private static func writeHead(_ plan: PatchPlan, to memory: UnsafeMutableRawBufferPointer) {
        precondition(plan.move == nil || plan.basis != nil)
        memory[0] = format
        memory[1] = (plan.basis == nil ? 0 : hasBasis) | (plan.move == nil ? 0 : hasMove)
        var writer = BigEndianWriter(UnsafeMutableRawBufferPointer(rebasing: memory[2...]))
        func write(_ rect: PixelRect) {
            for value in [rect.x, rect.y, rect.width, rect.height] { writer.write(UInt16(clamping: value)) }
        }
        writer.write(UInt16(plan.rects.count))
        if let basis = plan.basis {
            writer.write(basis.previous)
            writer.write(basis.needed)
        }
        if let move = plan.move {
            write(move.target)
            for value in [move.dx, move.dy] { writer.write(UInt16(bitPattern: Int16(clamping: value))) }
        }
        for rect in plan.rects { write(rect) }
    }

    /// What content from a peer does to a picture of `pictureSize`: all lies inside of it, and no part is there twice.
    public static func plan(of content: [UInt8], pictureSize: PixelSize) throws(PatchError) -> PatchPlan {
        try read(content, pictureSize: pictureSize).plan
    }

    private static func read(
        _ content: [UInt8], pictureSize: PixelSize
    ) throws(PatchError) -> (plan: PatchPlan, head: Int) {
        let result = content.withUnsafeBytes { bytes in
            Result { () throws(PatchError) in try read(bytes, pictureSize: pictureSize) }
        }
        return try result.get()
    }

    private static func read(
        _ content: UnsafeRawBufferPointer, pictureSize: PixelSize
    ) throws(PatchError) -> (plan: PatchPlan, head: Int) {
        var reader = BigEndianReader(content)
        guard let format: UInt8 = reader.integer() else { throw .length(content.count) }
        guard format == Self.format else { throw .format(format) }
        guard let flags: UInt8 = reader.integer(), let count: UInt16 = reader.integer() else {
            throw .length(content.count)
        }
        guard count <= mostRectangles, count > 0 || flags & hasMove != 0 else { throw .rectangleCount(Int(count)) }
        var plan = PatchPlan(rects: [])
        if flags & hasBasis != 0 {
            guard let previous: UInt32 = reader.integer(), let needed: UInt32 = reader.integer() else {
                throw .length(content.count)
            }
            plan.basis = PatchPlan.Basis(previous: previous, needed: needed)
        }
        if flags & hasMove != 0 {
            guard plan.basis != nil, let target = PixelRect(&reader), let dx: UInt16 = reader.integer(),
                let dy: UInt16 = reader.integer()
            else { throw .length(content.count) }
            let move = PixelMove(
                target: target, dx: Int(Int16(bitPattern: dx)), dy: Int(Int16(bitPattern: dy)))
            guard move.isInside(pictureSize) else { throw .move(move) }
            plan.move = move
        }
        for _ in 0..<count {
            guard let rect = PixelRect(&reader) else { throw .length(content.count) }
            let isValid =
                plan.basis == nil
                ? ExactTiles.contains(rect, in: pictureSize)
                : !rect.isEmpty && PixelRect(pictureSize).contains(rect)
            guard isValid else { throw .rectangle(rect) }
            guard plan.rects.allSatisfy({ $0.intersection(rect).isEmpty }) else { throw .overlap(rect) }
            plan.rects.append(rect)
        }
        // Without a rectangle nothing follows.
        guard reader.rest.isEmpty == plan.rects.isEmpty else { throw .length(content.count) }
        return (plan, content.count - reader.rest.count)
    }

    /// Reads content from a peer: what it restores is never larger than its rectangles.
    public mutating func decode(_ content: [UInt8], pictureSize: PixelSize) throws(PatchError) -> DecodedPatch {
        let (plan, head) = try Self.read(content, pictureSize: pictureSize)
        let length = plan.rects.reduce(0) { $0 + $1.area } * 3
        guard length > 0 else { return DecodedPatch(plan: plan, pixels: PatchMemory(0), kernel: kernel) }
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
        return DecodedPatch(plan: plan, pixels: pixels, kernel: kernel)
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

/// What a patch does to a picture, with the exact pixels of its rectangles.
public struct DecodedPatch: Sendable {
    public let plan: PatchPlan
    public var rects: [PixelRect] { plan.rects }
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
        let rect = plan.rects[index]
        precondition(rect.contains(part))
        let start = plan.rects[..<index].reduce(0) { $0 + $1.area } * 3
        let first = start + ((part.y - rect.y) * rect.width + part.x - rect.x) * 3
        beam_unpack_pixels(
            pixels.bytes.baseAddress?.advanced(by: first).assumingMemoryBound(to: UInt8.self), rect.width * 3,
            plane.raw, part.raw, kernel.raw)
    }

    /// Carries out the patch's move in a picture (bgrx) that has what it needs.
    public func move(in plane: Plane) {
        guard let move = plan.move else { return }
        beam_move_pixels(
            plane.raw, move.target.raw, beam_motion(dx: CInt(clamping: move.dx), dy: CInt(clamping: move.dy)))
    }
}

extension PixelRect {
    /// Nil: the message is cut short.
    fileprivate init?(_ reader: inout BigEndianReader) {
        guard let x: UInt16 = reader.integer(), let y: UInt16 = reader.integer(), let width: UInt16 = reader.integer(),
            let height: UInt16 = reader.integer()
        else { return nil }
        self.init(x: Int(x), y: Int(y), width: Int(width), height: Int(height))
    }
}
