/// The parity held for a frame in reassembly.
package struct FrameParity: Sendable {
    private struct Block: Sendable {
        /// Missing parts.
        var missing: Int
        /// The rows that have arrived, fewer than parts are missing, and their shards one after the other.
        var rows: [UInt8] = []
        var shards: [UInt8] = []
    }

    package enum Insertion: Hashable, Sendable {
        /// Kept; more rows or parts are needed.
        case held
        /// Kept; the block can be reconstructed now.
        case enough
        /// The block is complete, or has this row already.
        case needless
    }

    package let layout: ParityLayout
    /// Content of the frame's last part, in bytes.
    package let lastLength: Int
    private var blocks: [Block]

    package init(partCount: Int, lastLength: Int, isMissing: (_ part: Int) -> Bool) {
        layout = ParityLayout(partCount: partCount)
        self.lastLength = lastLength
        blocks = [Block](repeating: Block(missing: 0), count: layout.blockCount)
        for part in 0..<partCount where isMissing(part) { blocks[layout.block(ofPart: part)].missing += 1 }
    }

    /// Memory held in bytes.
    package var reservation: Int {
        blocks.reduce(blocks.count * MemoryLayout<Block>.stride) { $0 + $1.rows.capacity + $1.shards.capacity }
    }

    /// Content of part `part` in bytes, parameter sets included.
    package func length(ofPart part: Int) -> Int { part == layout.partCount - 1 ? lastLength : ParityCode.shardLength }

    package mutating func insert(_ shard: UnsafeRawBufferPointer, index: Int) -> Insertion {
        let block = layout.block(ofIndex: index)
        let row = UInt8(layout.row(ofIndex: index))
        guard blocks[block].missing > 0, !blocks[block].rows.contains(row) else { return .needless }
        blocks[block].rows.append(row)
        blocks[block].shards.append(contentsOf: shard)
        return blocks[block].rows.count < blocks[block].missing ? .held : .enough
    }

    /// A missing part has arrived. Returns true if its block can be reconstructed now.
    package mutating func arrived(_ part: Int) -> Bool {
        let block = layout.block(ofPart: part)
        blocks[block].missing -= 1
        if blocks[block].missing == 0 { blocks[block] = Block(missing: 0) }
        return blocks[block].missing > 0 && blocks[block].rows.count >= blocks[block].missing
    }

    /// Reconstructs a block's missing parts in their slots (see `ParityCode.recover`), and frees the block's parity.
    /// Returns false, and changes nothing, if there isn't enough.
    package mutating func recover(
        block: Int, slots: UnsafeMutableRawBufferPointer, isMissing: (_ part: Int) -> Bool
    ) -> Bool {
        let (rows, layout, lastLength) = (blocks[block].rows, layout, lastLength)
        let isRecovered = blocks[block].shards.withUnsafeMutableBytes {
            ParityCode.recover(
                block: block, of: layout, lastLength: lastLength, slots: slots, rows: rows, parity: $0,
                isMissing: isMissing)
        }
        if isRecovered { blocks[block] = Block(missing: 0) }
        return isRecovered
    }
}
