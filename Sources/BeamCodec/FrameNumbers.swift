import BeamMedia

/// Checks `frame_num` from picture to picture (H.264 clause 7.4.3), because libavcodec decodes a frame whose reference
/// is missing without an error.
///
/// Reads only what it needs, and accepts what it can't read: the decoder judges that.
struct FrameNumbers {
    /// The fields of a sequence parameter set that `frame_num` depends on.
    private struct Sequence {
        var bits: Int
        var isColourPlaneSeparate: Bool
    }

    private var sequences: [UInt32: Sequence] = [:]
    /// Picture parameter set ID to sequence parameter set ID.
    private var pictures: [UInt32: UInt32] = [:]
    /// The `frame_num` of the last reference picture.
    private var lastReference: UInt32?

    mutating func reset() { lastReference = nil }

    /// Takes a keyframe's parameter sets.
    mutating func take(_ sets: ParameterSets) {
        for set in sets.sps {
            guard let (id, sequence) = Self.sequence(set) else { continue }
            sequences[id] = sequence
        }
        for set in sets.pps {
            var bits = BitReader(set.dropFirst())
            guard let picture = bits.unsigned(), let sequence = bits.unsigned(), picture < 256, sequence < 32 else {
                continue
            }
            pictures[picture] = sequence
        }
    }

    /// Whether the picture that begins with the NAL unit `slice` follows the last one without a gap.
    mutating func follows(_ slice: ArraySlice<UInt8>) -> Bool {
        guard let header = slice.first else { return true }
        var bits = BitReader(slice.dropFirst().prefix(32))
        guard bits.unsigned() != nil, bits.unsigned() != nil, let picture = bits.unsigned(),
            let sequence = pictures[picture].flatMap({ sequences[$0] }),
            !sequence.isColourPlaneSeparate || bits.bits(2) != nil, let number = bits.bits(sequence.bits)
        else {
            lastReference = nil
            return true
        }
        let isKeyframe = NALUnits.Kind(header: header) == .keyframeSlice
        let isReference = header & 0x60 != 0
        defer { if isReference { lastReference = number } }
        guard !isKeyframe, let last = lastReference else { return true }
        return number == last || number == (last + 1) & ((1 << UInt32(sequence.bits)) - 1)
    }

    /// Nil for a set that allows gaps or fields, and for one that can't be read.
    private static func sequence(_ set: [UInt8]) -> (UInt32, Sequence)? {
        guard set.count > 4 else { return nil }
        var bits = BitReader(set.dropFirst(4))
        guard let id = bits.unsigned(), id < 32 else { return nil }
        var isColourPlaneSeparate = false
        // Profiles beyond 8-bit 4:2:0 have these fields (clause 7.3.2.1.1).
        if SequenceParameterSet.highProfiles.contains(set[1]) {
            guard let chroma = bits.unsigned() else { return nil }
            if chroma == 3 { isColourPlaneSeparate = bits.bits(1) == 1 }
            // Scaling matrices aren't parsed: no screen encoder sends them.
            guard bits.unsigned() != nil, bits.unsigned() != nil, bits.bits(1) != nil, bits.bits(1) == 0 else {
                return nil
            }
        }
        guard let length = bits.unsigned(), length <= 12, let countType = bits.unsigned() else { return nil }
        if countType == 0 {
            guard bits.unsigned() != nil else { return nil }
        } else if countType == 1 {
            guard bits.bits(1) != nil, bits.unsigned() != nil, bits.unsigned() != nil, let cycle = bits.unsigned(),
                cycle < 256
            else { return nil }
            for _ in 0..<cycle where bits.unsigned() == nil { return nil }
        }
        // max_num_ref_frames, gaps_in_frame_num_value_allowed_flag, the size, frame_mbs_only_flag.
        guard bits.unsigned() != nil, bits.bits(1) == 0, bits.unsigned() != nil, bits.unsigned() != nil,
            bits.bits(1) == 1
        else { return nil }
        return (id, Sequence(bits: Int(length) + 4, isColourPlaneSeparate: isColourPlaneSeparate))
    }
}
