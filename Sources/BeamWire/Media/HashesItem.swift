import BeamMedia

/// Hashes of rows of tiles as an item of a state datagram: u64 capture time and u64 since when the screen looks like that,
/// in µs; u16 width and u16 height of the picture, u16 number of the first row, then a u32 for each row.
extension PictureHashes {
    private static let headLength = 22
    /// The most rows in an item.
    package static let mostRows = (SealedItems.longestValue - headLength) / 4
    /// The most items that are read of a datagram: more don't fit into one.
    package static let mostItems = 8
    /// An item's longest length in bytes, with its own head.
    package static let longestItem = 2 + headLength + 4 * mostRows

    /// Nil: it has no row, more than an item holds, or others than a picture of that size has.
    init?(_ fields: inout BigEndianReader) {
        guard let time: UInt64 = fields.integer(), let since: UInt64 = fields.integer(), since <= time,
            let width: UInt16 = fields.integer(), let height: UInt16 = fields.integer(), width > 0, height > 0,
            let first: UInt16 = fields.integer()
        else { return nil }
        var rows: [UInt32] = []
        while rows.count < Self.mostRows, let hash: UInt32 = fields.integer() { rows.append(hash) }
        let size = PixelSize(width: Int(width), height: Int(height))
        guard !rows.isEmpty, Int(first) + rows.count <= ExactTiles.down(size) else { return nil }
        self.init(size: size, time: time, since: since, firstRow: Int(first), rows: rows)
    }

    func write(to bytes: inout [UInt8]) {
        bytes.append(bigEndian: time)
        bytes.append(bigEndian: since)
        bytes.append(bigEndian: UInt16(clamping: size.width))
        bytes.append(bigEndian: UInt16(clamping: size.height))
        bytes.append(bigEndian: UInt16(clamping: firstRow))
        for hash in rows.prefix(Self.mostRows) { bytes.append(bigEndian: hash) }
    }

    /// The same in pieces of at most as many rows as an item holds.
    package var pieces: [PictureHashes] {
        stride(from: 0, to: rows.count, by: Self.mostRows).map { start in
            var piece = self
            piece.firstRow += start
            piece.rows = Array(rows[start..<min(start + Self.mostRows, rows.count)])
            return piece
        }
    }

    /// Into how many items a datagram of that size can take them.
    package static func items(in size: DatagramSize) -> Int {
        max(1, min(mostItems, (size.length - SealedHeader.overhead) / longestItem))
    }
}
