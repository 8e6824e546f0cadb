import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Frames assembled from some of their parts and from parity.
struct FrameRecoveryTests {
    /// Assembles the given pieces, and expects the original frame.
    private func expectRecovery(
        _ frame: WireFrame, _ pieces: [Piece], repaired: Int, _ comment: Comment? = nil
    ) throws {
        var assembly: FrameAssembly?
        let insertions = try frame.assemble(pieces, in: &assembly)
        #expect(insertions.last == .completed, comment)
        #expect(insertions.dropLast().allSatisfy { $0 == .inserted }, comment)
        let made = try #require(assembly)
        #expect(made.reconstructed == repaired && made.missing == 0, comment)
        #expect(made.reservation == FrameAssembly.reservation(for: frame.header), comment)
        let received = try #require(made.complete)
        let unit = received.unit
        #expect(Array(unit.avcc) == Array(frame.unit.avcc), comment)
        #expect(unit.isKeyframe == frame.unit.isKeyframe && unit.parameterSets == frame.unit.parameterSets, comment)
        #expect(unit.size == frame.unit.size && received.number == frame.sequence.value, comment)
        #expect(received.layer == Int(frame.header.layer), comment)
        #expect(received.captureTime == .at(3), comment)
        #expect(received.firstArrival == .at(1) && received.lastArrival == .at(1), comment)
    }

    private static let keyframe = TestFrame.make(2, bytes: 5000)
    private static let delta = TestFrame.make(3, reference: 2, bytes: 5000)

    @Test(arguments: [keyframe, delta])
    func anyPartCanBeLost(_ encoded: EncodedFrame) throws {
        let frame = try WireFrame(encoded)
        let parity = try frame.parity(rows: 0..<1)
        for lost in frame.parts.indices {
            let parts = frame.parts.enumerated().filter { $0.offset != lost }.map { Piece.part($0.element) }
            // The parity comes before all parts, among them, or after them.
            for place in 0...parts.count {
                var pieces = parts
                pieces.insert(.parity(parity[0]), at: place)
                try expectRecovery(frame, pieces, repaired: 1, "part \(lost) lost, parity at \(place)")
            }
        }
    }

    @Test(arguments: [keyframe, delta])
    func allPartsCanBeLost(_ encoded: EncodedFrame) throws {
        let frame = try WireFrame(encoded)
        let parity = try frame.parity(rows: 0..<12)
        try expectRecovery(frame, parity.suffix(5).map { .parity($0) }, repaired: 5)
    }

    /// The only part of a frame lies elsewhere in its parity block than the first of many parts.
    @Test(arguments: [13, 500, 1100, 1125, 1144])
    func aFrameOfOnePartIsRecovered(_ length: Int) throws {
        for reference in [nil, UInt32(1)] {
            let frame = try WireFrame(TestFrame.make(2, reference: reference, bytes: length))
            let rows = frame.parts.count
            try expectRecovery(frame, try frame.parity(rows: 2..<2 + rows).map { .parity($0) }, repaired: rows)
        }
    }

    /// The parameter sets fill part 0, so that it has no AVCC bytes.
    @Test func aFirstPartOfParameterSetsOnlyIsRecovered() throws {
        var encoded = TestFrame.make(2, bytes: 3000)
        encoded.unit.parameterSets = ParameterSets(
            sps: [[UInt8](repeating: 0x67, count: 1134)], pps: [[0x68, 1, 2, 3]])
        let frame = try WireFrame(encoded)
        #expect(frame.config.count == 1144)
        let parity = try frame.parity(rows: 0..<2)
        try expectRecovery(frame, frame.parts.dropFirst().map { .part($0) } + [.parity(parity[0])], repaired: 1)
        try expectRecovery(
            frame, [.parity(parity[1]), .part(frame.parts[0]), .parity(parity[0]), .part(frame.parts[1])], repaired: 2)
    }

    @Test func anyPiecesWillDoIfThereAreEnough() throws {
        for seed in 0..<60 {
            var random = SeededGenerator(seed: UInt64(seed))
            let parts = seed == 0 ? 1000 : Int.random(in: 1...(seed < 10 ? 300 : 40), using: &random)
            let length = max(13, parts * 1144 - Int.random(in: 30..<1144, using: &random))
            let frame = try WireFrame(
                TestFrame.make(UInt32(seed), reference: random.chance(0.5) ? nil : 1, bytes: length),
                layer: UInt8(seed & 1))
            let layout = frame.layout
            let rows = Int.random(in: 1...min(64, layout.partCount(ofBlock: 0)), using: &random)
            let parity = try frame.parity(rows: 0..<rows)
            // Of each block, keep as many pieces as it has parts.
            var kept: [Piece] = []
            for block in 0..<layout.blockCount {
                let own =
                    (0..<layout.partCount(ofBlock: block)).map {
                        Piece.part(frame.parts[layout.part(at: $0, ofBlock: block)])
                    } + (0..<rows).map { .parity(parity[$0 * layout.blockCount + block]) }
                kept += own.shuffled(using: &random).prefix(layout.partCount(ofBlock: block))
            }
            let repaired = kept.count { if case .parity = $0 { true } else { false } }
            try expectRecovery(frame, kept.shuffled(using: &random), repaired: repaired, "seed \(seed)")
        }
    }

