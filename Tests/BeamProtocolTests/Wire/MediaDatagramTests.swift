import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// The media plane's bytes in version 1, written by hand.
struct MediaDatagramTests {
    /// A frame of one slice NAL unit with five bytes.
    static let smallFrame: [UInt8] = [
        0x42, 0x4D, 0x52, 0x56,  // BMRV
        0x00, 0x00, 0x01, 0x02,  // seq 258
        0x00, 0x00, 0x00, 0x01,  // part 0 of 1
        0x00, 0x00,  // flags
        0x05, 0x56, 0x02, 0xFF,  // 1366 × 767
        0x00, 0x00,  // no parameter sets
        0x00, 0x00, 0x00, 0x05, 0x41, 0x9A, 0x01, 0x02, 0x03,
    ]

    static let smallKeyframe: [UInt8] = [
        0x42, 0x4D, 0x52, 0x56,  // BMRV
        0xFF, 0xFF, 0xFF, 0xFF,  // seq 4294967295
        0x00, 0x00, 0x00, 0x01,  // part 0 of 1
        0x00, 0x03,  // keyframe, parameter sets
        0x07, 0x80, 0x04, 0x38,  // 1920 × 1080
        0x00, 0x0D,  // 13 bytes of parameter sets
        0x01, 0x01,  // one SPS, one PPS
        0x00, 0x04, 0x67, 0x4D, 0x00, 0x28,
        0x00, 0x03, 0x68, 0xEE, 0x3C,
        0x00, 0x00, 0x00, 0x02, 0x65, 0x88,
        0x00, 0x00, 0x00, 0x01, 0x06,
    ]

    @Test func aFrameIsWrittenAsTheProtocolSays() throws {
        let unit = AccessUnit(
            bytes: [0xEE, 0x00, 0x00, 0x00, 0x05, 0x41, 0x9A, 0x01, 0x02, 0x03, 0xEE], range: 1..<10, isKeyframe: false,
            parameterSets: nil, size: PixelSize(width: 1366, height: 767))
        let frame = EncodedFrame(unit: unit, captureTime: .zero)
        #expect(try Fragmenter.datagrams(of: frame, sequence: SequenceNumber(258)) == Self.smallFrame)
    }

    @Test func aKeyframeCarriesItsParameterSets() throws {
        let unit = AccessUnit(
            bytes: [0, 0, 0, 2, 0x65, 0x88, 0, 0, 0, 1, 0x06], isKeyframe: true,
            parameterSets: ParameterSets(sps: [[0x67, 0x4D, 0x00, 0x28]], pps: [[0x68, 0xEE, 0x3C]]),
            size: PixelSize(width: 1920, height: 1080))
        let frame = EncodedFrame(unit: unit, captureTime: .zero)
        #expect(try Fragmenter.datagrams(of: frame, sequence: SequenceNumber(.max)) == Self.smallKeyframe)
    }

    @Test func theHeaderIsRead() throws {
        try Self.smallKeyframe.withUnsafeBytes { bytes in
            let datagram = try MediaDatagram(bytes)
            #expect(datagram.header.sequence == SequenceNumber(.max))
            #expect(datagram.header.part == 0)
            #expect(datagram.header.frame.partCount == 1)
            #expect(datagram.header.frame.flags == [.keyframe, .parameterSets])
            #expect(datagram.header.frame.size == PixelSize(width: 1920, height: 1080))
            #expect(Array(datagram.payload) == [0, 0, 0, 2, 0x65, 0x88, 0, 0, 0, 1, 0x06])
            let sets = try #require(ParameterSetBlock.decode(datagram.config))
            #expect(sets == ParameterSets(sps: [[0x67, 0x4D, 0x00, 0x28]], pps: [[0x68, 0xEE, 0x3C]]))
        }
    }

    /// Packets may begin at any address.
    @Test func unalignedBytesAreRead() throws {
        let shifted = [0] + Self.smallFrame
        try shifted.withUnsafeBytes { bytes in
            let datagram = try MediaDatagram(UnsafeRawBufferPointer(rebasing: bytes[1...]))
            #expect(datagram.header.sequence == SequenceNumber(258))
        }
    }

