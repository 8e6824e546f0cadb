import BeamMedia
import BeamWire

/// A frame in reassembly.
///
/// Each part is copied once, to its own slot: part `i` goes to `i` × `stride`. The AVCC bytes of part 0 go to the end
/// of its slot, so that a frame whose parts are all full (the usual case) is contiguous once complete. The parameter
/// sets stand before them, so that the slot holds part 0 as it was sent: parity covers both.
///
/// Memory is reserved for the whole frame but written only as datagrams arrive. A part far behind a gap waits in memory
/// of its own until enough others have arrived, so that the work for a datagram is in proportion to its own bytes.
struct FrameAssembly: Sendable {
    enum Insertion: Hashable, Sendable {
        case inserted
        /// The frame is complete, by its last part or by parity: `unit` is set.
        case completed
        /// The part arrived before; or it is parity that isn't needed.
        case duplicate
        /// The part contradicts earlier ones, or its parameter-set block can't be read.
        case contradiction
        /// All parts are there, but together they aren't AVCC, or the parameter-set block can't be read.
        case malformedFrame
    }

    let sequence: SequenceNumber
    let header: MediaHeader.Frame
    /// A keyframe with its parameter sets.
    let isStart: Bool
    let firstSeen: MediaTime
    /// When the newest part or parity arrived.
    private(set) var lastSeen: MediaTime
    private(set) var received = 0
    /// Parts reconstructed from parity.
    private(set) var reconstructed = 0
    /// A part arrived after a later one of the same frame, or the frame began after a later frame.
    private(set) var isReordered: Bool
    /// The coded picture, once the frame is complete.
    private(set) var unit: AccessUnit?

    private var parameterSets: ParameterSets?
    private var stride: Int
    private var bytes: [UInt8] = []
    /// Parts that arrived far ahead of the parts before them, by offset (see `fillShare`).
    private var early: [Int: [UInt8]] = [:]
    /// Each part's AVCC bytes; nil for a part that is missing.
    private var lengths: [UInt16?]
    /// Bytes of the parameter-set block in part 0.
    private var configLength = 0
    /// Nil before the first parity, and once the frame is complete.
    private var parity: FrameParity?
    /// False once a part has a length that Reed–Solomon can't use.
    private var isParityUsable = true
    /// The highest part number that has arrived; -1 before the first.
    private(set) var highestPart: Int = -1
    private var content = 0
    /// Parity datagrams that were kept.
    private var paritySeen = 0

    /// The longest part in bytes. Version 1 has the shorter headers, and so the longer parts.
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

    /// Memory in bytes that an assembly with this header holds without parity.
    static func reservation(for header: MediaHeader.Frame) -> Int {
        Int(header.partCount) * (longestStride + MemoryLayout<UInt16?>.stride)
    }

    /// Memory that it holds now, in bytes. Each insertion may change it.
    var reservation: Int { Self.reservation(for: header) + (parity?.reservation ?? 0) }
    /// Memory that has been written to, in bytes.
    var touched: Int { early.values.reduce(bytes.count) { $0 + $1.count } }
    /// Parts that have neither arrived nor been reconstructed.
    var missing: Int { lengths.count - received - reconstructed }
    /// Nothing has arrived.
    var isEmpty: Bool { received == 0 && reconstructed == 0 && parity == nil }
    func isMissing(_ part: Int) -> Bool { lengths[part] == nil }

    /// The missing parts in `range`, as at most `limit` ranges.
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

    func missingCount(below end: Int) -> Int {
        // The usual case: parts in order.
        if received == highestPart + 1, end <= received { return 0 }
        if reconstructed == 0, end > highestPart { return min(end, lengths.count) - received }
        if reconstructed == 0, end == highestPart { return end + 1 - received }
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
        return reconstructBlock(after: part)
    }

    /// The frame, once complete. Its capture time is on the host's clock.
    var complete: ReceivedFrame? {
        unit.map { unit in
            ReceivedFrame(
                unit: unit, number: sequence.value, firstArrival: firstSeen, lastArrival: lastSeen,
                captureTime: header.captureTime, stages: header.stages?.times, layer: Int(header.layer))
        }
    }

