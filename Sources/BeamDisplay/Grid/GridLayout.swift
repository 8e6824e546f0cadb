import BeamMedia

/// Where the tiles of a grid are: equal cells in rows, each with a picture and a line for its label below. A pure value.
struct GridLayout: Hashable {
    struct Tile: Hashable {
        /// All of the tile; a click anywhere in it is the tile's.
        var cell: PixelRect
        /// The largest rectangle for the picture.
        var box: PixelRect
        /// The picture's rectangle, of its aspect ratio. For a tile without a picture, that of a 16:9 picture.
        var picture: PixelRect
        /// The label's rectangle; empty if there is no room.
        var label: PixelRect
    }

    /// In pixels at 96 dpi.
    private enum Size {
        static let gap = 10.0
        static let label = GridLayout.labelHeight
        /// A label may take this share of a cell's height.
        static let mostLabel = 0.2
        /// Text that is lower can't be read.
        static let leastLabel = 15
    }

    /// Of a label at 96 dpi. In small tiles it is lower, and so is its text.
    static let labelHeight = 24.0

    /// The aspect ratio of a source that hasn't sent a picture.
    static let usualShape = PixelSize(width: 16, height: 9)

    let columns: Int
    let tiles: [Tile]

    /// Chooses the number of columns with which the pictures are largest in all. The tiles of a last row that isn't full
    /// are centred.
    ///
    /// - Parameters:
    ///   - shapes: for each tile, the picture's size; nil: it has none.
    ///   - area: in the window's pixels.
    ///   - scale: of gaps and labels (see `DisplayScale`).
    init(_ shapes: [PixelSize?], in area: PixelRect, scale: Double) {
        var best: (area: Int, columns: Int, tiles: [Tile])?
        for columns in 1...max(1, shapes.count) {
            let tiles = Self.tiles(shapes, columns: columns, in: area, scale: scale)
            let sum = tiles.reduce(0) { $0 + $1.picture.area }
            if best.map({ sum > $0.area }) ?? true { best = (sum, columns, tiles) }
        }
        columns = best?.columns ?? 1
        tiles = best?.tiles ?? []
    }

    private static func tiles(
        _ shapes: [PixelSize?], columns: Int, in area: PixelRect, scale: Double
    ) -> [Tile] {
        let rows = (shapes.count + columns - 1) / columns
        // Small windows have smaller gaps, so that pictures keep most of the room.
        let wanted = Int((Size.gap * scale).rounded())
        let gap = max(1, min(wanted, area.width / (columns * 12), area.height / max(1, rows * 12)))
        let width = max(1, (area.width - gap * (columns + 1)) / columns)
        let height = max(1, (area.height - gap * (rows + 1)) / max(1, rows))
        let line = min(Int((Size.label * scale).rounded()), Int(Double(height) * Size.mostLabel))
        let label = line >= Size.leastLabel ? line : 0
        let cells = Cells(columns: columns, rows: rows, width: width, height: height, gap: gap)
        let wide = tiles(shapes, cells, in: area, label: label)
        // Room that no picture uses goes to the window's edges, so that the gaps are equal.
        var close = cells
        close.width = wide.map { max($0.picture.width, $0.label.width) }.max() ?? width
        close.height = (wide.map(\.picture.height).max() ?? height) + label
        return tiles(shapes, close, in: area, label: label)
    }

    private struct Cells {
        var columns: Int
        var rows: Int
        var width: Int
        var height: Int
        var gap: Int
    }

    private static func tiles(
        _ shapes: [PixelSize?], _ cells: Cells, in area: PixelRect, label: Int
    ) -> [Tile] {
        let (columns, rows, width, height, gap) = (cells.columns, cells.rows, cells.width, cells.height, cells.gap)
        return shapes.indices.map { index in
            let (row, column) = (index / columns, index % columns)
            let inRow = row == rows - 1 ? shapes.count - row * columns : columns
            let rowWidth = inRow * (width + gap) - gap
            let cell = PixelRect(
                x: area.x + (area.width - rowWidth) / 2 + column * (width + gap),
                y: area.y + (area.height - rows * (height + gap) + gap) / 2 + row * (height + gap),
                width: width, height: height)
            return tile(shapes[index], in: cell, label: label)
        }
    }

    private static func tile(_ shape: PixelSize?, in cell: PixelRect, label: Int) -> Tile {
        let box = PixelRect(x: cell.x, y: cell.y, width: cell.width, height: max(1, cell.height - label))
        var fitted: PixelRect
        if let shape {
            fitted = shape.viewport(in: box.size)
        } else {
            // Not a whole multiple of 16 × 9.
            fitted = PixelSize(width: usualShape.width * 1000, height: usualShape.height * 1000).viewport(in: box.size)
        }
        fitted.x += box.x
        fitted.y += box.y
        let line = PixelRect(
            x: fitted.x, y: fitted.maxY, width: max(fitted.width, min(cell.maxX - fitted.x, label * 6)), height: label)
        return Tile(
            cell: cell, box: box, picture: fitted, label: label > 0 ? line : PixelRect(x: 0, y: 0, width: 0, height: 0))
    }

    /// The tile at a position in the window, in pixels; nil between tiles.
    func tile(atX x: Int, y: Int) -> Int? {
        let point = PixelRect(x: x, y: y, width: 1, height: 1)
        return tiles.firstIndex { $0.cell.contains(point) }
    }

    /// A window's size in which each of `count` pictures of the usual shape is as large as `each`, in pixels.
    static func windowSize(for count: Int, each: PixelSize, scale: Double) -> PixelSize {
        let columns = Int(Double(count).squareRoot().rounded(.up))
        let rows = (count + columns - 1) / max(1, columns)
        let (gap, label) = (Int((Size.gap * scale).rounded()), Int((Size.label * scale).rounded()))
        return PixelSize(
            width: columns * (each.width + gap) + gap, height: rows * (each.height + label + gap) + gap)
    }
}
