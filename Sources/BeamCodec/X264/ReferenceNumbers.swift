import BeamMedia

/// Rewrites libx264's slice headers, so that some frames are disposable.
///
/// Without B-frames libx264 makes every frame a reference. After `x264_encoder_invalidate_reference` it refers to the
/// frame before the invalidated one, but the stream still marks that one as a reference, and `frame_num` counts it. If
/// it were skipped, `frame_num` would have a gap (H.264 clause 7.4.3): libavcodec copies a picture for each gap, other
/// decoders conceal. So the invalidated frame gets `nal_ref_idc` 0, and `frame_num` counts references only. The result
/// is a plain H.264 stream with one reference, and remains one without its disposable frames.
///
/// Slice data isn't changed, only shifted by some bits.
struct ReferenceNumbers {
    /// Pictures that libx264 has to keep: the frame that is invalidated, and the one before it.
    static let keptPictures = 2

    /// The length of `frame_num` in bits.
    private let numberBits: UInt32
    /// The last reference's `frame_num` as sent.
    private var last: UInt32 = 0
    /// libx264's `frame_num` differs from ours, until the next keyframe.
    private var isRewriting = false
    private var isLastDisposable = false
    /// Scratch memory, reused for each slice.
    private var payload: [UInt8] = []
    private var moved: [UInt8] = []

    /// Nil unless the slice headers have the one supported form: progressive frames, `pic_order_cnt_type` 2, CAVLC, no
    /// weighted prediction, no slice groups, no redundant pictures.
    init?(_ sets: ParameterSets) {
        guard let sps = sets.sps.first, let sequence = SequenceParameterSet(sps[...]), sequence.orderType == 2,
            sets.sps.count == 1, sets.pps.count == 1
        else { return nil }
        var bits = BitReader(sets.pps[0].dropFirst())
        // CAVLC; neither bottom_field_pic_order_in_frame_present_flag nor slice groups; one reference in either list.
        guard bits.unsigned() != nil, bits.unsigned() != nil, bits.flag() == false, bits.flag() == false,
            bits.unsigned() == 0, bits.unsigned() == 0, bits.unsigned() == 0
        else { return nil }
        // Neither weighted prediction nor, after three numbers and two flags, redundant pictures.
        guard bits.flag() == false, bits.skip(2), bits.unsigned() != nil, bits.unsigned() != nil,
            bits.unsigned() != nil, bits.skip(2), bits.flag() == false
        else { return nil }
        numberBits = sequence.numberBits
    }

    /// Renumbers a frame in AVCC form where necessary. Returns false if its slices can't be read; then a keyframe has
    /// to follow.
    ///
    /// Call it for every frame, in order. A frame after a disposable one refers to the frame before that.
    mutating func renumber(_ frame: inout [UInt8], isKeyframe: Bool, isDisposable: Bool) -> Bool {
        guard !isKeyframe else {
            (last, isRewriting, isLastDisposable) = (0, false, false)
            return true
        }
        let number = (last + 1) & (1 << numberBits - 1)
        if isDisposable { isRewriting = true }
        if isRewriting {
            guard let renumbered = rewritten(frame, number: number, isReference: !isDisposable) else { return false }
            frame = renumbered
        }
        isLastDisposable = isDisposable
        if !isDisposable { last = number }
        return true
    }

    private mutating func rewritten(_ frame: [UInt8], number: UInt32, isReference: Bool) -> [UInt8]? {
        var output: [UInt8] = []
        output.reserveCapacity(frame.count + 16)
        var rest = frame[...]
        while rest.count > 4 {
            let length = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            let unit = rest.dropFirst(4).prefix(length)
            guard unit.count == length, append(unit, number: number, isReference: isReference, to: &output) else {
                return nil
            }
            rest = rest.dropFirst(4 + length)
        }
        return rest.isEmpty ? output : nil
    }

    /// Appends the slice with a new header.
    private mutating func append(
        _ unit: ArraySlice<UInt8>, number: UInt32, isReference: Bool, to output: inout [UInt8]
    ) -> Bool {
        guard let header = unit.first, NALUnits.Kind(header: header) == .slice,
            let slice = SliceHeader(unit, numberBits: Int(numberBits), distance: isLastDisposable ? 2 : 1)
        else { return false }
        payload.removeAll(keepingCapacity: true)
        unit.dropFirst().withUnsafeBufferPointer { NALUnits.appendPayload(of: $0, to: &payload) }
        let fresh = slice.bits(number: number, isReference: isReference)
        guard move(from: slice.length, behind: fresh) else { return false }
        let start = output.count
        NALUnits.appendLength(0, to: &output)
        // nal_ref_idc is in bits 5 and 6.
        output.append(isReference ? header : header & 0x9f)
        moved.withUnsafeBufferPointer { NALUnits.append(payload: $0, to: &output) }
        withUnsafeBytes(of: UInt32(output.count - start - 4).bigEndian) {
            output.replaceSubrange(start..<start + 4, with: $0)
        }
        return true
    }

