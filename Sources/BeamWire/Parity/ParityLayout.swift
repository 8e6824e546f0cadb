/// How a frame's parts are divided into blocks, each with parity of its own.
///
/// Part `p` belongs to block `p % blockCount`, at position `p / blockCount`, so that a burst of losses is spread over
/// all blocks. Parity index `i` belongs to block `i % blockCount`, row `i / blockCount`.
package struct ParityLayout: Hashable, Sendable {
    /// The most parts in a block. With `mostRows` it stays below the 256 elements of GF(2⁸), which bound a Reed–Solomon
    /// block.
    package static let longestBlock = 128
    /// The most rows of parity for a block: half of the largest block.
    package static let mostRows = 64

    package let partCount: Int
    package let blockCount: Int

    /// For a frame of `partCount` parts, at least one.
    package init(partCount: Int) {
        precondition(partCount > 0)
        self.partCount = partCount
        blockCount = (partCount + Self.longestBlock - 1) / Self.longestBlock
    }

    /// Parity indices are below this.
    package var indexLimit: Int { Self.mostRows * blockCount }

    package func partCount(ofBlock block: Int) -> Int { (partCount - block + blockCount - 1) / blockCount }

    package func part(at position: Int, ofBlock block: Int) -> Int { position * blockCount + block }

    package func block(ofPart part: Int) -> Int { part % blockCount }

    package func position(ofPart part: Int) -> Int { part / blockCount }

    package func block(ofIndex index: Int) -> Int { index % blockCount }

    package func row(ofIndex index: Int) -> Int { index / blockCount }

    /// Parity rows for each block: `share` of the block's parts, rounded up. 0 for a share of 0.
    package func rowCount(forShare share: Double) -> Int {
        guard share > 0 else { return 0 }
        // Don't let a rounding error add a row.
        let rows = share * Double(partCount(ofBlock: 0)) - 1e-9
        return Int(clamping: min(rows, Double(Self.mostRows)).rounded(.up))
    }

    /// Parity datagrams for the whole frame.
    package func parityCount(forShare share: Double) -> Int { rowCount(forShare: share) * blockCount }
}
