import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

struct ParityLayoutTests {
    @Test func partsAreDistributedOverBlocks() {
        for count in [1, 2, 127, 128, 129, 130, 256, 257, 1000, MediaForm.version2.partLimit] {
            let layout = ParityLayout(partCount: count)
            #expect(layout.blockCount == (count + 127) / 128)
            var seen = Set<Int>()
            for block in 0..<layout.blockCount {
                #expect((1...128).contains(layout.partCount(ofBlock: block)))
                for position in 0..<layout.partCount(ofBlock: block) {
                    let part = layout.part(at: position, ofBlock: block)
                    #expect(layout.block(ofPart: part) == block && layout.position(ofPart: part) == position)
                    seen.insert(part)
                }
            }
            #expect(seen == Set(0..<count))
        }
    }

    @Test(arguments: [
        (1, 0.1, 1), (40, 0.1, 4), (40, 0.11, 5), (30, 0.1, 3), (130, 0.1, 14), (128, 0.5, 64), (128, 5, 64),
        (1000, 0.25, 256), (40, 0, 0), (40, -1, 0), (40, .nan, 0),
    ])
    func theParityCountIsRoundedUp(_ parts: Int, _ share: Double, _ count: Int) {
        #expect(ParityLayout(partCount: parts).parityCount(forShare: share) == count)
    }
}

struct ParityCodeTests {
    /// The definition, byte by byte.
    private func plainParity(_ frame: WireFrame, row: Int, block: Int) -> [UInt8] {
        let layout = frame.layout
        let count = layout.partCount(ofBlock: block)
        var shard = [UInt8](repeating: 0, count: 1144)
        for position in 0..<count {
            let weight = PlainField.inverses[(count + row) ^ position]
            let part = layout.part(at: position, ofBlock: block)
            for (index, byte) in frame.content[part * 1144..<min((part + 1) * 1144, frame.content.count)].enumerated() {
                shard[index] ^= PlainField.product(weight, byte)
            }
        }
        return shard
    }

    /// Last parts of many lengths, and part 0 in two pieces.
    @Test(arguments: [13, 14, 30, 47, 1100, 1144, 1145, 1160, 1200, 2000, 2288, 2289, 5000])
    func parityMatchesItsDefinition(_ length: Int) throws {
        for reference in [nil, UInt32(3)] {
            let frame = try WireFrame(TestFrame.make(4, reference: reference, bytes: length))
            let parity = try frame.parity(rows: 0..<3)
            #expect(parity.count == 3)
            for (index, datagram) in parity.enumerated() {
                #expect(Array(datagram[28...]) == plainParity(frame, row: index, block: 0))
            }
        }
    }

    @Test func blocksHaveParityOfTheirOwn() throws {
        let frame = try WireFrame(TestFrame.make(4, bytes: 130 * 1144 - 300))
        let parity = try frame.parity(rows: 62..<64)
        #expect(parity.count == 4)
        for (place, datagram) in parity.enumerated() {
            let header = try datagram.withUnsafeBytes { try ParityDatagram($0).header }
            #expect(Int(header.index) == 124 + place)
            #expect(Array(datagram[28...]) == plainParity(frame, row: 62 + place / 2, block: place % 2))
        }
    }

    /// A row made separately is the same as in a set, so that more parity of a frame can be made later.
    @Test func rowsDoNotDependOnOthers() throws {
        let frame = try WireFrame(TestFrame.make(4, bytes: 40_000))
        let all = try frame.parity(rows: 0..<64)
        #expect(try frame.parity(rows: 5..<6) == [all[5]])
        #expect(try frame.parity(rows: 30..<64) == Array(all[30...]))
        #expect(try frame.parity(rows: 3..<3).isEmpty)
    }

    /// Recovers into memory of its own; nil where that isn't possible.
    private func recover(
        _ frame: WireFrame, block: Int, missing: Set<Int>, rows: [Int], parity: [[UInt8]]
    ) -> [UInt8]? {
        let layout = frame.layout
        var slots = [UInt8](repeating: 0xEE, count: layout.partCount * 1144)
        for part in 0..<layout.partCount where !missing.contains(part) {
            let start = part * 1144
            for index in start..<min(start + 1144, frame.content.count) { slots[index] = frame.content[index] }
        }
        var shards = rows.flatMap { parity[$0 * layout.blockCount + block][28...] }
        let isRecovered = slots.withUnsafeMutableBytes { slots in
            shards.withUnsafeMutableBytes { shards in
                ParityCode.recover(
                    block: block, of: layout, lastLength: frame.parts[layout.partCount - 1].count - 28, slots: slots,
                    rows: rows.map { UInt8($0) }, parity: shards, isMissing: missing.contains)
            }
        }
        return isRecovered ? Array(slots.prefix(frame.content.count)) : nil
    }

    /// All combinations of lost parts and of rows that arrived.
    @Test(arguments: 1...5)
    func anyRowsRecoverAsManyParts(_ parts: Int) throws {
        let frame = try WireFrame(TestFrame.make(9, bytes: parts * 1144 - 200))
        #expect(frame.parts.count == parts)
        let parity = try frame.parity(rows: 0..<4)
        for lost in 0..<1 << parts {
            let missing = Set((0..<parts).filter { lost >> $0 & 1 == 1 })
            for came in 0..<1 << 4 {
                let rows = (0..<4).filter { came >> $0 & 1 == 1 }
                let content = recover(frame, block: 0, missing: missing, rows: rows.reversed(), parity: parity)
                let expected = missing.count <= rows.count ? frame.content : nil
                #expect(content == expected, "\(missing) lost, rows \(rows)")
            }
        }
    }

    /// The most losses that parity covers, in blocks of each length.
    @Test func longBlocksAreRecovered() throws {
        for seed in 0..<24 {
            var random = SeededGenerator(seed: UInt64(seed))
            let parts = seed == 0 ? 1000 : Int.random(in: 1...300, using: &random)
            let length = parts * 1144 - Int.random(in: 40..<1144, using: &random)
            let frame = try WireFrame(TestFrame.make(UInt32(seed), reference: 1, bytes: max(13, length)))
            let parity = try frame.parity(rows: 0..<64)
            let layout = frame.layout
            let block = Int.random(in: 0..<layout.blockCount, using: &random)
            let rowCount = Int.random(in: 1...64, using: &random)
            let positions = (0..<layout.partCount(ofBlock: block)).shuffled(using: &random).prefix(rowCount)
            let missing = Set(positions.map { layout.part(at: $0, ofBlock: block) })
            let rows = Array((0..<64).shuffled(using: &random).prefix(rowCount))
            let content = recover(frame, block: block, missing: missing, rows: rows, parity: parity)
            #expect(content == frame.content, "seed \(seed)")
        }
    }
}
