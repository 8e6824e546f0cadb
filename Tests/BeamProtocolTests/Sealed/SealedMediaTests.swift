import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Frames that are cut, sealed, opened and assembled.
struct SealedMediaTests {
    private static func delta(_ index: UInt32, bytes: Int = 3000) -> EncodedFrame {
        TestFrame.make(index, reference: index &- 1, bytes: bytes, time: .at(Double(index) / 64))
    }

    private static let keyframe = TestFrame.make(0, bytes: 5000, time: .at(0.25))

    private func receiver(_ keys: SealingKey...) -> SealedReceiver {
        var receiver = SealedReceiver()
        for key in keys { receiver.keys.add(key) }
        return receiver
    }

    // MARK: Cutting

    @Test(arguments: [13, 1143, 1144, 1145, 2288, 2289, 100_000])
    func everyDatagramButTheLastIsFull(_ length: Int) throws {
        for reference in [nil, UInt32(3)] {
            let frame = TestFrame.make(4, reference: reference, bytes: length, time: .at(3.5))
            let sealer = DatagramSealer(key: .golden, counter: 77)
            let parts = try sealedDatagrams(frame, 7, sealer)
            #expect(sealer.datagramsSealed == 77 + UInt64(parts.count))
            #expect(parts.dropLast().allSatisfy { $0.count == 1200 })
            #expect((57...1200).contains(parts.last?.count ?? 0))
            var opener = DatagramOpener(key: .golden)
            for (index, part) in parts.enumerated() {
                let (opened, plaintext) = try opener.open(part)
                #expect(opened.counter == 77 + UInt64(index))
                try plaintext.withUnsafeBytes { bytes in
                    let datagram = try MediaDatagram(version2: bytes)
                    #expect(datagram.form == .version2)
                    #expect(datagram.wireLength == part.count)
                    #expect(datagram.header.part == index)
                    #expect(Int(datagram.header.frame.partCount) == parts.count)
                    #expect(datagram.header.sequence == SequenceNumber(7))
                    #expect(datagram.header.frame.captureTime == .at(3.5))
                    #expect((datagram.header.configLength > 0) == (reference == nil && index == 0))
                }
            }
        }
    }

