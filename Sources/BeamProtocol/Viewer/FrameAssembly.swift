import BeamMedia

/// One frame being put together from its parts.
///
/// Each part is copied once, straight to its place: part `i` to `i` × `stride`, but the AVCC bytes of part 0 to the
/// end of its place, so that the usual frame, whose parts are all full, lies in one piece when it is complete.
struct FrameAssembly: Sendable {
    enum Insertion: Hashable, Sendable {
        case inserted
        /// That was the last part: `unit` is there.
        case completed
        case duplicate
        /// The part contradicts those before it, or its parameter sets aren't any.
        case contradiction
        /// That was the last part, and what was sent is not in AVCC form.
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
    /// A part, or the whole frame, came after one that was sent later.
    private(set) var isReordered: Bool
    /// The frame, once it is complete.
    private(set) var unit: AccessUnit?

    private var parameterSets: ParameterSets?
    private var stride: Int
    private var bytes: [UInt8] = []
    /// Of each part's AVCC bytes; nil for a part that hasn't come.
    private var lengths: [UInt16?]
    private var highestPart: Int = -1
    private var content = 0

    /// Room for a part at most; version 1 has the shorter headers.
    private static let longestStride = MediaLimits.receivedDatagramLength - MediaForm.version1.overhead

    /// An empty assembly for the frame of `datagram`.
    init(for datagram: MediaDatagram, isLate: Bool, now: MediaTime) {
        sequence = datagram.header.sequence
        header = datagram.header.frame
        isStart = header.isStart
        firstSeen = now
        lastSeen = now
        isReordered = isLate
        let usualStride = datagram.form.payloadLength
        stride = datagram.payload.count > usualStride ? Self.longestStride : usualStride
        lengths = [UInt16?](repeating: nil, count: Int(header.partCount))
        bytes.reserveCapacity(stride * Int(header.partCount))
    }

    /// Memory that an assembly for this header holds, in bytes.
    static func reservation(for header: MediaHeader.Frame) -> Int {
        Int(header.partCount) * (longestStride + MemoryLayout<UInt16?>.stride)
    }

    var reservation: Int { Self.reservation(for: header) }
    var missing: Int { lengths.count - received }

    mutating func insert(_ datagram: MediaDatagram, now: MediaTime) -> Insertion {
        let part = Int(datagram.header.part)
        let payload = datagram.payload
        guard datagram.header.frame == header else { return .contradiction }
        guard lengths[part] == nil else { return .duplicate }
        guard content + payload.count <= MediaLimits.frameLength else { return .contradiction }
        if !datagram.config.isEmpty {
            guard let sets = ParameterSetBlock.decode(datagram.config) else { return .contradiction }
            parameterSets = sets
        }
        if payload.count > stride { widen() }
        place(payload, part: part)
        lengths[part] = UInt16(payload.count)
        content += payload.count
        received += 1
        if part < highestPart { isReordered = true }
        highestPart = max(highestPart, part)
        lastSeen = now
        return received < lengths.count ? .inserted : finish() ? .completed : .malformedFrame
    }

    /// Makes the access unit, unless what was sent isn't in AVCC form. The bytes are handed over, not copied.
    private mutating func finish() -> Bool {
        let range = compact()
        let isWellFormed = bytes.withUnsafeBytes { AVCC.isWellFormed(UnsafeRawBufferPointer(rebasing: $0[range])) }
        guard isWellFormed else { return false }
        unit = AccessUnit(
            bytes: bytes, range: range, isKeyframe: isStart, parameterSets: parameterSets, size: header.size,
            time: lastSeen, number: sequence.value, captureTime: header.captureTime,
            stages: header.stages?.times, firstArrival: firstSeen)
        bytes = []
        return true
    }

    private func offset(of part: Int, length: Int) -> Int {
        part == 0 ? stride - length : part * stride
    }

    private mutating func place(_ payload: UnsafeRawBufferPointer, part: Int) {
        let offset = offset(of: part, length: payload.count)
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

    private static let zeros = [UInt8](repeating: 0, count: 16 * longestStride)

    private mutating func grow(to count: Int) {
        while bytes.count < count { bytes.append(contentsOf: Self.zeros.prefix(count - bytes.count)) }
    }

    /// A part is longer than those of our own making: gives each more room.
    private mutating func widen() {
        let old = self
        stride = Self.longestStride
        bytes = []
        bytes.reserveCapacity(stride * lengths.count)
        old.bytes.withUnsafeBytes { source in
            for (part, length) in lengths.enumerated() {
                guard let length = length.map(Int.init) else { continue }
                let offset = old.offset(of: part, length: length)
                place(UnsafeRawBufferPointer(rebasing: source[offset..<offset + length]), part: part)
            }
        }
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
