import BeamLibAV
import BeamMedia
import Glibc

/// Limits on the memory that a stream may take to decode. The sender determines that memory, so a stream is checked
/// before libavcodec gets it.
public struct StreamBounds: Sendable, Hashable {
    /// Pictures in memory besides references: the one being decoded, and those on their way to the window.
    private static let extraPictures = 4
    /// References that any stream may have. A low-delay stream needs one or two.
    private static let leastReferences = 4
    /// The most memory of a decoder's pictures, in bytes. Pictures of more than 4096 × 2304 exceed it with
    /// `leastReferences`.
    private static let mostBytes = 192 << 20

    /// The largest pictures, after cropping.
    public var largest: PictureBounds

    public init(_ largest: PictureBounds = .standard) { self.largest = largest }

    /// Pictures with sides up to these.
    public init(largest: PixelSize) { self.init(PictureBounds(sides: largest)) }

    /// Checks an access unit whose framing is valid: its parameter sets, and those among its NAL units.
    ///
    /// - Throws: `streamBeyondBounds` if it is too large, `unsupportedStream` if it can't be shown here, `damagedFrame`
    ///   if it can't be read.
    func check(_ unit: AccessUnit) throws(CodecError) {
        if let sets = unit.parameterSets {
            for set in sets.sps { try check(set: set[...]) }
            for set in sets.sps + sets.pps { try Self.checkFraming(set[...]) }
        }
        for nalUnit in NALUnits.avcc(unit.avcc) {
            // libavcodec would apply a parameter set from there on.
            if let header = nalUnit.first, NALUnits.Kind(header: header) == .sequenceParameterSet {
                try check(set: nalUnit)
            }
            try Self.checkFraming(nalUnit)
        }
    }

    /// Refuses a start code inside a NAL unit, which clause 7.4.1 forbids: libavcodec would begin another unit there,
    /// which hasn't been checked.
    private static func checkFraming(_ unit: ArraySlice<UInt8>) throws(CodecError) {
        let isSound = unit.withUnsafeBytes { bytes in
            var from = 0
            while from + 2 < bytes.count, let base = bytes.baseAddress {
                // memchr, because zeros are rare in compressed data.
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
        // The coded size is whole macroblocks, or pairs of them. Cropping beyond that is refused, because cropped
        // samples take memory, too.
        let sides = largest.sides
        let limit = PictureBounds(
            sides: PixelSize(width: sides.width + 15, height: sides.height + 31),
            area: largest.area + 15 * size.height + 31 * size.width + 15 * 31)
        guard largest.contains(size), limit.contains(coded), LibAV.isSupported(coded) else {
            let shown = coded.width >= size.width + 16 || coded.height >= size.height + 32 ? coded : size
            throw .streamBeyondBounds(
                reason: "its pictures have \(shown.width) × \(shown.height) pixels"
                    + (LibAV.isSupported(shown)
                        ? ". `--max-picture \(shown)` allows that, if you trust the host"
                        : ", more than BeamRoom decodes"))
        }
        let most = mostReferences(set)
        guard Int(set.references) <= most, Int(set.buffered ?? 0) <= max(most, Self.leastReferences) else {
            throw .streamBeyondBounds(
                reason:
                    "it needs \(max(set.references, set.buffered ?? 0)) reference pictures of \(size), more than the "
                    + "\(most) that fit here")
        }
        // A screen is sent live, so its pictures aren't reordered much.
        guard set.reordered ?? 0 <= Self.leastReferences else {
            throw .streamBeyondBounds(
                reason: "it reorders \(set.reordered ?? 0) pictures, more than the \(Self.leastReferences) allowed")
        }
    }

    /// The most references for which there is memory.
    func mostReferences(_ set: SequenceParameterSet) -> Int {
        // Samples, and libavcodec's data of each macroblock (motion vectors, types, references: about 200 bytes).
        let area = set.codedSize.area
        let picture = area * (set.chromaFormat == 3 ? 3 : set.chromaFormat == 2 ? 2 : 1) + area / 2 + area * 200 / 256
        return max(Self.leastReferences, min(16, Self.mostBytes / max(1, picture) - Self.extraPictures))
    }
}