    /// Makes the access unit; false if the bytes aren't AVCC. The bytes are moved, not copied.
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

    /// Each datagram that has arrived, and one more, allows this many parts' worth of memory to be filled. So one
    /// datagram with a high part number can't make the viewer zero the memory of a whole frame.
    private static let fillShare = 16

    /// Parts whose memory may be filled now.
    private var mostFilled: Int { (received + paritySeen + 1) * Self.fillShare }

    private mutating func place(_ payload: UnsafeRawBufferPointer, at offset: Int) {
        guard offset + payload.count <= stride * mostFilled else {
            early[offset] = Array(payload)
            return
        }
        if bytes.count <= offset {
            // The usual case: parts in order. A gap is zeroed and filled later.
            grow(to: offset)
            bytes.append(contentsOf: payload)
            return
        }
        grow(to: offset + payload.count)
        bytes.withUnsafeMutableBytes {
            UnsafeMutableRawBufferPointer(rebasing: $0[offset...]).copyMemory(from: payload)
        }
    }

    /// Moves early parts to their slots. Tried whenever the number of received parts has doubled, and when all memory
    /// may be filled.
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

    /// A part is longer than our own hosts send: moves all parts to longer slots. Parity can't cover such parts.
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

    /// Inserts parity, which may arrive before any part. As soon as a block has as many parts and parity rows together
    /// as it has parts, its missing parts are reconstructed.
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
            return reconstruct(block)
        case .needless, nil:
            return .duplicate
        }
    }

    /// Bytes of part `part` as sent, parameter sets included; nil if it is missing.
    private func contentLength(of part: Int) -> Int? {
        lengths[part].map { Int($0) + (part == 0 ? configLength : 0) }
    }

    /// A part has arrived: with it, its block may have enough to reconstruct the rest.
    private mutating func reconstructBlock(after part: Int) -> Insertion {
        guard missing > 0 else { return finish() ? .completed : .malformedFrame }
        guard let layout = parity?.layout, let length = parity?.length(ofPart: part) else { return .inserted }
        guard contentLength(of: part) == length else {
            parity = nil
            isParityUsable = false
            return .inserted
        }
        let isEnough = parity?.arrived(part) ?? false
        return isEnough ? reconstruct(layout.block(ofPart: part)) : .inserted
    }

    /// Reconstructs a block's missing parts. The caller has made sure that there is enough parity.
    private mutating func reconstruct(_ block: Int) -> Insertion {
        // Reconstruction fills the whole frame's memory: wait until `fillShare` allows that.
        guard let layout = parity?.layout, mostFilled >= lengths.count else { return .inserted }
        grow(to: stride * lengths.count)
        let isRecovered = bytes.withUnsafeMutableBytes { bytes in
            parity?.recover(block: block, slots: bytes) { lengths[$0] == nil }
        }
        guard isRecovered == true else { return .inserted }
        for position in 0..<layout.partCount(ofBlock: block) {
            let part = layout.part(at: position, ofBlock: block)
            guard lengths[part] == nil else { continue }
            guard let length = part == 0 ? reconstructedFirstPart() : parity?.length(ofPart: part) else {
                return .malformedFrame
            }
            lengths[part] = UInt16(length)
            content += length
            reconstructed += 1
        }
        guard content <= MediaLimits.frameLength else { return .malformedFrame }
        return missing > 0 ? .inserted : finish() ? .completed : .malformedFrame
    }

    /// Reads the parameter sets from the reconstructed part 0, and returns the number of AVCC bytes behind them. Nil if
    /// a keyframe's parameter sets can't be read.
    private mutating func reconstructedFirstPart() -> Int? {
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
            // The frame has one part, which is short: move it to the end of its slot.
            bytes.withUnsafeMutableBytes {
                UnsafeMutableRawBufferPointer(rebasing: $0[shift..<stride])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<whole]))
            }
        }
        return whole - configLength
    }

    /// Closes the gaps behind short parts, and returns the range of the frame's bytes.
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
