import BeamMedia
import Glibc

/// Frames that a test can check without a decoder: one NAL unit that holds the frame's index, the index of the frame it
/// refers to, and bytes that follow from the index.
enum TestFrame {
    static let parameterSets = ParameterSets(
        sps: [[0x67, 0x4D, 0x00, 0x1F, 0xAA]], pps: [[0x68, 0xEE, 0x3C, 0x80]])

    /// A frame of `count` bytes in AVCC form, at least 13. Without a reference it is a keyframe.
    static func make(
        _ index: UInt32, reference: UInt32? = nil, bytes count: Int = 200, time: MediaTime = .zero,
        size: PixelSize = PixelSize(width: 1366, height: 767)
    ) -> EncodedFrame {
        var bytes = big(UInt32(count - 4)) + [reference == nil ? 0x65 : 0x41] + big(index) + big(reference ?? index)
        bytes += filler(index, count - bytes.count)
        let unit = AccessUnit(
            bytes: bytes, isKeyframe: reference == nil, parameterSets: reference == nil ? parameterSets : nil,
            size: size)
        return EncodedFrame(unit: unit, captureTime: time)
    }

    static func big(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }

    private static let noise: [UInt8] = {
        var random = SeededGenerator(seed: 99)
        return random.bytes(1 << 16)
    }()

    /// Noise with another beginning for each index.
    private static func filler(_ index: UInt32, _ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        var offset = Int(index) &* 31 & 0x7FFF
        while bytes.count < count {
            let length = min(count - bytes.count, noise.count - offset)
            bytes += noise[offset..<offset + length]
            offset = 0
        }
        return bytes
    }

    /// Arrays' own comparison is slow without optimisation.
    private static func ends(_ bytes: [UInt8], with end: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            end.withUnsafeBytes { end in
                guard let first = bytes.baseAddress, let other = end.baseAddress, bytes.count >= end.count else {
                    return end.isEmpty
                }
                return memcmp(first + (bytes.count - end.count), other, end.count) == 0
            }
        }
    }

    /// Stands in for a decoder: checks each frame's bytes and reference.
    struct Decoder {
        private(set) var last: UInt32?
        private(set) var decoded = 0
        /// Empty as long as no broken picture was shown.
        private(set) var errors: [String] = []

        mutating func decode(_ frame: ReceivedFrame) {
            let unit = frame.unit
            let bytes = Array(unit.avcc)
            func value(_ offset: Int) -> UInt32 { bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }
            guard bytes.count >= 13 else { return errors.append("a frame of \(bytes.count) bytes") }
            let index = value(5)
            if value(0) != bytes.count - 4 { errors.append("frame \(index): the NAL unit's length is wrong") }
            if !TestFrame.ends(bytes, with: filler(index, bytes.count - 13)) {
                errors.append("frame \(index): wrong bytes")
            }
            if unit.isKeyframe {
                if unit.parameterSets != TestFrame.parameterSets { errors.append("keyframe \(index): parameter sets") }
                if bytes[4] != 0x65 { errors.append("frame \(index) is no keyframe") }
            } else if last != value(9) {
                errors.append("frame \(index) refers to \(value(9)), but the last one decoded is \(last ?? 0)")
            }
            // Nothing may refer to a disposable frame.
            if !unit.isDisposable { last = index }
            decoded += 1
        }
    }
}

extension MediaTime {
    /// `seconds` after the clock's start.
    static func at(_ seconds: Double) -> MediaTime { MediaTime(nanoseconds: Int64((seconds * 1e9).rounded())) }

    var seconds: Double { Double(nanoseconds) / 1e9 }
}
