import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

struct ParityDatagramTests {
    static let header: [UInt8] = [
        0x00, 0x00, 0x00, 0x2A,  // frame 42
        0x00, 0x03,  // parity index 3
        0x00, 0x05,  // of a frame of 5 parts
        0x03,  // keyframe, with parameter sets
        0x01,  // layer 1
        0x07, 0x80, 0x04, 0x38,  // 1920 × 1080
        0x01, 0x02,  // 258 bytes in the last part
        0x00, 0x00, 0x00, 0x00, 0x00, 0x0F, 0x42, 0x40,  // captured after 1 s
        0x00, 0x64, 0x00, 0xC8,  // waited 1 ms, encoded in 2 ms
    ]
    static let golden = header + [UInt8](repeating: 0xAB, count: 1144)

    @Test func goldenBytes() throws {
        try Self.golden.withUnsafeBytes { bytes in
            let datagram = try ParityDatagram(bytes)
            let header = datagram.header
            #expect(header.sequence == SequenceNumber(42))
            #expect(header.index == 3 && header.lastLength == 258)
            #expect(header.frame.partCount == 5 && header.frame.isStart && header.frame.layer == 1)
            #expect(header.frame.size == PixelSize(width: 1920, height: 1080))
            #expect(header.frame.captureTime == .at(1))
            #expect(header.frame.stages == MediaHeader.Stages(waited: 100, encode: 200))
            #expect(datagram.shard.count == 1144 && datagram.shard.allSatisfy { $0 == 0xAB })
            #expect(datagram.wireLength == 1200)
            var written = [UInt8](repeating: 0xFF, count: 28)
            written.withUnsafeMutableBytes { header.write(to: $0) }
            #expect(written == Self.header)
        }
    }

    @Test(arguments: [
        (4, [0xFF, 0xFF], ParityDatagramError.index(65535, partCount: 5)),
        (4, [0x00, 0x40], .index(64, partCount: 5)), (6, [0, 0], .partCount(0)), (6, [0x1C, 0xA6], .partCount(7334)),
        (8, [2], .parameterSets), (9, [2], .layer(2)), (10, [0, 0], .size(width: 0, height: 1080)),
        (12, [0, 0], .size(width: 1920, height: 0)), (14, [0, 0], .lastLength(0)),
        (14, [0x04, 0x79], .lastLength(1145)),
        (16, [0xFF], .captureTime(0xFF00_0000_000F_4240)),
    ])
    func invalidFieldsAreRefused(_ offset: Int, _ bytes: [UInt8], _ error: ParityDatagramError) {
        var datagram = Self.golden
        datagram.replaceSubrange(offset..<offset + bytes.count, with: bytes)
        #expect(throws: error) { try datagram.withUnsafeBytes { _ = try ParityDatagram($0) } }
        #expect(!error.description.isEmpty)
    }

    @Test func theLengthIsFixed() {
        for count in [0, 27, 28, 1171, 1173] {
            let datagram = Array((Self.golden + [0]).prefix(count))
            #expect(throws: ParityDatagramError.length(count)) {
                try datagram.withUnsafeBytes { _ = try ParityDatagram($0) }
            }
        }
    }

    @Test func parityOfTheLargestFrameIsRead() throws {
        var datagram = Self.golden
        datagram.replaceSubrange(4..<8, with: [0x0E, 0x7F, 0x1C, 0xA5])  // index 58 × 64 - 1 of 7333 parts
        let header = try datagram.withUnsafeBytes { try ParityDatagram($0).header }
        #expect(header.index == 3711 && header.frame.partCount == 7333)
    }

    /// Parity datagrams are sealed in place, as the others are.
    @Test func eachDatagramIsSealedInPlace() throws {
        let frame = try WireFrame(TestFrame.make(1, bytes: 3000))
        var memory: [UInt8] = [1, 2, 3]
        var lengths: [Int] = []
        let count = try frame.withContent { content in
            try ParityFragmenter.write(
                content, of: frame.header, sequence: frame.sequence, rows: 0..<2, to: &memory, from: 3
            ) { lengths.append($0.count) }
        }
        #expect(count == 2400 && memory.count == 2403 && memory.prefix(3) == [1, 2, 3] && lengths == [1200, 1200])
        #expect(throws: SealingError.exhausted(keyNumber: 1)) {
            try frame.withContent { content in
                _ = try ParityFragmenter.write(
                    content, of: frame.header, sequence: frame.sequence, rows: 0..<2, to: &memory
                ) { _ throws(SealingError) in throw .exhausted(keyNumber: 1) }
            }
        }
    }
}
