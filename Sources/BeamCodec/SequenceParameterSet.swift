import BeamMedia

/// The fields of a sequence parameter set (H.264 clause 7.3.2.1.1) that determine the memory for decoding.
///
/// The input is untrusted: parsing allocates nothing, and refuses values outside the standard's bounds.
struct SequenceParameterSet: Equatable {
    var profile: UInt8
    var level: UInt8
    /// `chroma_format_idc`: 0 none, 1 4:2:0, 2 4:2:2, 3 4:4:4.
    var chromaFormat: UInt32 = 1
    /// The greater of luma's and chroma's.
    var bitDepth: UInt32 = 8
    /// The length of `frame_num` in bits.
    var numberBits: UInt32
    /// `pic_order_cnt_type`, and the length of `pic_order_cnt_lsb` in bits; 0 if the type has none.
    var orderType: UInt32
    var orderBits: UInt32 = 0
    /// `frame_mbs_only_flag`: no picture is interlaced.
    var isProgressive: Bool
    /// `separate_colour_plane_flag`.
    var hasSeparatePlanes = false
    /// `max_num_ref_frames`.
    var references: UInt32
    /// The size in whole macroblocks, before cropping.
    var codedSize: PixelSize
    /// The size after cropping; the coded size if everything is cropped.
    var size: PixelSize
    /// `max_num_reorder_frames` and `max_dec_frame_buffering` (clause E.2.1); nil if absent.
    var reordered: UInt32?
    var buffered: UInt32?
    /// The positions of `max_num_ref_frames` and `max_dec_frame_buffering`: in bits from the NAL unit's header on,
    /// without emulation prevention bytes.
    private(set) var referencesPlace: Int
    private(set) var bufferedPlace: Int?

    /// The profiles whose sets have chroma format and bit depth.
    static let highProfiles: Set<UInt8> = [100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135]
    /// The longest side in macroblocks at any level (A.3.1: √(8 × 139,264)).
    private static let mostMacroblocks: UInt32 = 1055

    /// Nil if the set is cut short or has a value outside the standard's bounds.
    ///
    /// `unit` is a NAL unit, its header included.
    init?(_ unit: ArraySlice<UInt8>) {
        let start = unit.startIndex
        guard unit.count > 4, NALUnits.Kind(header: unit[start]) == .sequenceParameterSet else { return nil }
        var bits = BitReader(unit.dropFirst())
        guard let profile = bits.bits(8), bits.bits(8) != nil, let level = bits.bits(8), let id = bits.unsigned(),
            id < 32
        else { return nil }
        self.profile = UInt8(truncatingIfNeeded: profile)
        self.level = UInt8(truncatingIfNeeded: level)
        if Self.highProfiles.contains(self.profile) {
            guard let format = bits.unsigned(), format <= 3 else { return nil }
            chromaFormat = format
            if format == 3 {
                guard let hasSeparatePlanes = bits.flag() else { return nil }
                self.hasSeparatePlanes = hasSeparatePlanes
            }
            guard let luma = bits.unsigned(), let chroma = bits.unsigned(), luma <= 6, chroma <= 6 else { return nil }
            bitDepth = 8 + max(luma, chroma)
            guard bits.bit() != nil, let hasMatrices = bits.flag() else { return nil }
            if hasMatrices, !Self.skipMatrices(&bits, count: format == 3 ? 12 : 8) { return nil }
        }
        guard let numberBits = bits.unsigned(), numberBits <= 12, let order = Self.readOrder(&bits) else {
            return nil
        }
        self.numberBits = numberBits + 4
        (orderType, orderBits) = order
        referencesPlace = bits.position
        guard let references = bits.unsigned(), references <= 16, bits.bit() != nil else { return nil }
        self.references = references
        guard let width = bits.unsigned(), let height = bits.unsigned(), let isProgressive = bits.bit(),
            width < Self.mostMacroblocks, height < Self.mostMacroblocks
        else { return nil }
        self.isProgressive = isProgressive == 1
        if isProgressive == 0, bits.bit() == nil { return nil }
        let rows = (height + 1) * (2 - isProgressive)
        codedSize = PixelSize(width: Int(width + 1) * 16, height: Int(rows) * 16)
        size = codedSize
        guard bits.bit() != nil, let isCropped = bits.flag() else { return nil }
        if isCropped {
            guard let left = bits.unsigned(), let right = bits.unsigned(), let top = bits.unsigned(),
                let bottom = bits.unsigned()
            else { return nil }
            let unitWidth = chromaFormat == 1 || chromaFormat == 2 ? 2 : 1
            let unitHeight = (chromaFormat == 1 ? 2 : 1) * (2 - Int(isProgressive))
            let cropped = PixelSize(
                width: codedSize.width - unitWidth * (Int(left) + Int(right)),
                height: codedSize.height - unitHeight * (Int(top) + Int(bottom)))
            if cropped.width > 0, cropped.height > 0 { size = cropped }
        }
        guard let hasUsability = bits.flag() else { return nil }
        if hasUsability, !readUsability(&bits) { return nil }
    }

