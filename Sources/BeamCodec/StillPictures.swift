import BeamMedia

/// Repeats the last picture of an H.264 stream that is written without recoding, so that a file goes on while nothing
/// changes: a picture in which each macroblock is skipped (P_Skip, clause 7.3.4), of some bytes.
///
/// The repeated picture is a reference, like the one that it repeats: two pictures that aren't may not follow each
/// other if `pic_order_cnt_type` is 2 (clause 8.2.1.3). So it counts in `frame_num`, and the slices after it, up to
/// the next keyframe, get new numbers; nothing else in them is changed. That is possible if the stream has one
/// reference, which is now the repeated picture. In a stream with more references a picture can be repeated where
/// nothing follows.
struct StillPictures {
    /// What the parameter sets say about slice headers (clause 7.3.3). Nil where it isn't supported: interlaced
    /// pictures, slice groups, `pic_order_cnt_type` 1, planes coded apart.
    private struct Layout {
        var sequence: SequenceParameterSet
        var pictures: [UInt32: PictureSet]
    }

    private var sets: ParameterSets?
    private var layout: Layout?
    /// The last picture, with the numbers that were written. Nil: it can't be repeated.
    private var last: Slice?
    /// What is added to `frame_num` and to `pic_order_cnt_lsb`, until the next keyframe.
    private var added: (number: UInt32, order: UInt32) = (0, 0)

    /// Each picture is followed by two in the output order's count, as each is two fields.
    private static let orderStep: UInt32 = 2

    /// Follows the stream: call it for each access unit that is written.
    ///
    /// - Returns: the unit with its new numbers; nil: it needs none.
    mutating func follow(_ unit: AccessUnit) -> [UInt8]? {
        if let sets = unit.parameterSets, sets != self.sets {
            self.sets = sets
            layout = Self.read(sets)
        }
        if unit.isKeyframe { added = (0, 0) }
        last = nil
        guard let sequence = layout?.sequence, let first = NALUnits.firstPicture(avcc: unit.avcc),
            var slice = Slice(first, sequence)
        else { return nil }
        let renumbered = added.number == 0 ? nil : renumber(unit, sequence)
        slice.number = (slice.number &+ added.number) & sequence.numberMask
        slice.order = (slice.order &+ added.order) & sequence.orderMask
        if slice.isReference { last = slice }
        return renumbered
    }

    /// A picture like the last one, in AVCC form; nil if the stream doesn't allow it.
    ///
    /// - Parameter isLast: nothing follows in the file.
    mutating func next(isLast: Bool) -> [UInt8]? {
        guard let layout, var slice = last, let set = layout.pictures[slice.pictureSet],
            isLast || layout.sequence.references == 1
        else { return nil }
        slice.number = (slice.number &+ 1) & layout.sequence.numberMask
        slice.order = (slice.order &+ Self.orderStep) & layout.sequence.orderMask
        added.number &+= 1
        added.order &+= Self.orderStep
        last = slice
        let payload = Self.skipped(slice, layout.sequence, set)
        var unit: [UInt8] = [slice.referenceBits | NALUnits.Kind.slice.rawValue]
        payload.withUnsafeBufferPointer { NALUnits.append(payload: $0, to: &unit) }
        var bytes: [UInt8] = []
        NALUnits.appendLength(unit.count, to: &bytes)
        return bytes + unit
    }

    private static func read(_ sets: ParameterSets) -> Layout? {
        guard sets.sps.count == 1, let sequence = sets.sps.first.flatMap({ SequenceParameterSet($0[...]) }),
            sequence.isProgressive, sequence.orderType != 1, !sequence.hasSeparatePlanes, sequence.bitDepth == 8
        else { return nil }
        var pictures: [UInt32: PictureSet] = [:]
        for set in sets.pps {
            guard let read = PictureSet(set[...]) else { return nil }
            pictures[read.id] = read
        }
        return Layout(sequence: sequence, pictures: pictures)
    }

    // MARK: New numbers

