import BeamMedia
import Glibc

/// H.264's NAL units (ITU-T H.264 clause 7.3.1) in two framings: Annex B, with a start code before each, and AVCC
/// (ISO/IEC 14496-15), with a 4-byte big-endian length before each.
enum NALUnits {
    /// The values of `nal_unit_type` (table 7-1) that are used here.
    enum Kind: UInt8 {
        case slice = 1
        case partitionA = 2
        case partitionB = 3
        case partitionC = 4
        case keyframeSlice = 5
        case sequenceParameterSet = 7
        case pictureParameterSet = 8

        init?(header: UInt8) { self.init(rawValue: header & 0x1f) }

        /// Whether the unit is a slice or a data partition.
        var isPicture: Bool { rawValue <= 5 }
    }

    /// The ranges of the NAL units in an Annex B byte stream, without start codes and trailing zeros.
    static func annexB(_ bytes: UnsafeBufferPointer<UInt8>) -> [Range<Int>] {
        var units: [Range<Int>] = []
        var start: Int?
        let count = bytes.count
        func close(at end: Int) {
            guard let first = start else { return }
            // A NAL unit never ends in a zero byte (clause 7.4.1): zeros here belong to the framing.
            var end = end
            while end > first, bytes[end - 1] == 0 { end -= 1 }
            if end > first { units.append(first..<end) }
        }
        var index = 0
        while index + 2 < count {
            // A start code can begin at one of these three bytes only if the third is 0 or 1.
            let third = bytes[index + 2]
            if third > 1 {
                index += 3
            } else if third == 1, bytes[index] == 0, bytes[index + 1] == 0 {
                close(at: index)
                start = index + 3
                index += 3
            } else {
                index += 1
            }
        }
        close(at: count)
        return units
    }

    /// An encoder's output: the slices in AVCC form, and the parameter sets. Delimiters, filler and supplemental
    /// information are dropped.
    struct Sorted {
        var avcc: [UInt8] = []
        var parameterSets = ParameterSets(sps: [], pps: [])
        var isKeyframe = false
    }

    static func sorted(annexB bytes: UnsafeBufferPointer<UInt8>) -> Sorted {
        let units = annexB(bytes)
        var result = Sorted()
        result.avcc.reserveCapacity(bytes.count + units.count)
        for unit in units {
            guard let kind = Kind(header: bytes[unit.lowerBound]) else { continue }
            switch kind {
            case .sequenceParameterSet: result.parameterSets.sps.append([UInt8](bytes[unit]))
            case .pictureParameterSet: result.parameterSets.pps.append([UInt8](bytes[unit]))
            case .slice, .partitionA, .partitionB, .partitionC, .keyframeSlice:
                if kind == .keyframeSlice { result.isKeyframe = true }
                appendLength(unit.count, to: &result.avcc)
                result.avcc.append(contentsOf: UnsafeBufferPointer(rebasing: bytes[unit]))
            }
        }
        return result
    }

    /// The first slice or data partition, in bytes whose framing is valid.
    static func firstPicture(avcc bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        avcc(bytes).first { unit in unit.first.map { Kind(header: $0)?.isPicture == true } ?? false }
    }

    /// The NAL units of an access unit in AVCC form; the last one may be cut short.
    static func avcc(_ bytes: ArraySlice<UInt8>) -> some Sequence<ArraySlice<UInt8>> {
        sequence(state: bytes) { rest in
            let length = rest.withUnsafeBytes { bytes -> UInt32? in
                var reader = BigEndianReader(bytes)
                return reader.integer()
            }
            guard let length else { return nil }
            rest = rest.dropFirst(4)
            defer { rest = rest.dropFirst(Int(length)) }
            return rest.prefix(Int(length))
        }
    }

    /// Appends the unit's payload without its emulation prevention bytes (clause 7.4.1).
    static func appendPayload(of unit: UnsafeBufferPointer<UInt8>, to payload: inout [UInt8]) {
        var (from, at) = (0, 0)
        while let zero = pairOfZeros(in: unit, from: at) {
            if unit[zero + 2] == 3 {
                payload.append(contentsOf: UnsafeBufferPointer(rebasing: unit[from..<zero + 2]))
                from = zero + 3
                at = from
            } else {
                at = zero + 1
            }
        }
        payload.append(contentsOf: UnsafeBufferPointer(rebasing: unit[from...]))
    }

    /// Appends a payload, which doesn't end in a zero byte, with emulation prevention bytes where necessary (clause
    /// 7.4.1).
    static func append(payload: UnsafeBufferPointer<UInt8>, to unit: inout [UInt8]) {
        var (from, at) = (0, 0)
        while let zero = pairOfZeros(in: payload, from: at) {
            if payload[zero + 2] <= 3 {
                unit.append(contentsOf: UnsafeBufferPointer(rebasing: payload[from..<zero + 2]))
                unit.append(3)
                from = zero + 2
                at = from
            } else {
                at = zero + 1
            }
        }
        unit.append(contentsOf: UnsafeBufferPointer(rebasing: payload[from...]))
    }

    /// The index of the next two zero bytes that are followed by another byte.
    private static func pairOfZeros(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        guard let base = bytes.baseAddress else { return nil }
        var at = start
        // memchr, because zeros are rare in compressed data.
        while at + 2 < bytes.count, let zero = memchr(base + at, 0, bytes.count - at) {
            let place = UnsafeRawPointer(zero) - UnsafeRawPointer(base)
            guard place + 2 < bytes.count else { return nil }
            if bytes[place + 1] == 0 { return place }
            at = place + 1
        }
        return nil
    }

    static func appendLength(_ length: Int, to bytes: inout [UInt8]) {
        bytes.append(bigEndian: UInt32(truncatingIfNeeded: length))
    }

    /// An `AVCDecoderConfigurationRecord` (ISO/IEC 14496-15 clause 5.3.3.1) with 4-byte lengths; nil if the sets are
    /// unusable.
    static func configurationRecord(_ sets: ParameterSets) -> [UInt8]? {
        guard let first = sets.sps.first, first.count >= 4, !sets.pps.isEmpty, sets.sps.count < 32, sets.pps.count < 256
        else { return nil }
        var record: [UInt8] = [1, first[1], first[2], first[3], 0xff, 0xe0 | UInt8(sets.sps.count)]
        func append(_ units: [[UInt8]]) -> Bool {
            for unit in units {
                guard let length = UInt16(exactly: unit.count) else { return false }
                record.append(bigEndian: length)
                record += unit
            }
            return true
        }
        guard append(sets.sps) else { return nil }
        record.append(UInt8(sets.pps.count))
        guard append(sets.pps) else { return nil }
        return record
    }
}
