/// Writes the bits of a NAL unit's payload, as `BitReader` reads them.
struct BitWriter {
    /// The last one may be incomplete; its unwritten bits are 0.
    private(set) var bytes: [UInt8] = []
    /// In bits.
    private(set) var count = 0

    mutating func append(bit: UInt32) {
        if count % 8 == 0 { bytes.append(0) }
        if bit & 1 == 1 { bytes[count / 8] |= 0x80 >> UInt8(count % 8) }
        count += 1
    }

    mutating func append(_ value: UInt32, count length: Int) {
        for place in (0..<length).reversed() { append(bit: value >> UInt32(place)) }
    }

    /// ue(v) (clause 9.1), of less than 2³¹.
    mutating func append(unsigned value: UInt32) {
        let code = value + 1
        let length = UInt32.bitWidth - code.leadingZeroBitCount
        append(0, count: length - 1)
        append(code, count: length)
    }

    /// se(v) (clause 9.1.1), of at most 2³⁰ either way.
    mutating func append(signed value: Int32) {
        append(unsigned: value > 0 ? UInt32(value) * 2 - 1 : value.magnitude * 2)
    }

    /// rbsp_trailing_bits() (clause 7.3.2.11).
    mutating func end() {
        append(bit: 1)
        while count % 8 != 0 { append(bit: 0) }
    }
}