    private func renumber(_ unit: AccessUnit, _ sequence: SequenceParameterSet) -> [UInt8]? {
        var output: [UInt8] = []
        output.reserveCapacity(unit.avcc.count + 16)
        var payload: [UInt8] = []
        for part in NALUnits.avcc(unit.avcc) {
            guard let header = part.first, let slice = Slice(part, sequence) else {
                NALUnits.appendLength(part.count, to: &output)
                output += part
                continue
            }
            payload.removeAll(keepingCapacity: true)
            part.dropFirst().withUnsafeBufferPointer { NALUnits.appendPayload(of: $0, to: &payload) }
            // Behind the payload there may be zeros of CABAC (clause 7.3.2.10), which say nothing.
            while payload.last == 0 { payload.removeLast() }
            Self.put(
                (slice.number &+ added.number) & sequence.numberMask, count: Int(sequence.numberBits),
                at: slice.numberPlace, into: &payload)
            Self.put(
                (slice.order &+ added.order) & sequence.orderMask, count: Int(sequence.orderBits),
                at: slice.orderPlace, into: &payload)
            let start = output.count
            NALUnits.appendLength(0, to: &output)
            output.append(header)
            payload.withUnsafeBufferPointer { NALUnits.append(payload: $0, to: &output) }
            withUnsafeBytes(of: UInt32(output.count - start - 4).bigEndian) {
                output.replaceSubrange(start..<start + 4, with: $0)
            }
        }
        return output
    }

    private static func put(_ value: UInt32, count: Int, at start: Int, into payload: inout [UInt8]) {
        guard start + count <= payload.count * 8 else { return }
        for index in 0..<count {
            let mask: UInt8 = 0x80 >> UInt8((start + index) % 8)
            let isSet = value >> UInt32(count - 1 - index) & 1 == 1
            if isSet { payload[(start + index) / 8] |= mask } else { payload[(start + index) / 8] &= ~mask }
        }
    }

    // MARK: The skipped picture

    /// The payload of one slice (clauses 7.3.3 and 7.3.4) in which all macroblocks are skipped. Their motion is zero,
    /// because that of the first one is (8.4.1.1).
    private static func skipped(_ slice: Slice, _ sequence: SequenceParameterSet, _ set: PictureSet) -> [UInt8] {
        var bits = BitWriter()
        bits.append(unsigned: 0)
        // All slices of the picture are P.
        bits.append(unsigned: 5)
        bits.append(unsigned: slice.pictureSet)
        bits.append(slice.number, count: Int(sequence.numberBits))
        if sequence.orderType == 0 {
            bits.append(slice.order, count: Int(sequence.orderBits))
            if set.hasBottomOrder { bits.append(signed: 0) }
        }
        if set.hasRedundantPictures { bits.append(unsigned: 0) }
        // One reference, and the list as it is: it begins with the last picture.
        bits.append(bit: 1)
        bits.append(unsigned: 0)
        bits.append(bit: 0)
        // pred_weight_table(): weights of 1.
        if set.hasWeights {
            bits.append(unsigned: 0)
            if sequence.chromaFormat != 0 { bits.append(unsigned: 0) }
            bits.append(bit: 0)
            if sequence.chromaFormat != 0 { bits.append(bit: 0) }
        }
        // dec_ref_pic_marking(): the oldest reference goes.
        bits.append(bit: 0)
        if set.isArithmetic { bits.append(unsigned: 0) }
        // No skipped macroblock uses the quantiser, but CABAC's first state depends on it.
        bits.append(signed: 51 - set.quantiser)
        if set.controlsDeblocking { bits.append(unsigned: 1) }
        let size = sequence.codedSize
        let macroblocks = size.width / 16 * (size.height / 16)
        if set.isArithmetic {
            while bits.count % 8 != 0 { bits.append(bit: 1) }
            appendSkips(macroblocks, to: &bits)
            while bits.count % 8 != 0 { bits.append(bit: 0) }
        } else {
            // mb_skip_run.
            bits.append(unsigned: UInt32(clamping: macroblocks))
            bits.end()
        }
        return bits.bytes
    }

    /// rangeTabLPS (table 9-44) from `pStateIdx` 42 on.
    private static let ranges: [[UInt32]] = [
        [16, 20, 23, 27], [15, 19, 22, 25], [14, 18, 21, 24], [14, 17, 20, 23], [13, 16, 19, 22], [12, 15, 18, 21],
        [12, 14, 17, 20], [11, 14, 16, 19], [11, 13, 15, 18], [10, 12, 15, 17], [10, 12, 14, 16], [9, 11, 13, 15],
        [9, 11, 12, 14], [8, 10, 12, 14], [8, 9, 11, 13], [7, 9, 11, 12], [7, 9, 10, 12], [7, 8, 10, 11],
        [6, 8, 9, 11], [6, 7, 9, 10], [6, 7, 8, 9],
    ]

