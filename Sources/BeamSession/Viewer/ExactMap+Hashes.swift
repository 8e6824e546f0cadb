import BeamMedia

/// What hashes of the host's picture say of tiles that count as exact.
extension ExactMap {
    /// The number of rows of tiles.
    public var rowCount: Int { ExactTiles.down(size) }

    /// Whether the picture that was captured at `time`, in µs of the host's clock, has all changes that are known here.
    func isWithin(_ time: UInt64) -> Bool { times.allSatisfy { $0 <= time } }

    /// Hashes of these rows differ from what is shown: their tiles don't count as exact any more. They lack, and a patch that is
    /// as new as what is shown, or newer, takes their place.
    mutating func doubt(rows: [Int], now: MediaTime) {
        for row in rows {
            for tile in row * across..<(row + 1) * across {
                setInexact(tile)
                since[tile] = now
            }
        }
    }
}