    /// scaling_list() (clause 7.3.2.1.1.1), `count` times.
    private static func skipMatrices(_ bits: inout BitReader, count: Int) -> Bool {
        for matrix in 0..<count {
            guard let isPresent = bits.flag() else { return false }
            guard isPresent else { continue }
            var (last, next): (Int32, Int32) = (8, 8)
            for _ in 0..<(matrix < 6 ? 16 : 64) {
                if next != 0 {
                    guard let delta = bits.signed(), (-128...127).contains(delta) else { return false }
                    next = (last + delta + 256) % 256
                }
                if next != 0 { last = next }
            }
        }
        return true
    }

    /// Reads pic_order_cnt_type and its fields: the type, and the length of pic_order_cnt_lsb; nil if they are invalid.
    private static func readOrder(_ bits: inout BitReader) -> (type: UInt32, bits: UInt32)? {
        guard let type = bits.unsigned(), type <= 2 else { return nil }
        if type == 0 { return bits.unsigned().flatMap { $0 <= 12 ? (type, $0 + 4) : nil } }
        guard type == 1 else { return (type, 0) }
        guard bits.bit() != nil, bits.unsigned() != nil, bits.unsigned() != nil, let cycle = bits.unsigned(),
            cycle <= 255
        else { return nil }
        for _ in 0..<cycle where bits.unsigned() == nil { return nil }
        return (type, 0)
    }

    /// vui_parameters() (clause E.1.1), as far as bitstream_restriction.
    private mutating func readUsability(_ bits: inout BitReader) -> Bool {
        guard let hasAspect = bits.flag() else { return false }
        if hasAspect {
            guard let aspect = bits.bits(8) else { return false }
            if aspect == 255, !bits.skip(32) { return false }
        }
        guard let hasOverscan = bits.flag(), bits.skip(hasOverscan ? 1 : 0), let hasSignal = bits.flag() else {
            return false
        }
        if hasSignal {
            guard bits.skip(4), let hasColour = bits.flag(), bits.skip(hasColour ? 24 : 0) else { return false }
        }
        guard let hasLocation = bits.flag() else { return false }
        if hasLocation, bits.unsigned() == nil || bits.unsigned() == nil { return false }
        guard let hasTiming = bits.flag(), bits.skip(hasTiming ? 65 : 0) else { return false }
        guard let hasFirst = bits.flag(), !hasFirst || Self.skipReference(&bits), let hasSecond = bits.flag(),
            !hasSecond || Self.skipReference(&bits)
        else { return false }
        guard bits.skip(hasFirst || hasSecond ? 1 : 0), bits.bit() != nil, let isRestricted = bits.flag() else {
            return false
        }
        guard isRestricted else { return true }
        guard bits.bit() != nil, bits.unsigned() != nil, bits.unsigned() != nil, bits.unsigned() != nil,
            bits.unsigned() != nil, let reordered = bits.unsigned()
        else { return false }
        let place = bits.position
        guard let buffered = bits.unsigned(), reordered <= 16, buffered <= 16 else { return false }
        bufferedPlace = place
        self.reordered = reordered
        self.buffered = buffered
        return true
    }

    /// hrd_parameters() (clause E.1.2).
    private static func skipReference(_ bits: inout BitReader) -> Bool {
        guard let count = bits.unsigned(), count <= 31, bits.skip(8) else { return false }
        for _ in 0...count {
            guard bits.unsigned() != nil, bits.unsigned() != nil, bits.bit() != nil else { return false }
        }
        return bits.skip(20)
    }
}
