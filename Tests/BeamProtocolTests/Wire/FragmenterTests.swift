import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

struct FragmenterTests {
    @Test(arguments: [13, 1179, 1180, 1181, 2360, 2361, 100_000])
    func everyDatagramButTheLastIsFull(_ length: Int) throws {
        for reference in [nil, UInt32(3)] {
            let parts = try datagrams(TestFrame.make(4, reference: reference, bytes: length), 7)
            #expect(parts.dropLast().allSatisfy { $0.count == 1200 })
            #expect((21...1200).contains(parts.last?.count ?? 0))
            for (index, part) in parts.enumerated() {
                try part.withUnsafeBytes { bytes in
                    let header = try MediaDatagram(bytes).header
                    #expect(header.part == index)
                    #expect(Int(header.frame.partCount) == parts.count)
                    #expect(header.sequence == SequenceNumber(7))
                    #expect((header.configLength > 0) == (reference == nil && index == 0))
                }
            }
        }
    }

    @Test func parameterSetsMayFillTheFirstDatagram() throws {
        var frame = TestFrame.make(1, bytes: 500)
        // 2 bytes of counts and 2 × 2 bytes of lengths: 1180 in all.
        frame.unit.parameterSets = ParameterSets(sps: [[UInt8](repeating: 0x67, count: 1170)], pps: [[0x68, 1, 2, 3]])
        let parts = try datagrams(frame, 0)
        #expect(parts.map(\.count) == [1200, 520])
        frame.unit.parameterSets?.sps[0].append(0)
        #expect(throws: FragmentationError.parameterSetsTooLong(1181)) { try datagrams(frame, 0) }
    }

    @Test func framesThatTheWireCannotCarryAreRefused() {
        var frame = TestFrame.make(1)
        frame.unit.parameterSets = nil
        #expect(throws: FragmentationError.parameterSetsMissing) { try datagrams(frame, 0) }
        frame.unit.parameterSets = ParameterSets(sps: [], pps: [[1]])
        #expect(throws: FragmentationError.parameterSetsMissing) { try datagrams(frame, 0) }
        frame.unit.parameterSets = ParameterSets(sps: [[UInt8]](repeating: [1], count: 256), pps: [[1]])
        #expect(throws: FragmentationError.parameterSetsMissing) { try datagrams(frame, 0) }

        for size in [
            PixelSize(width: 0, height: 9), PixelSize(width: 65536, height: 9), PixelSize(width: 9, height: -1),
        ] {
            #expect(throws: FragmentationError.size(size)) { try datagrams(TestFrame.make(1, size: size), 0) }
        }
        frame = TestFrame.make(1, reference: 0, bytes: (8 << 20) + 1)
        #expect(throws: FragmentationError.frameTooLong((8 << 20) + 1)) { try datagrams(frame, 0) }
        frame.unit.bytes[0] = 9
        #expect(throws: FragmentationError.malformedFrame) { try datagrams(frame, 0) }
        frame.unit.range = 0..<0
        #expect(throws: FragmentationError.malformedFrame) { try datagrams(frame, 0) }
    }
}
