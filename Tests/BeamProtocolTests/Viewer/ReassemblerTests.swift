import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

struct ReassemblerTests {
    /// A reassembler, and the frames that come out of it.
    struct Bench {
        var reassembler: Reassembler
        var now = MediaTime.zero
        var frames: [ReceivedFrame] = []

        init(_ limits: Reassembler.Limits = Reassembler.Limits()) { reassembler = Reassembler(limits: limits) }

        @discardableResult
        mutating func insert(_ datagram: [UInt8]) -> Bool {
            defer { drain() }
            return datagram.withUnsafeBytes { reassembler.insert($0, now: now) }
        }

        mutating func insert(_ datagrams: some Sequence<[UInt8]>) { for datagram in datagrams { insert(datagram) } }

        mutating func advance(to seconds: Double) {
            while let deadline = reassembler.deadline, deadline <= .at(seconds) {
                now = deadline
                reassembler.expire(now: now)
                drain()
            }
            now = .at(seconds)
        }

        mutating func drain() { while let frame = reassembler.nextFrame() { frames.append(frame) } }

        var numbers: [UInt32] { frames.map(\.number) }
        var statistics: ViewerStatistics { reassembler.statistics }
    }

    static let keyframe = TestFrame.make(0, bytes: 5000)

    static func delta(_ index: UInt32, bytes: Int = 3000) -> EncodedFrame {
        TestFrame.make(index, reference: index &- 1, bytes: bytes)
    }

