import BeamLibAV
import BeamMedia
import Glibc

/// What a stream may ask of a decoder: whoever sends one decides how much memory it takes to decode, so that is looked at before
/// libavcodec gets it.
public struct StreamBounds: Sendable, Hashable {
    /// Where nobody says otherwise: 4K in any shape, and more than any usual screen has.
    public static let standardLargest = PixelSize(width: 4096, height: 4096)
    /// Pictures that the decoder holds beside references: the one that it makes, and those that are on their way to the window.
    private static let beside = 4
    /// References that any stream may have, whatever its size: what low delay needs is one, or two.
    private static let leastReferences = 4
    /// For all of a decoder's pictures, in bytes. Of more than 4096 × 2304 pixels, `leastReferences` take more than this.
    private static let mostBytes = 192 << 20

    /// The longest sides, in pixels after cropping.
    public var largest: PixelSize

    public init(largest: PixelSize = Self.standardLargest) { self.largest = largest }

    /// Looks at an access unit whose framing is sound: its own parameter sets, and those that stand among its NAL units.
    ///
    /// - Throws: `streamBeyondBounds` for what is too large, `unsupportedStream` for what nothing here shows, `damagedFrame` for what
    ///   can't be read.
    func check(_ unit: AccessUnit) throws(CodecError) {
        if let sets = unit.parameterSets {
            for set in sets.sps { try check(set: set[...]) }
            for set in sets.sps + sets.pps { try Self.checkFraming(set[...]) }
        }
        for nalUnit in NALUnits.avcc(unit.avcc) {
            // libavcodec would follow it from there on.
            if let header = nalUnit.first, NALUnits.Kind(header: header) == .sequenceParameterSet {
                try check(set: nalUnit)
            }
            try Self.checkFraming(nalUnit)
        }
    }

    /// A start code inside a NAL unit (which clause 7.4.1 forbids) would be the beginning of another one to libavcodec, that
    /// nobody has looked at.
    private static func checkFraming(_ unit: ArraySlice<UInt8>) throws(CodecError) {
        let isSound = unit.withUnsafeBytes { bytes in
            var from = 0
            while from + 2 < bytes.count, let base = bytes.baseAddress {
                // Compressed bytes are hardly ever zero.
                guard let zero = memchr(base + from, 0, bytes.count - from) else { return true }
                let index = UnsafeRawPointer(zero) - base
                guard index + 2 < bytes.count else { return true }
                if bytes[index + 1] == 0, bytes[index + 2] == 1 { return false }
                from = index + 1
            }
            return true
        }
        guard isSound else { throw .damagedFrame(reason: "a NAL unit has a start code inside") }
    }

    private func check(set bytes: ArraySlice<UInt8>) throws(CodecError) {
        guard let set = SequenceParameterSet(bytes) else {
            throw .damagedFrame(reason: "its parameter sets can't be read")
        }
        guard set.bitDepth == 8 else {
            throw .unsupportedStream(reason: "its samples have \(set.bitDepth) bits")
        }
        let (size, coded) = (set.size, set.codedSize)
        // The coded size is whole macroblocks, or pairs of them; what is cropped beyond that takes memory all the same.
        guard size.width <= largest.width, size.height <= largest.height, coded.width < largest.width + 16,
            coded.height < largest.height + 32, LibAV.isSupported(coded)
        else {
            let shown = coded.width >= size.width + 16 || coded.height >= size.height + 32 ? coded : size
            throw .streamBeyondBounds(
                reason: "its pictures have \(shown.width) × \(shown.height) pixels. "
                    + "`--max-picture \(shown)` allows that, if you trust the host")
        }
        let most = mostReferences(set)
        guard Int(set.references) <= most, Int(set.buffered ?? 0) <= max(most, Self.leastReferences) else {
            throw .streamBeyondBounds(
                reason:
                    "it wants \(max(set.references, set.buffered ?? 0)) pictures of \(size) kept for reference, and "
                    + "\(most) are the most here")
        }
        // Who sends a screen has no time to send pictures in another order than that of their making.
        guard set.reordered ?? 0 <= Self.leastReferences else {
            throw .streamBeyondBounds(reason: "it holds \(set.reordered ?? 0) pictures back")
        }
    }

    /// References for which there is memory.
    func mostReferences(_ set: SequenceParameterSet) -> Int {
        // Samples, and what libavcodec keeps of each macroblock (motion vectors, types, references: some 200 bytes).
        let area = set.codedSize.area
        let picture = area * (set.chromaFormat == 3 ? 3 : set.chromaFormat == 2 ? 2 : 1) + area / 2 + area * 200 / 256
        return max(Self.leastReferences, min(16, Self.mostBytes / max(1, picture) - Self.beside))
    }
}