    @Test func parityThatIsNotNeededIsDropped() throws {
        let frame = try WireFrame(Self.delta)
        let parity = try frame.parity(rows: 0..<4)
        var assembly: FrameAssembly?
        var insertions = try frame.assemble(frame.parts.prefix(2).map { .part($0) }, in: &assembly)
        let bare = try #require(assembly?.reservation)
        #expect(bare == FrameAssembly.reservation(for: frame.header))
        insertions += try frame.assemble([.parity(parity[0]), .parity(parity[0]), .parity(parity[3])], in: &assembly)
        #expect(insertions == [.inserted, .inserted, .inserted, .duplicate, .inserted])
        #expect(try #require(assembly?.reservation) >= bare + 2 * 1144)
        #expect(assembly?.missing == 3 && assembly?.received == 2 && assembly?.isEmpty == false)
        // With part 4 only two parts are missing, for which there is parity. All later pieces are superfluous.
        #expect(try frame.assemble([.part(frame.parts[4])], in: &assembly) == [.completed])
        #expect(assembly?.reconstructed == 2 && assembly?.reservation == bare)
        #expect(
            try frame.assemble([.part(frame.parts[3]), .parity(parity[1])], in: &assembly) == [.duplicate, .duplicate])
    }

    /// Parts that arrive late, while parity is held, are used like others.
    @Test func latePartsMakeParitySuperfluous() throws {
        let frame = try WireFrame(TestFrame.make(1, reference: 0, bytes: 200 * 1144))
        let parity = try frame.parity(rows: 0..<2)
        // Block 0 is complete without its parity; block 1 needs it.
        var pieces: [Piece] = frame.parts.indices.filter { $0 > 3 }.map { .part(frame.parts[$0]) }
        pieces.append(.parity(parity[0]))
        pieces += [.part(frame.parts[0]), .part(frame.parts[1]), .parity(parity[3])]
        var assembly: FrameAssembly?
        let insertions = try frame.assemble(pieces, in: &assembly)
        #expect(insertions.last == .completed && assembly?.reconstructed == 2)
        #expect(assembly?.unit.map { Array($0.avcc) } == Array(frame.unit.avcc))
    }

    @Test func parityOfAnotherFrameIsRefused() throws {
        let frame = try WireFrame(Self.keyframe)
        let parity = try frame.parity(rows: 0..<3)
        for (offset, value) in [(8, UInt8(0)), (9, 1), (11, 9), (13, 9), (23, 9), (25, 9)] {
            var other = parity[0]
            other[offset] = value
            var assembly: FrameAssembly?
            let insertions = try frame.assemble([.part(frame.parts[1]), .parity(other)], in: &assembly)
            #expect(insertions == [.inserted, .contradiction], "byte \(offset)")
        }
        // Its length of the last part contradicts the part itself, or other parity.
        var other = parity[0]
        other[15] ^= 1
        var assembly: FrameAssembly?
        #expect(
            try frame.assemble([.part(frame.parts[4]), .parity(other)], in: &assembly) == [.inserted, .contradiction])
        assembly = nil
        #expect(
            try frame.assemble([.parity(parity[1]), .parity(other)], in: &assembly) == [.inserted, .contradiction])
    }

    /// Recovered bytes that aren't AVCC, or have no parameter sets where the flags promise them, make no frame.
    @Test(arguments: [28, 30, 60])
    func wrongParityMakesNoFrame(_ offset: Int) throws {
        let frame = try WireFrame(Self.keyframe)
        var parity = try frame.parity(rows: 0..<1)
        // Offset 28: the number of SPS. 30: the first one's length. 60: inside a NAL unit, where damage can't be
        // noticed.
        parity[0][offset] ^= 0x55
        var assembly: FrameAssembly?
        let insertions = try frame.assemble(
            frame.parts.dropFirst().map { .part($0) } + [.parity(parity[0])], in: &assembly)
        #expect(insertions.last == (offset == 60 ? .completed : .malformedFrame))
    }

    /// A host that cuts parts of other lengths: the parts are used, the parity isn't.
    @Test func partsOfOtherLengthsWorkWithoutParity() throws {
        let content = Array(Self.delta.unit.avcc)
        for lengths in [[1200, 1200, 1200, 1200, 200], [1000, 1000, 1000, 1000, 1000]] {
            let frame = try WireFrame(Self.delta)
            let parity = try frame.parity(rows: 0..<3)
            var start = 0
            let parts = lengths.enumerated().map { part, length in
                defer { start += length }
                return Piece.part(Array(frame.parts[part].prefix(28)) + content[start..<start + length])
            }
            for place in 0...4 {
                var assembly: FrameAssembly?
                var pieces = parts
                pieces.insert(.parity(parity[0]), at: place)
                pieces.insert(.parity(parity[1]), at: place)
                #expect(try frame.assemble(pieces, in: &assembly).last == .completed)
                #expect(assembly?.reconstructed == 0)
                #expect(assembly?.unit.map { Array($0.avcc) } == content)
            }
        }
    }
}