    @Test func framesAreReassembledUnchanged() throws {
        var bench = Bench()
        bench.now = .at(1)
        bench.insert(try datagrams(Self.keyframe, 7).dropLast())
        #expect(bench.frames.isEmpty)
        bench.now = .at(1.25)
        bench.insert(try datagrams(Self.keyframe, 7).suffix(1))
        bench.insert(try datagrams(Self.delta(1), 8))
        bench.insert(try datagrams(Self.delta(2, bytes: 20), 9))
        #expect(bench.numbers == [7, 8, 9])
        #expect(
            bench.frames.map { Array($0.unit.avcc) }
                == [Self.keyframe, Self.delta(1), Self.delta(2, bytes: 20)].map(\.unit.bytes))
        #expect(bench.frames[0].unit.parameterSets == TestFrame.parameterSets)
        #expect(bench.frames.map(\.isKeyframe) == [true, false, false])
        #expect(bench.frames[1].unit.parameterSets == nil)
        #expect(bench.frames[0].unit.size == PixelSize(width: 1366, height: 767))
        #expect(bench.frames[0].firstArrival == .at(1) && bench.frames[0].lastArrival == .at(1.25))
        #expect(bench.statistics.frames == 3 && bench.statistics.keyframes == 1)
        #expect(bench.statistics.lost == 0 && bench.statistics.dropped == 0 && bench.statistics.reordered == 0)
        #expect(bench.reassembler.bytesHeld == 0)
    }

    @Test func partsMayComeInAnyOrder() throws {
        let parts = try datagrams(Self.keyframe, 1) + datagrams(Self.delta(1), 2) + datagrams(Self.delta(2), 3)
        for seed in 0..<200 {
            var random = SeededGenerator(seed: UInt64(seed))
            var bench = Bench()
            bench.insert(parts.shuffled(using: &random))
            #expect(bench.numbers == [1, 2, 3], "seed \(seed)")
            var decoder = TestFrame.Decoder()
            for frame in bench.frames { decoder.decode(frame) }
            #expect(decoder.errors.isEmpty, "seed \(seed)")
            #expect(bench.statistics.malformed == 0 && bench.statistics.lost == 0)
            #expect(bench.statistics.reordered > 0)
        }
    }

    /// Hosts that cut parts of other lengths.
    @Test(arguments: [(1180, 700), (300, 1), (1480, 1480), (1000, 1480), (1480, 20), (1, 1181)])
    func otherPartLengthsAreReassembled(first: Int, second: Int) throws {
        let unit = TestFrame.make(3, bytes: 6000).unit
        let config = try #require(ParameterSetBlock.encode(TestFrame.parameterSets))
        var parts: [[UInt8]] = []
        var offset = 0
        while offset < unit.bytes.count {
            let room = (parts.count.isMultiple(of: 2) ? first : second) - (parts.isEmpty ? config.count : 0)
            let end = min(unit.bytes.count, offset + max(1, room))
            parts.append(Array(unit.bytes[offset..<end]))
            offset = end
        }
        let whole = parts.enumerated().map { index, payload in
            header(5, part: index, of: parts.count, flags: 3, config: index == 0 ? config : []) + payload
        }
        for order in [whole, whole.reversed(), whole.shuffledBySeed(9)] {
            var bench = Bench()
            bench.insert(order)
            #expect(bench.frames.map { Array($0.unit.avcc) } == [unit.bytes])
        }
    }

    @Test func nothingIsDeliveredBeforeAKeyframe() throws {
        var bench = Bench()
        bench.insert(try datagrams(Self.delta(1), 1))
        bench.insert(try datagrams(Self.delta(2), 2))
        #expect(bench.frames.isEmpty)
        bench.insert(try datagrams(Self.keyframe, 3))
        #expect(bench.numbers == [3])
        #expect(bench.statistics.lost == 0, "frames before the first keyframe don't count as lost")
        #expect(bench.statistics.dropped == 2)
    }

    @Test func aKeyframeWithoutParameterSetsStartsNothing() {
        var bench = Bench()
        bench.insert(header(1, part: 0, of: 1, flags: 1) + [0, 0, 0, 1, 0x65])
        #expect(bench.frames.isEmpty)
    }

    @Test func framesWaitForAMissingOne() throws {
        var bench = Bench()
        bench.insert(try datagrams(Self.keyframe, 0))
        bench.insert(try datagrams(Self.delta(2), 2))
        bench.insert(try datagrams(Self.delta(3), 3))
        #expect(bench.numbers == [0])
        bench.advance(to: 0.9)
        bench.insert(try datagrams(Self.delta(1), 1))
        #expect(bench.numbers == [0, 1, 2, 3])
        #expect(bench.statistics.lost == 0)
        #expect(bench.statistics.reordered == 1)
    }

    @Test func aMissingFrameIsLostAfterASecond() throws {
        var bench = Bench()
        bench.insert(try datagrams(Self.keyframe, 0))
        bench.insert(try datagrams(Self.delta(1), 1).dropFirst())  // frame 1: 2 of 3 parts
        bench.insert(try datagrams(Self.delta(3), 3))  // frame 2: no part
        bench.advance(to: 1)
        #expect(bench.reassembler.framesInFlight == 0)
        #expect(bench.statistics.lost == 2)
        #expect(bench.statistics.dropped == 2)
        // Frames 4 and 5 are complete, but nothing comes out before a keyframe.
        bench.insert(try datagrams(Self.delta(4), 4))
        bench.insert(try datagrams(Self.delta(5), 5))
        #expect(bench.numbers == [0])
        bench.insert(try datagrams(TestFrame.make(6), 6))
        bench.insert(try datagrams(Self.delta(7), 7))
        #expect(bench.numbers == [0, 6, 7])
        // The missing part of frame 1 comes too late.
        bench.insert(try datagrams(Self.delta(1), 1).prefix(1))
        #expect(bench.statistics.duplicates == 1)
    }

    @Test func aKeyframeEndsTheWaitForALostFrame() throws {
        var bench = Bench()
        bench.insert(try datagrams(Self.keyframe, 0))
        bench.insert(try datagrams(Self.delta(1), 1).dropLast())
        bench.insert(try datagrams(Self.delta(2), 2))
        bench.insert(try datagrams(TestFrame.make(3), 3))
        bench.insert(try datagrams(Self.delta(4), 4))
        #expect(bench.numbers == [0, 3, 4])
        #expect(bench.statistics.lost == 1)
        #expect(bench.statistics.dropped == 2)
    }

    @Test func theNewestOfSeveralKeyframesIsUsed() throws {
        var bench = Bench()
        bench.insert(try datagrams(Self.keyframe, 0))
        let last = try datagrams(TestFrame.make(5, bytes: 2000), 5)
        bench.insert(last.dropLast())
        bench.insert(try datagrams(Self.delta(6), 6))
        #expect(bench.numbers == [0])
        bench.insert(last.suffix(1))
        #expect(bench.numbers == [0, 5, 6])
    }

    @Test func duplicatesAreCountedAndDoNoHarm() throws {
        var bench = Bench()
        let parts = try datagrams(Self.keyframe, 0)
        for part in parts.dropLast() {
            bench.insert(part)
            bench.insert(part)
        }
        bench.insert(parts.suffix(1))
        bench.insert(parts)
        #expect(bench.numbers == [0])
        #expect(bench.statistics.duplicates == UInt64(2 * parts.count - 1))
        #expect(bench.statistics.reordered == 0)
    }

    @Test func partsThatContradictEachOtherAreRefused() throws {
        for change: (Int, UInt8) in [(11, 9), (13, 0x83), (15, 1), (17, 1)] {
            var bench = Bench()
            let parts = try datagrams(Self.keyframe, 0)
            bench.insert(parts.prefix(2))
            var other = parts[2]
            other[change.0] = change.1
            let isTaken = bench.insert(other)
            #expect(!isTaken)
            #expect(bench.statistics.malformed == 1)
            bench.insert(parts.dropFirst(2))
            #expect(bench.numbers == [0], "the genuine frame isn't affected")
        }
    }

    @Test func framesThatAreNotAVCCAreDropped() throws {
        var bench = Bench()
        bench.insert(try datagrams(Self.keyframe, 0))
        var parts = try datagrams(Self.delta(1), 1)
        parts[0][20] = 0xFF
        bench.insert(parts)
        bench.insert(try datagrams(Self.delta(2), 2))
        #expect(bench.numbers == [0])
        #expect(bench.statistics.malformed == 1 && bench.statistics.dropped == 1)
        bench.insert(try datagrams(TestFrame.make(3), 3))
        #expect(bench.numbers == [0, 3])
    }

    @Test func brokenParameterSetsAreRefused() throws {
        var bench = Bench()
        var parts = try datagrams(TestFrame.make(0), 0)
        parts[0][20] = 9
        let isTaken = bench.insert(parts[0])
        #expect(!isTaken)
        #expect(bench.reassembler.framesInFlight == 0)
        #expect(bench.statistics.malformed == 1)
    }

    @Test func frameNumbersWrapAround() throws {
        var bench = Bench()
        bench.insert(try datagrams(Self.keyframe, .max - 1))
        bench.insert(try datagrams(Self.delta(2), 0))
        bench.insert(try datagrams(Self.delta(3), 1))
        bench.insert(try datagrams(Self.delta(1), .max))
        #expect(bench.numbers == [UInt32.max - 1, .max, 0, 1])
    }

    @Test func afterADecoderErrorTheNextFrameIsAKeyframe() throws {
        var bench = Bench()
        bench.insert(try datagrams(Self.keyframe, 0))
        bench.reassembler.decoderFailed()
        bench.insert(try datagrams(Self.delta(1), 1))
        #expect(bench.numbers == [0])
        bench.insert(try datagrams(TestFrame.make(2), 2))
        #expect(bench.numbers == [0, 2])
    }

    // MARK: Hosts that restart

    @Test(arguments: [(5000, 0.0), (40, 0.6)])
    func aHostThatRestartsItsNumbersIsFollowed(reached: UInt32, pause: Double) throws {
        var bench = Bench()
        bench.insert(try datagrams(Self.keyframe, reached))
        bench.advance(to: pause)
        bench.insert(try datagrams(Self.delta(8), 0))  // not a keyframe
        bench.insert(try datagrams(Self.keyframe, 1).dropLast())
        #expect(bench.numbers == [reached])
        bench.insert(try datagrams(Self.keyframe, 1).suffix(1))
        bench.insert(try datagrams(Self.delta(1), 2))
        #expect(bench.numbers == [reached, 1, 2])
    }

    @Test func aLateKeyframeIsNoRestart() throws {
        var bench = Bench()
        bench.insert(try datagrams(Self.keyframe, 100))
        bench.insert(try datagrams(TestFrame.make(200), 200))
        bench.insert(try datagrams(Self.keyframe, 100))
        #expect(bench.numbers == [100, 200])
        bench.insert(try datagrams(TestFrame.make(201, reference: 200), 201))
        #expect(bench.numbers == [100, 200, 201])
    }

    /// A single stray datagram doesn't disturb the stream.
    @Test func aLeapAheadIsNotFollowed() throws {
        var bench = Bench()
        bench.insert(try datagrams(Self.keyframe, 0))
        bench.insert(try datagrams(Self.delta(9), 1_000_000))
        bench.advance(to: 0.5)
        bench.insert(try datagrams(Self.delta(1), 1))
        bench.advance(to: 2)
        bench.insert(try datagrams(Self.delta(2), 2))
        #expect(bench.numbers == [0, 1, 2])
    }

    @Test func afterAResetAllStateIsNew() throws {
        var bench = Bench()
        bench.insert(try datagrams(Self.keyframe, 100))
        bench.insert(try datagrams(Self.delta(2), 102))
        bench.reassembler.reset()
        #expect(bench.reassembler.bytesHeld == 0)
        bench.insert(try datagrams(Self.delta(1), 101))
        #expect(bench.numbers == [100])
        bench.insert(try datagrams(Self.keyframe, 3))
        #expect(bench.numbers == [100, 3])
        #expect(bench.statistics.frames == 2)
    }

    // MARK: Bounds

    @Test func framesInFlightAreBounded() throws {
        var bench = Bench()
        bench.insert(try datagrams(Self.keyframe, 0))
        for index in 2..<200 {
            bench.insert(try datagrams(Self.delta(UInt32(index)), UInt32(index)).prefix(1))
            #expect(bench.reassembler.framesInFlight <= 64)
        }
        #expect(bench.numbers == [0])
    }

    @Test func reservedMemoryIsBounded() {
        var bench = Bench()
        for index in 0..<100 {
            // The first part of a frame that claims the largest size.
            bench.insert(header(UInt32(index), part: 0, of: 7109, flags: 0) + [0, 0, 0, 1, 9])
            #expect(bench.reassembler.bytesHeld <= 32 << 20)
        }
        #expect(bench.reassembler.framesInFlight >= 2)
        bench.insert(header(200, part: 0, of: 7110, flags: 0) + [0, 0, 0, 1, 9])
        #expect(bench.statistics.malformed == 1)
    }

    @Test func anOlderFrameNeverReplacesANewerOne() throws {
        var limits = Reassembler.Limits()
        limits.frames = 2
        var bench = Bench(limits)
        bench.insert(try datagrams(Self.keyframe, 0))
        bench.insert(try datagrams(Self.delta(6), 6).dropLast())
        bench.insert(try datagrams(Self.delta(7), 7).dropLast())
        bench.insert(try datagrams(Self.delta(3), 3))
        #expect(bench.reassembler.framesInFlight == 2)
        bench.insert(try datagrams(TestFrame.make(8), 8))
        #expect(bench.numbers == [0, 8])
    }

    @Test func incompleteFramesExpireAfterASecond() throws {
        var bench = Bench()
        bench.insert(try datagrams(Self.keyframe, 0).dropLast())
        bench.advance(to: 0.999)
        #expect(bench.reassembler.framesInFlight == 1)
        bench.advance(to: 1)
        #expect(bench.reassembler.framesInFlight == 0)
        #expect(bench.reassembler.bytesHeld == 0)
        bench.insert(try datagrams(Self.keyframe, 0).suffix(1))
        #expect(bench.frames.isEmpty)
    }

    private func header(_ sequence: UInt32, part: Int, of count: Int, flags: UInt16, config: [UInt8] = []) -> [UInt8] {
        let header = MediaHeader(
            sequence: SequenceNumber(sequence), part: UInt16(part),
            frame: MediaHeader.Frame(
                partCount: UInt16(count), flags: MediaHeader.Flags(rawValue: flags), width: 1366, height: 767),
            configLength: UInt16(config.count))
        return [UInt8](unsafeUninitializedCapacity: MediaForm.version1.headerLength) { buffer, count in
            header.write(to: UnsafeMutableRawBufferPointer(buffer), as: .version1)
            count = MediaForm.version1.headerLength
        } + config
    }
}

extension Array {
    func shuffledBySeed(_ seed: UInt64) -> Self {
        var random = SeededGenerator(seed: seed)
        return shuffled(using: &random)
    }
}
