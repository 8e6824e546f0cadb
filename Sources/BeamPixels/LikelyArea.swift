import BeamMedia

/// Where a picture is compared first with the one before: what has changed mostly changes again nearby.
///
/// A change that is found there, with a margin of unchanged tiles around it, can be shown before the rest is compared. If
/// something has changed elsewhere as well, that is seen a moment later, and changes in both places together count from then
/// on. A value without a clock.
public struct LikelyArea: Sendable {
    /// The margin on each side, in tiles of `PictureComparison`: one that has to be unchanged, and one for what comes next.
    private static let margin = 2
    /// A larger part of the picture than this isn't worth it.
    private static let largest = 0.25

    /// In whole tiles, as far as these are in the picture; nil: the whole picture is compared at once.
    public private(set) var rect: PixelRect?
    private var size = PixelSize(width: 0, height: 0)

    public init() {}

    /// All that has changed in a picture; nothing, if it was like the one before.
    public mutating func note(_ damage: DamageRegion, of size: PixelSize) {
        guard let first = damage.rects.first else { return }
        self.size = size
        let bounds = damage.rects.reduce(first) { $0.union($1) }
        let margin = PixelSize(width: Self.margin * TileGrid.width, height: Self.margin * TileGrid.height)
        let tiles = TileGrid.touched(
            by: PixelRect(
                x: max(0, bounds.x - margin.width), y: max(0, bounds.y - margin.height),
                width: bounds.width + min(bounds.x, margin.width) + margin.width,
                height: bounds.height + min(bounds.y, margin.height) + margin.height))
        let area = PixelRect(
            x: tiles.x * TileGrid.width, y: tiles.y * TileGrid.height, width: tiles.width * TileGrid.width,
            height: tiles.height * TileGrid.height
        ).intersection(PixelRect(size))
        rect = Double(area.area) <= Double(size.area) * Self.largest ? area : nil
    }

    /// Whether nothing next to these changes, which are in the area, has changed.
    public func encloses(_ damage: DamageRegion) -> Bool {
        guard let rect, !damage.isEmpty else { return false }
        return damage.rects.allSatisfy { part in
            (part.x > rect.x || rect.x == 0) && (part.y > rect.y || rect.y == 0)
                && (part.maxX < rect.maxX || rect.maxX == size.width)
                && (part.maxY < rect.maxY || rect.maxY == size.height)
        }
    }
}
