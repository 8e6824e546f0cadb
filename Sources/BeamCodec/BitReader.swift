/// Reads the bits of a NAL unit's payload, and skips emulation prevention bytes (H.264 clause 7.4.1). Methods return
/// nil behind the end.
struct BitReader {
    private var bytes: ArraySlice<UInt8>.Iterator
    private var current: UInt8 = 0
    private var left = 0
    private var zeros = 0
    /// The number of bits read, without emulation prevention bytes.
    private(set) var position = 0

    init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes.makeIterator() }

    mutating func bit() -> UInt32? {
        if left == 0 {
            guard var byte = bytes.next() else { return nil }
            if zeros >= 2, byte == 3 {
                guard let next = bytes.next() else { return nil }
                byte = next
                zeros = 0
            }
            zeros = byte == 0 ? zeros + 1 : 0
            (current, left) = (byte, 8)
        }
        left -= 1
        position += 1
        return UInt32(current >> UInt8(left)) & 1
    }

    mutating func bits(_ count: Int) -> UInt32? {
        var value: UInt32 = 0
        for _ in 0..<count {
            guard let bit = bit() else { return nil }
            value = value << 1 | bit
        }
        return value
    }

    /// ue(v) (clause 9.1); also the codeNum of an se(v).
    mutating func unsigned() -> UInt32? {
        var zeros = 0
        while let bit = bit() {
            if bit == 1 { return bits(zeros).map { $0 + (1 << UInt32(zeros)) - 1 } }
            zeros += 1
            guard zeros < 32 else { return nil }
        }
        return nil
    }

    /// se(v) (clause 9.1.1).
    mutating func signed() -> Int32? {
        guard let code = unsigned() else { return nil }
        let half = Int32(truncatingIfNeeded: code / 2)
        return code % 2 == 0 ? -half : half + 1
    }

    mutating func flag() -> Bool? { bit().map { $0 == 1 } }

    /// Skips `count` bits; false if there are fewer.
    mutating func skip(_ count: Int) -> Bool {
        for _ in 0..<count where bit() == nil { return false }
        return true
    }
}
