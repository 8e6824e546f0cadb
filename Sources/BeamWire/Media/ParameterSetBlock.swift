import BeamMedia

/// The block of parameter sets in a keyframe's part 0: u8 number of SPS, u8 number of PPS, then for each, SPS first,
/// u16 length and the bytes, without start code or length prefix of their own.
package enum ParameterSetBlock {
    /// Nil if a kind is missing, has more than 255 sets, or has one that is empty or longer than 65535 bytes.
    package static func encode(_ sets: ParameterSets) -> [UInt8]? {
        guard let spsCount = UInt8(exactly: sets.sps.count), let ppsCount = UInt8(exactly: sets.pps.count),
            spsCount > 0, ppsCount > 0
        else { return nil }
        let all = sets.sps + sets.pps
        var block = [spsCount, ppsCount]
        block.reserveCapacity(2 + all.reduce(0) { $0 + 2 + $1.count })
        for set in all {
            guard !set.isEmpty, let length = UInt16(exactly: set.count) else { return nil }
            block.append(bigEndian: length)
            block.append(contentsOf: set)
        }
        return block
    }

    /// Nil unless the block has at least one SPS and one PPS, none is empty, and no bytes are left over.
    package static func decode(_ block: UnsafeRawBufferPointer) -> ParameterSets? {
        decode(startOf: block).flatMap { $0.length == block.count ? $0.sets : nil }
    }

    /// The block at the start of `bytes`, and its length in bytes. Nil unless it has at least one SPS and one PPS, and
    /// none is empty.
    package static func decode(startOf bytes: UnsafeRawBufferPointer) -> (sets: ParameterSets, length: Int)? {
        var reader = BigEndianReader(bytes)
        guard let spsCount: UInt8 = reader.integer(), let ppsCount: UInt8 = reader.integer(), spsCount > 0, ppsCount > 0
        else { return nil }
        func take(_ count: UInt8) -> [[UInt8]]? {
            var sets: [[UInt8]] = []
            for _ in 0..<count {
                guard let set = reader.counted(by: UInt16.self), !set.isEmpty else { return nil }
                sets.append(Array(set))
            }
            return sets
        }
        guard let sps = take(spsCount), let pps = take(ppsCount) else { return nil }
        return (ParameterSets(sps: sps, pps: pps), bytes.count - reader.rest.count)
    }
}

/// An access unit's AVCC form: 4-byte big-endian length before each NAL unit (ISO/IEC 14496-15, 5.3.4.2).
package enum AVCC {
    /// Whether there is at least one NAL unit, none is empty, and together they make up all of `bytes`.
    package static func isWellFormed(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var reader = BigEndianReader(bytes)
        repeat {
            guard let unit = reader.counted(by: UInt32.self), !unit.isEmpty else { return false }
        } while !reader.rest.isEmpty
        return true
    }
}
