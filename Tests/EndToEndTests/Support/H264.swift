/// The part of H.264's byte stream (ITU-T H.264, 7.4.1 and annex B) that the tests need, independent of the program's
/// own code.
enum H264 {
    static let slice: UInt8 = 1
    static let keySlice: UInt8 = 5
    static let sps: UInt8 = 7
    static let pps: UInt8 = 8
    static let delimiter: UInt8 = 9
    static let mainProfile: UInt8 = 77
    static let startCode: [UInt8] = [0, 0, 0, 1]

    static func type(_ unit: some Collection<UInt8>) -> UInt8 { (unit.first ?? 0) & 0x1f }

    /// The NAL units between start codes.
    static func units(inAnnexB bytes: [UInt8]) -> [[UInt8]] {
        var starts: [(code: Int, unit: Int)] = []
        var index = 0
        while index + 3 <= bytes.count {
            if bytes[index] == 0, bytes[index + 1] == 0, bytes[index + 2] == 1 {
                starts.append((index, index + 3))
                index += 3
            } else {
                index += 1
            }
        }
        return starts.indices.map { number in
            var end = number + 1 < starts.count ? starts[number + 1].code : bytes.count
            while end > starts[number].unit && bytes[end - 1] == 0 { end -= 1 }
            return Array(bytes[starts[number].unit..<end])
        }
    }

    /// The NAL units behind 4-byte lengths; nil when the lengths don't add up.
    static func units(inAVCC bytes: [UInt8]) -> [[UInt8]]? {
        var units: [[UInt8]] = []
        var index = 0
        while index < bytes.count {
            guard index + 4 <= bytes.count else { return nil }
            let length = bytes[index..<index + 4].reduce(0) { $0 << 8 | Int($1) }
            index += 4
            guard length > 0, length <= bytes.count - index else { return nil }
            units.append(Array(bytes[index..<index + length]))
            index += length
        }
        return units
    }

    static func avcc(_ units: [[UInt8]]) -> [UInt8] {
        units.flatMap { unit in (0..<4).map { UInt8(truncatingIfNeeded: unit.count >> (24 - 8 * $0)) } + unit }
    }
}

/// A frame as it goes over the wire.
struct WireFrame: Sendable {
    var isKeyframe: Bool
    var parameterSets: [[UInt8]]
    /// Slices and other units of the picture.
    var units: [[UInt8]]

    var annexB: [UInt8] { (parameterSets + units).flatMap { H264.startCode + $0 } }
}