    /// Writes `header` to `moved`, followed by the payload's bits from `start` on.
    private mutating func move(from start: Int, behind header: BitString) -> Bool {
        guard let end = payload.last, end != 0 else { return false }
        let length = payload.count * 8 - end.trailingZeroBitCount
        guard length > start else { return false }
        let whole = header.count / 8
        let part = header.count % 8
        let count = (header.count + length - start + 7) / 8
        // The bit distance between source and destination is the same everywhere.
        let first = start - part
        guard first >= 0 else { return false }
        let (skipped, shift) = (first / 8, UInt16(first % 8))
        payload.append(0)
        payload.append(0)
        moved.removeAll(keepingCapacity: true)
        moved.append(contentsOf: repeatElement(0, count: count))
        payload.withUnsafeBufferPointer { source in
            moved.withUnsafeMutableBufferPointer { target in
                for place in 0..<whole { target[place] = header.byte(place) }
                for place in whole..<count {
                    let from = skipped + place - whole
                    let pair = UInt16(source[from]) << 8 | UInt16(source[from + 1])
                    target[place] = UInt8(truncatingIfNeeded: (pair &<< shift) &>> 8)
                }
                guard part > 0 else { return }
                let mask: UInt8 = 0xff >> UInt8(part)
                target[whole] = target[whole] & mask | header.byte(whole) & ~mask
            }
        }
        return true
    }
}

/// The start of the header of libx264's P slices (H.264 clause 7.3.3), up to the fields that are rewritten.
private struct SliceHeader {
    private let firstMacroblock: UInt32
    private let type: UInt32
    private let pictureSet: UInt32
    private let numberBits: Int
    /// The length in bits of the part that is rewritten.
    let length: Int

    /// Nil for any other slice, and for one that doesn't refer `distance` frames back by libx264's count.
    init?(_ unit: ArraySlice<UInt8>, numberBits: Int, distance: UInt32) {
        var bits = BitReader(unit.dropFirst())
        // P is 0, or 5 if all slices of the picture are P.
        guard let firstMacroblock = bits.unsigned(), let type = bits.unsigned(), type == 0 || type == 5,
            let pictureSet = bits.unsigned(), bits.skip(numberBits), bits.flag() == false,
            let isReordered = bits.flag()
        else { return nil }
        self.firstMacroblock = firstMacroblock
        self.type = type
        self.pictureSet = pictureSet
        self.numberBits = numberBits
        if isReordered {
            // One modification, `abs_diff_pic_num_minus1`, and the end of the list.
            guard bits.unsigned() == 0, bits.unsigned() == distance - 1, bits.unsigned() == 3 else { return nil }
        } else if distance != 1 {
            return nil
        }
        // dec_ref_pic_marking(): no commands.
        guard bits.flag() == false else { return nil }
        length = bits.position
    }

    /// The header with another `frame_num` and the default list, which begins with the last reference.
    func bits(number: UInt32, isReference: Bool) -> BitString {
        var bits = BitString()
        for value in [firstMacroblock, type, pictureSet] { bits.append(unsigned: value) }
        bits.append(number, count: numberBits)
        // num_ref_idx_active_override_flag, ref_pic_list_modification_flag_l0.
        bits.append(0, count: 2)
        // Only a reference has dec_ref_pic_marking(): adaptive_ref_pic_marking_mode_flag.
        if isReference { bits.append(0, count: 1) }
        return bits
    }
}

/// A string of at most 128 bits. A slice header has at most 34 for the first macroblock, 5 for the type, 17 for the
/// parameter set, 16 for `frame_num` and 3 flags.
private struct BitString {
    /// The first bit is the highest.
    private var bits: (UInt64, UInt64) = (0, 0)
    private(set) var count = 0

    mutating func append(_ value: UInt32, count added: Int) {
        for place in (0..<added).reversed() {
            let bit = UInt64(value >> UInt32(place) & 1)
            if count < 64 { bits.0 |= bit << UInt64(63 - count) } else { bits.1 |= bit << UInt64(127 - count) }
            count += 1
        }
    }

    /// ue(v) (clause 9.1), of less than 2³¹.
    mutating func append(unsigned value: UInt32) {
        let code = value + 1
        let length = UInt32.bitWidth - code.leadingZeroBitCount
        append(0, count: length - 1)
        append(code, count: length)
    }

    func byte(_ place: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: (place < 8 ? bits.0 : bits.1) >> UInt64(56 - place % 8 * 8))
    }
}

extension ParameterSets {
    /// The same sets with one reference in place of two: after `ReferenceNumbers` the stream needs no more.
    var withOneReference: ParameterSets {
        ParameterSets(
            sps: sps.map { set in
                guard let read = SequenceParameterSet(set[...]), read.references == 2, read.buffered == 2,
                    let bufferedPlace = read.bufferedPlace
                else { return set }
                var payload: [UInt8] = []
                set.dropFirst().withUnsafeBufferPointer { NALUnits.appendPayload(of: $0, to: &payload) }
                // ue(v) of 2 is 011, and of 1 010 (clause 9.1).
                for place in [read.referencesPlace + 2, bufferedPlace + 2] {
                    payload[place / 8] &= ~(0x80 >> UInt8(place % 8))
                }
                var fresh = [set[0]]
                payload.withUnsafeBufferPointer { NALUnits.append(payload: $0, to: &fresh) }
                return fresh
            }, pps: pps)
    }
}