    @Test func parameterSetsMayFillTheFirstDatagram() throws {
        var frame = TestFrame.make(1, bytes: 500)
        // 2 bytes of counts and 2 × 2 bytes of lengths: 1144 in all.
        frame.unit.parameterSets = ParameterSets(sps: [[UInt8](repeating: 0x67, count: 1134)], pps: [[0x68, 1, 2, 3]])
        let parts = try sealedDatagrams(frame, 0, DatagramSealer(key: .golden))
        #expect(parts.map(\.count) == [1200, 556])
        var receiver = receiver(.golden)
        for part in parts.reversed() { receiver.receive(part) }
        #expect(receiver.frames.map(\.unit.parameterSets) == [frame.unit.parameterSets])
        frame.unit.parameterSets?.sps[0].append(0)
        #expect(throws: FragmentationError.parameterSetsTooLong(1145)) {
            try sealedDatagrams(frame, 0, DatagramSealer(key: .golden))
        }
    }

    /// The largest frame that may be sent is received, in both versions.
    @Test func theLargestFrameArrives() throws {
        let sets = try #require(ParameterSetBlock.encode(TestFrame.parameterSets))
        let frame = TestFrame.make(1, bytes: MediaLimits.frameLength - sets.count)
        var receiver = receiver(.golden)
        for part in try sealedDatagrams(frame, 1, DatagramSealer(key: .golden)) { receiver.receive(part) }
        #expect(receiver.frames.count == 1 && receiver.frames.first?.unit.range.count == frame.unit.bytes.count)
        var bench = ReassemblerTests.Bench()
        bench.insert(try datagrams(frame, 1))
        #expect(bench.frames.count == 1)
    }

    // MARK: Reading

    @Test func theHeaderIsRead() throws {
        try SealedDatagramTests.mediaPlaintext.withUnsafeBytes { bytes in
            let datagram = try MediaDatagram(version2: bytes)
            #expect(datagram.header.sequence == SequenceNumber(258))
            #expect(datagram.header.part == 0)
            #expect(datagram.header.frame.partCount == 1)
            #expect(datagram.header.frame.flags == [.keyframe, .parameterSets])
            #expect(datagram.header.frame.size == PixelSize(width: 1366, height: 767))
            #expect(datagram.header.frame.captureTime == MediaTime(nanoseconds: 4_886_718_345_000))
            #expect(datagram.header.frame.stages == MediaHeader.Stages(waited: 258, encode: 65535))
            #expect(
                datagram.header.frame.stages?.times
                    == StageTimes(waited: .microseconds(2580), encode: .microseconds(655_350)))
            #expect(Array(datagram.payload) == [0, 0, 0, 2, 0x65, 0x88, 0, 0, 0, 1, 0x06])
            #expect(datagram.wireLength == SealedDatagramTests.media.count)
        }
    }

    @Test(arguments: [
        (offset: 4, value: [0, 1], MediaDatagramError.part(1, of: 1)),
        (6, [0, 0], .part(0, of: 0)),
        (6, [0x42, 0x9C], .tooManyParts(17052)),
        (8, [1], .parameterSets),  // a keyframe without the flag for sets
        (8, [2], .parameterSets),  // sets without a keyframe
        (8, [0], .parameterSets),  // a block without flags
        (10, [0, 0], .size(width: 0, height: 767)),
        (12, [0, 0], .size(width: 1366, height: 0)),
        (14, [0, 0], .parameterSets),
        (14, [0, 25], .configLength(25)),
        (14, [0, 24], .emptyPart),
        (16, [UInt8](repeating: 0xFF, count: 8), .captureTime(.max)),
        // 2^63 ns and a little: more than `MediaTime` holds.
        (16, [0x00, 0x20, 0xC4, 0x9B, 0xA5, 0xE3, 0x53, 0xF8], .captureTime(9_223_372_036_854_776)),
    ])
    func aWrongFieldIsRefused(offset: Int, value: [UInt8], error: MediaDatagramError) {
        var bytes = SealedDatagramTests.mediaPlaintext
        bytes.replaceSubrange(offset..<offset + value.count, with: value)
        #expect(throws: error) { try bytes.withUnsafeBytes { _ = try MediaDatagram(version2: $0) } }
        #expect(!error.description.isEmpty)
    }

    @Test func wrongLengthsAreRefused() {
        for length in [0, 1, 20, 27, 1473, 65507] {
            let bytes = (SealedDatagramTests.mediaPlaintext + [UInt8](repeating: 0, count: 65507)).prefix(length)
            #expect(throws: MediaDatagramError.length(length)) {
                try bytes.withUnsafeBytes { _ = try MediaDatagram(version2: $0) }
            }
        }
    }

    /// Later versions may use them.
    @Test func unknownFlagsAndTheSpareByteAreIgnored() throws {
        var bytes = SealedDatagramTests.mediaPlaintext
        bytes[8] |= 0x80
        bytes[9] = 7
        let flags = try bytes.withUnsafeBytes { try MediaDatagram(version2: $0).header.frame.flags }
        #expect(flags.rawValue == 0x83)
    }

    /// Flag 8: nothing refers to this frame. Flag 16: nothing refers to the one before.
    @Test(arguments: [(false, false, 0x00), (true, false, 0x08), (false, true, 0x10), (true, true, 0x18)])
    func disposableFramesAreFlagged(isDisposable: Bool, isAfterDisposable: Bool, flags: UInt8) throws {
        var frame = Self.delta(6)
        frame.unit.isDisposable = isDisposable
        frame.stages = StageTimes(waited: .milliseconds(1), encode: .milliseconds(2))
        let cutter = try FrameCutter(frame, as: .version2, isAfterDisposable: isAfterDisposable)
        for part in 0..<cutter.partCount {
            for isSentAgain in [false, true] {
                var bytes = [UInt8](repeating: 0xFF, count: cutter.length(ofPart: part))
                bytes.withUnsafeMutableBytes {
                    cutter.write(part: part, sequence: SequenceNumber(258), isSentAgain: isSentAgain, to: $0)
                }
                let plaintext = Array(bytes[MediaForm.version2.prefixLength...].dropLast(SealedHeader.tagLength))
                #expect(
                    plaintext[..<16] == [
                        0x00, 0x00, 0x01, 0x02,  // frame 258
                        0x00, UInt8(part), 0x00, 0x03,  // of 3 parts
                        flags | (isSentAgain ? 0x04 : 0), 0x00,  // layer 0
                        0x05, 0x56, 0x02, 0xFF, 0x00, 0x00,
                    ])
                try plaintext.withUnsafeBytes {
                    let header = try MediaDatagram(version2: $0).header
                    #expect(header.frame == cutter.header && header.isSentAgain == isSentAgain)
                    #expect(header.frame.isDisposable == isDisposable)
                    #expect(header.frame.isAfterDisposable == isAfterDisposable)
                }
            }
        }
        // Parity repeats the frame's header.
        var memory: [UInt8] = []
        let sealer = DatagramSealer(key: .golden)
        let length = try cutter.writeParity(share: 0.5, sequence: SequenceNumber(258), sealedBy: sealer, to: &memory)
        try #require(length > 0)
        var opener = DatagramOpener(key: .golden)
        let (_, parity) = try opener.open(Array(memory.prefix(1200)))
        let header = try parity.withUnsafeBytes { try ParityDatagram($0).header.frame }
        #expect(header == cutter.header)
    }

    /// Even if its flags say so.
    @Test func aKeyframeIsNotDisposable() throws {
        var keyframe = Self.keyframe
        keyframe.unit.isDisposable = true
        let header = try FrameCutter(keyframe, as: .version2).header
        #expect(header.flags == [.keyframe, .parameterSets] && header.temporalFlags.isEmpty)
        var bytes = SealedDatagramTests.mediaPlaintext
        bytes[8] |= 0x18
        let frame = try bytes.withUnsafeBytes { try MediaDatagram(version2: $0).header.frame }
        #expect(!frame.isDisposable && frame.isAfterDisposable && frame.isStart)
    }

    // MARK: Putting together

    @Test func framesAreReassembledUnchanged() throws {
        let sealer = DatagramSealer(key: .golden)
        let sent = [
            Self.keyframe, Self.delta(1), Self.delta(2, bytes: 20), TestFrame.make(3, bytes: 40_000, time: .at(0.5)),
        ]
        var receiver = receiver(.golden)
        var bytes: UInt64 = 0
        for (number, frame) in sent.enumerated() {
            for part in try sealedDatagrams(frame, 7 + UInt32(number), sealer) {
                receiver.now = receiver.now + .milliseconds(1)
                #expect(receiver.receive(part) == nil)
                bytes += UInt64(part.count)
            }
        }
        #expect(receiver.frames.map { Array($0.unit.avcc) } == sent.map(\.unit.bytes))
        #expect(receiver.frames.map(\.number) == [7, 8, 9, 10])
        #expect(receiver.frames.map(\.captureTime) == sent.map(\.captureTime))
        #expect(receiver.frames[0].lastArrival == .at(0.005), "the arrival of the last part, by the viewer's clock")
        #expect(receiver.frames.map(\.isKeyframe) == [true, false, false, true])
        let statistics = receiver.reassembler.statistics
        #expect(statistics.frames == 4 && statistics.lost == 0 && statistics.reordered == 0)
        #expect(statistics.datagrams == sealer.datagramsSealed && statistics.bytes == bytes)
    }

    @Test func partsMayComeInAnyOrder() throws {
        let sealer = DatagramSealer(key: .golden)
        let parts =
            try sealedDatagrams(Self.keyframe, 1, sealer) + sealedDatagrams(Self.delta(1), 2, sealer)
            + sealedDatagrams(Self.delta(2), 3, sealer)
        for seed in 0..<100 {
            var random = SeededGenerator(seed: UInt64(seed))
            var receiver = receiver(.golden)
            for part in parts.shuffled(using: &random) { receiver.receive(part) }
            var decoder = TestFrame.Decoder()
            for frame in receiver.frames { decoder.decode(frame) }
            #expect(decoder.errors.isEmpty && decoder.last == 2, "seed \(seed)")
        }
    }

    @Test(arguments: [
        (StageTimes(waited: .zero, encode: .zero), MediaHeader.Stages(waited: 0, encode: 0)),
        (.init(waited: .microseconds(9), encode: .microseconds(10)), .init(waited: 0, encode: 1)),
        (.init(waited: .microseconds(1999), encode: .milliseconds(16)), .init(waited: 199, encode: 1600)),
        (.init(waited: .microseconds(655_350), encode: .seconds(3600)), .init(waited: .max, encode: .max)),
        (.init(waited: .milliseconds(-3), encode: .seconds(-1_000_000_000_000)), .init(waited: 0, encode: 0)),
    ])
    func stageTimesAreQuantised(times: StageTimes, wire: MediaHeader.Stages) throws {
        #expect(MediaHeader.Stages(times) == wire)
        var frame = Self.keyframe
        frame.stages = times
        var receiver = receiver(.golden)
        for part in try sealedDatagrams(frame, 1, DatagramSealer(key: .golden)) {
            receiver.now = receiver.now + .milliseconds(1)
            receiver.receive(part)
        }
        #expect(receiver.frames.map(\.stages) == [wire.times])
        #expect(receiver.frames.map(\.firstArrival) == [.at(0.001)])
        #expect(receiver.frames.map(\.lastArrival) == [receiver.now])
    }

    /// A repeated picture tells nothing about the screen's latency.
    @Test func aRepeatedPictureHasNoCaptureTime() throws {
        var frame = Self.keyframe
        frame.isRepeated = true
        var receiver = receiver(.golden)
        for part in try sealedDatagrams(frame, 1, DatagramSealer(key: .golden)) { receiver.receive(part) }
        #expect(receiver.frames.count == 1)
        #expect(receiver.frames.map(\.captureTime) == [nil] && receiver.frames.map(\.stages) == [nil])
    }

    @Test func version1HasNoStageTimes() throws {
        var frame = Self.keyframe
        frame.stages = StageTimes(waited: .milliseconds(1), encode: .milliseconds(2))
        var bench = ReassemblerTests.Bench()
        bench.insert(try datagrams(frame, 1))
        #expect(bench.frames.map(\.stages) == [nil])
        #expect(bench.frames.map(\.captureTime) == [nil])
    }

    @Test func partsOfOneFrameHaveOneCaptureTime() throws {
        let sealer = DatagramSealer(key: .golden)
        var receiver = receiver(.golden)
        let parts = try sealedDatagrams(Self.keyframe, 1, sealer)
        var later = Self.keyframe
        later.captureTime = .at(1)
        var slower = Self.keyframe
        slower.stages = StageTimes(waited: .zero, encode: .milliseconds(1))
        let others = try [later, slower].map { try sealedDatagrams($0, 1, sealer)[1] }
        for part in [parts[0]] + others + parts.dropFirst() { receiver.receive(part) }
        #expect(receiver.frames.count == 1)
        #expect(receiver.reassembler.statistics.malformed == 2)
    }

    /// The parts of one frame may be sealed with two keys.
    @Test func theMediaKeyIsRotatedWithoutAGap() throws {
        var receiver = receiver(.made(1), .made(2))
        let sealers = [DatagramSealer(key: .made(1)), DatagramSealer(key: .made(2))]
        var parts = try sealedDatagrams(Self.keyframe, 0, sealers[0])
        for index: UInt32 in 1..<20 {
            parts += try sealedDatagrams(Self.delta(index), index, sealers[index < 10 ? 0 : 1])
        }
        // Neighbours are swapped, across the rotation too.
        for index in stride(from: 0, to: parts.count - 3, by: 4) { parts.swapAt(index, index + 3) }
        for part in parts {
            receiver.now = receiver.now + .milliseconds(5)
            #expect(receiver.receive(part) == nil)
        }
        var decoder = TestFrame.Decoder()
        for frame in receiver.frames { decoder.decode(frame) }
        #expect(decoder.errors.isEmpty && decoder.decoded == 20)
    }

    @Test func refusedDatagramsAreCounted() throws {
        var receiver = receiver(.golden)
        let parts = try sealedDatagrams(Self.keyframe, 0, DatagramSealer(key: .golden))
        receiver.receive(parts[0])
        receiver.receive(parts[0])
        receiver.receive(Array(parts[1].dropLast()))
        receiver.receive(MediaDatagramTests.smallKeyframe)
        let statistics = receiver.reassembler.statistics
        #expect(statistics.datagrams == 4 && statistics.bytes == 3599 + UInt64(MediaDatagramTests.smallKeyframe.count))
        #expect(statistics.duplicates == 1 && statistics.malformed == 2)
    }
}