    /// `mb_skip_flag` 1 and `end_of_slice_flag` 0 for each macroblock, 1 for the last one, in CABAC (clause 9.3.4).
    ///
    /// The flag's context is 11, because the neighbours are skipped, too. At a quantiser of 51 and `cabac_init_idc` 0
    /// it begins with `valMPS` 1 and `pStateIdx` 42 (23 × 51 / 16 + 33 = 106; table 9-13), so each flag is the more
    /// probable symbol: the interval's lower end stays 0, and so do the bits, up to the end.
    private static func appendSkips(_ count: Int, to bits: inout BitWriter) {
        var range: UInt32 = 510
        // The first bit isn't written (9.3.4.2).
        var isFirst = true
        func shift() {
            while range < 256 {
                if isFirst { isFirst = false } else { bits.append(bit: 0) }
                range <<= 1
            }
        }
        for index in 0..<count {
            range -= ranges[min(index, ranges.count - 1)][Int(range >> 6 & 3)]
            shift()
            range -= 2
            if index < count - 1 { shift() }
        }
        // 9.3.4.5: the interval is at `range` from here on, and 2 wide.
        var low = range
        var outstanding = 0
        func put(_ bit: UInt32) {
            if isFirst { isFirst = false } else { bits.append(bit: bit) }
            for _ in 0..<outstanding { bits.append(bit: 1 - bit) }
            outstanding = 0
        }
        for _ in 0..<7 {
            if low < 256 {
                put(0)
            } else if low < 512 {
                low -= 256
                outstanding += 1
            } else {
                low -= 512
                put(1)
            }
            low <<= 1
        }
        put(low >> 9 & 1)
        // The last bit is rbsp_stop_one_bit.
        bits.append(low >> 7 & 3 | 1, count: 2)
    }
}

extension SequenceParameterSet {
    fileprivate var numberMask: UInt32 { 1 << numberBits - 1 }
    fileprivate var orderMask: UInt32 { 1 << orderBits - 1 }
}

/// The fields of a picture parameter set (clause 7.3.2.2) that slice headers depend on.
private struct PictureSet {
    var id: UInt32
    /// CABAC.
    var isArithmetic: Bool
    var hasBottomOrder: Bool
    var hasWeights: Bool
    /// Of slices without a difference to it.
    var quantiser: Int32
    var controlsDeblocking: Bool
    var hasRedundantPictures: Bool

    /// Nil if it can't be read, or has slice groups.
    init?(_ unit: ArraySlice<UInt8>) {
        var bits = BitReader(unit.dropFirst())
        guard let id = bits.unsigned(), id < 256, bits.unsigned() != nil, let isArithmetic = bits.flag(),
            let hasBottomOrder = bits.flag(), bits.unsigned() == 0, bits.unsigned() != nil, bits.unsigned() != nil,
            let hasWeights = bits.flag(), bits.skip(2), let quantiser = bits.signed(),
            (-26...25).contains(quantiser), bits.signed() != nil, bits.signed() != nil,
            let controlsDeblocking = bits.flag(), bits.skip(1), let hasRedundantPictures = bits.flag()
        else { return nil }
        self.id = id
        self.isArithmetic = isArithmetic
        self.hasBottomOrder = hasBottomOrder
        self.hasWeights = hasWeights
        self.quantiser = 26 + quantiser
        self.controlsDeblocking = controlsDeblocking
        self.hasRedundantPictures = hasRedundantPictures
    }
}

/// The start of a slice's header (clause 7.3.3).
private struct Slice {
    var pictureSet: UInt32
    /// `frame_num` and `pic_order_cnt_lsb`, and where they are in the payload, in bits.
    var number: UInt32
    var numberPlace: Int
    var order: UInt32 = 0
    var orderPlace: Int
    /// `nal_ref_idc`, in its place in the NAL unit's header.
    var referenceBits: UInt8

    var isReference: Bool { referenceBits != 0 }

    /// Nil if `unit` isn't a slice, or can't be read.
    init?(_ unit: ArraySlice<UInt8>, _ sequence: SequenceParameterSet) {
        guard let header = unit.first, let kind = NALUnits.Kind(header: header),
            kind == .slice || kind == .keyframeSlice
        else { return nil }
        var bits = BitReader(unit.dropFirst())
        guard bits.unsigned() != nil, bits.unsigned() != nil, let pictureSet = bits.unsigned() else { return nil }
        self.pictureSet = pictureSet
        referenceBits = header & 0x60
        numberPlace = bits.position
        guard let number = bits.bits(Int(sequence.numberBits)) else { return nil }
        self.number = number
        if kind == .keyframeSlice, bits.unsigned() == nil { return nil }
        orderPlace = bits.position
        guard let order = bits.bits(Int(sequence.orderBits)) else { return nil }
        self.order = order
    }
}
