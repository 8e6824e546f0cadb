import BeamMedia

/// One frame being put together from its parts.
///
/// Each part is copied once, straight to its place: part `i` to `i` × `stride`, but the AVCC bytes of part 0 to the
/// end of its place, so that the usual frame, whose parts are all full, lies in one piece when it is complete. The
/// parameter sets stand before them, so that each place holds its part as it was sent: parity is over that.
///
/// Memory is reserved for the whole frame, but touched only as datagrams come: parts far behind a gap wait in memory of their own
/// until enough have come, so that a datagram takes time in proportion to its own bytes.
struct FrameAssembly: Sendable {
    enum Insertion: Hashable, Sendable {
        case inserted
        /// That was the last part, or all that were missing could be repaired: `unit` is there.
        case completed
        /// It was there before; or it is parity, and nothing is left for it to repair.
        case duplicate
        /// The part contradicts those before it, or its parameter sets aren't any.
        case contradiction
        /// That was the last part, and what was sent is not in AVCC form, or its parameter sets aren't any.
        case malformedFrame
    }

    let sequence: SequenceNumber
    let header: MediaHeader.Frame
    /// Decoding can start here.
    let isStart: Bool
    let firstSeen: MediaTime
    /// When the last part arrived.
    private(set) var lastSeen: MediaTime
    private(set) var received = 0
    /// Parts that didn't come, and were made from parity.
    private(set) var repaired = 0
    /// A part, or the whole frame, came after one that was sent later.
    private(set) var isReordered: Bool
    /// The coded picture, once the frame is complete.
    private(set) var unit: AccessUnit?

    private var parameterSets: ParameterSets?
    private var stride: Int
    private var bytes: [UInt8] = []
    /// Parts that came long before those that belong in front of them, each at its offset.
    private var early: [Int: [UInt8]] = [:]
    /// Of each part's AVCC bytes; nil for a part that hasn't come.
    private var lengths: [UInt16?]
    /// Of the parameter-set block in part 0.
    private var configLength = 0
    /// Nil until some has come, and once there is nothing to repair.
    private var parity: FrameParity?
    /// All parts are as long as parity takes them to be.
    private var isParityUsable = true
    /// Of the parts that have come.
    private(set) var highestPart: Int = -1
    private var content = 0
    /// Datagrams of parity that have been of use.
    private var paritySeen = 0

    /// Room for a part at most; version 1 has the shorter headers.
    private static let longestStride = MediaLimits.receivedDatagramLength - MediaForm.version1.overhead

    /// An empty assembly for the frame of `datagram`.
    init(for datagram: MediaDatagram, isLate: Bool, now: MediaTime) {
        let usualStride = datagram.form.payloadLength
        self.init(
            datagram.header.sequence, datagram.header.frame, isLate: isLate, now: now,
            stride: datagram.payload.count > usualStride ? Self.longestStride : usualStride)
    }

    /// An empty assembly for the frame that `datagram` is parity of.
    init(for datagram: ParityDatagram, isLate: Bool, now: MediaTime) {
        self.init(
            datagram.header.sequence, datagram.header.frame, isLate: isLate, now: now, stride: ParityCode.shardLength)
    }

    private init(
        _ sequence: SequenceNumber, _ header: MediaHeader.Frame, isLate: Bool, now: MediaTime, stride: Int
    ) {
        self.sequence = sequence
        self.header = header
        self.stride = stride
        isStart = header.isStart
        firstSeen = now
        lastSeen = now
        isReordered = isLate
        lengths = [UInt16?](repeating: nil, count: Int(header.partCount))
        bytes.reserveCapacity(stride * Int(header.partCount))
    }

    /// Memory that an assembly for this header holds, in bytes, as long as it holds no parity.
    static func reservation(for header: MediaHeader.Frame) -> Int {
        Int(header.partCount) * (longestStride + MemoryLayout<UInt16?>.stride)
    }

    /// Memory that it holds now, in bytes: each insertion may change it.
    var reservation: Int { Self.reservation(for: header) + (parity?.reservation ?? 0) }
    /// Memory that has been written to, in bytes.
    var touched: Int { early.values.reduce(bytes.count) { $0 + $1.count } }
    /// Parts that are neither there nor repaired.
    var missing: Int { lengths.count - received - repaired }
    /// Neither a part nor parity has come.
    var isEmpty: Bool { received == 0 && repaired == 0 && parity == nil }
    /// Part `part` is neither there nor repaired.
    func isMissing(_ part: Int) -> Bool { lengths[part] == nil }