    @Test(arguments: [
        (offset: 3, value: [0x57], MediaDatagramError.magic),
        (8, [0, 1], .part(1, of: 1)),
        (10, [0, 0], .part(0, of: 0)),
        (10, [0xFF, 0xFF], .tooManyParts(65535)),
        (12, [0, 1], .parameterSets),  // a keyframe without the flag for sets
        (12, [0, 2], .parameterSets),  // sets without a keyframe
        (12, [0, 0], .parameterSets),  // a block without flags
        (14, [0, 0], .size(width: 0, height: 1080)),
        (16, [0, 0], .size(width: 1920, height: 0)),
        (18, [0, 0], .parameterSets),
        (18, [0, 25], .configLength(25)),
        (18, [0xFF, 0xFF], .configLength(65535)),
        (18, [0, 24], .emptyPart),
    ])
    func aWrongFieldIsRefused(offset: Int, value: [UInt8], error: MediaDatagramError) {
        var bytes = Self.smallKeyframe
        bytes.replaceSubrange(offset..<offset + value.count, with: value)
        #expect(throws: error) { try bytes.withUnsafeBytes { _ = try MediaDatagram($0) } }
        #expect(!error.description.isEmpty)
    }

    @Test func wrongLengthsAreRefused() {
        for length in [0, 1, 19, 1501, 65507] {
            let bytes = (Self.smallFrame + [UInt8](repeating: 0, count: 65507)).prefix(length)
            #expect(throws: MediaDatagramError.length(length)) {
                try bytes.withUnsafeBytes { _ = try MediaDatagram($0) }
            }
        }
        #expect(throws: MediaDatagramError.emptyPart) {
            try Self.smallFrame.prefix(20).withUnsafeBytes { _ = try MediaDatagram($0) }
        }
    }

    @Test func unknownFlagsAreIgnored() throws {
        var bytes = Self.smallFrame
        bytes[12] = 0x80
        let flags = try bytes.withUnsafeBytes { try MediaDatagram($0).header.frame.flags }
        #expect(flags.rawValue == 0x8000)
    }

    /// Version 2's flags for disposable frames are unknown in version 1, and never sent.
    @Test func version1HasNoDisposableFrames() throws {
        var bytes = Self.smallFrame
        bytes[13] |= 0x18
        let frame = try bytes.withUnsafeBytes { try MediaDatagram($0).header.frame }
        #expect(!frame.isDisposable && !frame.isAfterDisposable)
        var encoded = TestFrame.make(3, reference: 2)
        let plain = try datagrams(encoded, 3)
        encoded.unit.isDisposable = true
        #expect(try datagrams(encoded, 3) == plain)
        let header = try FrameCutter(encoded, as: .version1, isAfterDisposable: true).header
        #expect(header.flags.isEmpty && header.temporalFlags.isEmpty)
    }

    @Test(
        arguments: [
            [], [1], [0, 1, 0, 1, 0x68], [1, 0, 0, 1, 0x67], [1, 1], [1, 1, 0, 1, 0x67],
            [1, 1, 0, 1, 0x67, 0, 2, 0x68],
            [1, 1, 0, 0, 0, 1, 0x68], [1, 1, 0, 1, 0x67, 0, 1, 0x68, 0], [255, 255, 0, 1, 0x67],
            [1, 1, 0xFF, 0xFF, 0x67],
        ] as [[UInt8]])
    func brokenParameterSetBlocksAreRefused(_ block: [UInt8]) {
        #expect(block.withUnsafeBytes { ParameterSetBlock.decode($0) } == nil)
    }

    @Test func avccLengthsMustAddUp() {
        func isWellFormed(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { AVCC.isWellFormed($0) } }
        #expect(isWellFormed([0, 0, 0, 1, 9]))
        #expect(isWellFormed([0, 0, 0, 1, 9, 0, 0, 0, 2, 8, 8]))
        for bytes: [UInt8] in [
            [], [0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0, 9], [0, 0, 0, 2, 9], [0, 0, 0, 1, 9, 9],
            [0xFF, 0xFF, 0xFF, 0xFF, 9], [0, 0, 0, 1, 9, 0, 0, 0, 1],
        ] { #expect(!isWellFormed(bytes), "\(bytes)") }
    }

    @Test func sequenceNumbersWrapAround() {
        #expect(SequenceNumber(.max).next == SequenceNumber(0))
        #expect(SequenceNumber(2).distance(from: SequenceNumber(.max)) == 3)
        #expect(SequenceNumber(.max).distance(from: SequenceNumber(2)) == -3)
        #expect(SequenceNumber(0x8000_0000).distance(from: SequenceNumber(0)) == -(1 << 31))
    }

    @Test func onlyTheExactHelloIsAHello() {
        func isHello(_ text: String) -> Bool { Array(text.utf8).withUnsafeBytes { MediaLimits.isHello($0) } }
        #expect(isHello("BRHI!"))
        for text in ["", "BRHI", "BRHI!!", "BRHI?", "brhi!"] { #expect(!isHello(text)) }
    }
}