    /// The parts in `range` that are missing, `limit` ranges of them at most.
    func missingParts(in range: Range<Int>, limit: Int) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        for part in range.clamped(to: lengths.indices) where lengths[part] == nil {
            if let last = ranges.last, last.upperBound == part {
                ranges[ranges.count - 1] = last.lowerBound..<part + 1
            } else if ranges.count < limit {
                ranges.append(part..<part + 1)
            } else {
                break
            }
        }
        return ranges
    }

    /// How many of the parts before `end` are missing.
    func missingCount(below end: Int) -> Int {
        // The usual case: parts in order.
        if received == highestPart + 1, end <= received { return 0 }
        if repaired == 0, end > highestPart { return min(end, lengths.count) - received }
        if repaired == 0, end == highestPart { return end + 1 - received }
        return lengths.prefix(end).reduce(0) { $0 + ($1 == nil ? 1 : 0) }
    }

    mutating func insert(_ datagram: MediaDatagram, now: MediaTime) -> Insertion {
        let part = Int(datagram.header.part)
        let payload = datagram.payload
        guard datagram.header.frame == header else { return .contradiction }
        guard lengths[part] == nil else { return .duplicate }
        guard content + payload.count <= MediaLimits.frameLength else { return .contradiction }
        if !datagram.config.isEmpty {
            guard let sets = ParameterSetBlock.decode(datagram.config) else { return .contradiction }
            parameterSets = sets
            configLength = datagram.config.count
        }
        if payload.count > stride { widen() }
        if part == 0, configLength + payload.count <= stride {
            place(datagram.config, at: stride - payload.count - configLength)
        }
        place(payload, at: offset(of: part, length: payload.count))
        lengths[part] = UInt16(payload.count)
        content += payload.count
        received += 1
        if part < highestPart { isReordered = true }
        highestPart = max(highestPart, part)
        lastSeen = now
        placeEarly()
        return repairOthers(after: part)
    }

    /// The whole frame, once it is complete. Its capture time is by the host's clock.
    var complete: ReceivedFrame? {
        unit.map { unit in
            ReceivedFrame(
                unit: unit, number: sequence.value, firstArrival: firstSeen, lastArrival: lastSeen,
                captureTime: header.captureTime, stages: header.stages?.times, layer: Int(header.layer))
        }
    }

    /// Makes the access unit, unless what was sent isn't in AVCC form. The bytes are handed over, not copied.
    private mutating func finish() -> Bool {
        let range = compact()
        let isWellFormed = bytes.withUnsafeBytes { AVCC.isWellFormed(UnsafeRawBufferPointer(rebasing: $0[range])) }
        guard isWellFormed else { return false }
        unit = AccessUnit(
            bytes: bytes, range: range, isKeyframe: isStart, parameterSets: parameterSets, size: header.size,
            isDisposable: header.isDisposable)
        bytes = []
        parity = nil
        return true
    }

    private func offset(of part: Int, length: Int) -> Int {
        part == 0 ? stride - length : part * stride
    }

    /// Parts' worth of memory that may be filled for each datagram that has come, and for one more.
    private static let fillShare = 16

    /// Parts whose memory may be filled by now.
    private var mostFilled: Int { (received + paritySeen + 1) * Self.fillShare }

    private mutating func place(_ payload: UnsafeRawBufferPointer, at offset: Int) {
        guard offset + payload.count <= stride * mostFilled else {
            early[offset] = Array(payload)
            return
        }
        if bytes.count <= offset {
            // The usual case: parts in order. A gap is for those that are late.
            grow(to: offset)
            bytes.append(contentsOf: payload)
            return
        }
        grow(to: offset + payload.count)
        bytes.withUnsafeMutableBytes {
            UnsafeMutableRawBufferPointer(rebasing: $0[offset...]).copyMemory(from: payload)
        }
    }

    /// Puts parts into their places for which that has become worth it. Looked at whenever twice as many have come.
    private mutating func placeEarly() {
        guard !early.isEmpty, mostFilled >= lengths.count || received.nonzeroBitCount == 1 else { return }
        let waiting = early
        early = [:]
        for offset in waiting.keys.sorted() { waiting[offset]?.withUnsafeBytes { place($0, at: offset) } }
    }

    private static let zeros = [UInt8](repeating: 0, count: 16 * longestStride)

    private mutating func grow(to count: Int) {
        while bytes.count < count { bytes.append(contentsOf: Self.zeros.prefix(count - bytes.count)) }
    }

    /// A part is longer than those of our own making: gives each more room. Parity has no use for such parts.
    private mutating func widen() {
        parity = nil
        isParityUsable = false
        let old = self
        stride = Self.longestStride
        bytes = []
        early = [:]
        bytes.reserveCapacity(stride * lengths.count)
        old.bytes.withUnsafeBytes { source in
            for (part, length) in lengths.enumerated() {
                guard let length = length.map(Int.init) else { continue }
                let offset = old.offset(of: part, length: length)
                let place = self.offset(of: part, length: length)
                if let waiting = old.early[offset] {
                    early[place] = waiting
                } else {
                    self.place(UnsafeRawBufferPointer(rebasing: source[offset..<offset + length]), at: place)
                }
            }
        }
    }

    // MARK: Parity

    /// Takes parity in, which may come before any part. As soon as a block has as many parts and rows of parity as it
    /// has parts, those that are missing are repaired.
    mutating func insertParity(_ datagram: ParityDatagram, now: MediaTime) -> Insertion {
        let lastLength = Int(datagram.header.lastLength)
        guard datagram.header.frame == header else { return .contradiction }
        guard unit == nil, isParityUsable, stride == ParityCode.shardLength else { return .duplicate }
        if parity == nil {
            let fresh = FrameParity(partCount: lengths.count, lastLength: lastLength, isMissing: isMissing)
            let isConsistent = lengths.indices.allSatisfy { part in
                contentLength(of: part).map { $0 == fresh.length(ofPart: part) } ?? true
            }
            guard isConsistent else { return .contradiction }
            parity = fresh
        }
        guard parity?.lastLength == lastLength else { return .contradiction }
        let index = Int(datagram.header.index)
        switch parity?.insert(datagram.shard, index: index) {
        case .held:
            lastSeen = now
            paritySeen += 1
            return .inserted
        case .enough:
            lastSeen = now
            paritySeen += 1
            placeEarly()
            guard let block = parity?.layout.block(ofIndex: index) else { return .inserted }
            return repair(block)
        case .needless, nil:
            return .duplicate
        }
    }

    /// Bytes that were sent as part `part`, parameter sets included; nil if it isn't there.
    private func contentLength(of part: Int) -> Int? {
        lengths[part].map { Int($0) + (part == 0 ? configLength : 0) }
    }

    /// A part has come: that may be what the others of its block were waiting for.
    private mutating func repairOthers(after part: Int) -> Insertion {
        guard missing > 0 else { return finish() ? .completed : .malformedFrame }
        guard let layout = parity?.layout, let length = parity?.length(ofPart: part) else { return .inserted }
        guard contentLength(of: part) == length else {
            parity = nil
            isParityUsable = false
            return .inserted
        }
        let isEnough = parity?.arrived(part) ?? false
        return isEnough ? repair(layout.block(ofPart: part)) : .inserted
    }

    /// Makes the missing parts of a block for which enough is there.
    private mutating func repair(_ block: Int) -> Insertion {
        // Where a small part of a large frame makes a block whole, the rest of the frame is waited for first.
        guard let layout = parity?.layout, mostFilled >= lengths.count else { return .inserted }
        grow(to: stride * lengths.count)
        let isRecovered = bytes.withUnsafeMutableBytes { bytes in
            parity?.recover(block: block, slots: bytes) { lengths[$0] == nil }
        }
        guard isRecovered == true else { return .inserted }
        for position in 0..<layout.partCount(ofBlock: block) {
            let part = layout.part(at: position, ofBlock: block)
            guard lengths[part] == nil else { continue }
            guard let length = part == 0 ? repairedFirstPart() : parity?.length(ofPart: part) else {
                return .malformedFrame
            }
            lengths[part] = UInt16(length)
            content += length
            repaired += 1
        }
        guard content <= MediaLimits.frameLength else { return .malformedFrame }
        return missing > 0 ? .inserted : finish() ? .completed : .malformedFrame
    }

    /// Takes the parameter sets out of part 0, which was repaired, and says how many AVCC bytes follow them. Nil if there
    /// should be some and aren't.
    private mutating func repairedFirstPart() -> Int? {
        let whole = parity?.length(ofPart: 0) ?? stride
        if isStart {
            let block = bytes.withUnsafeBytes {
                ParameterSetBlock.decode(startOf: UnsafeRawBufferPointer(rebasing: $0[..<whole]))
            }
            guard let block else { return nil }
            parameterSets = block.sets
            configLength = block.length
        }
        let shift = stride - whole
        if shift > 0 {
            // The only part of its frame: to the end of its place.
            bytes.withUnsafeMutableBytes {
                UnsafeMutableRawBufferPointer(rebasing: $0[shift..<stride])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<whole]))
            }
        }
        return whole - configLength
    }

    /// Closes the gaps behind parts that weren't full, and answers where the frame is.
    private mutating func compact() -> Range<Int> {
        let first = Int(lengths[0] ?? 0)
        let start = stride - first
        var end = stride
        let lengths = lengths
        let stride = stride
        bytes.withUnsafeMutableBytes { bytes in
            for part in lengths.indices.dropFirst() {
                let length = Int(lengths[part] ?? 0)
                let offset = part * stride
                if offset != end {
                    // The regions may overlap: `copyMemory` is memmove.
                    UnsafeMutableRawBufferPointer(rebasing: bytes[end..<end + length]).copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length]))
                }
                end += length
            }
        }
        return start..<end
    }
}
