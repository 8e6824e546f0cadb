/// The grid of tiles by which it is known what is exact.
public enum ExactTiles {
    /// The length of a tile's side in pixels.
    public static let side = 16

    public static func across(_ size: PixelSize) -> Int { (size.width + side - 1) / side }
    public static func down(_ size: PixelSize) -> Int { (size.height + side - 1) / side }

    /// All tiles of a picture of that size, as a rectangle of tiles.
    public static func grid(_ size: PixelSize) -> PixelRect {
        PixelRect(x: 0, y: 0, width: across(size), height: down(size))
    }

    /// The tiles that touch `rect`, as a rectangle of tiles; `rect` lies inside the picture.
    public static func touched(by rect: PixelRect) -> PixelRect {
        let (left, top) = (rect.x / side, rect.y / side)
        return PixelRect(
            x: left, y: top, width: (rect.maxX + side - 1) / side - left, height: (rect.maxY + side - 1) / side - top)
    }

    /// The pixels of a rectangle of tiles, as far as they are in the picture.
    public static func pixels(of tiles: PixelRect, in size: PixelSize) -> PixelRect {
        PixelRect(
            x: tiles.x * side, y: tiles.y * side, width: tiles.width * side, height: tiles.height * side
        ).intersection(PixelRect(size))
    }

    /// Whether a rectangle lies on the grid and in the picture, and isn't empty.
    public static func contains(_ rect: PixelRect, in size: PixelSize) -> Bool {
        !rect.isEmpty && PixelRect(size).contains(rect) && rect.x % side == 0 && rect.y % side == 0
            && (rect.width % side == 0 || rect.maxX == size.width)
            && (rect.height % side == 0 || rect.maxY == size.height)
    }

    /// Rectangles of tiles that may overlap or lie outside of the grid, as ones inside of it that don't overlap: at
    /// most `most`, and if there are more, they cover some other tiles, too.
    public static func joined(_ tiles: [PixelRect], in grid: PixelRect, most: Int = .max) -> [PixelRect] {
        var marked = [Bool](repeating: false, count: grid.area)
        for rect in tiles.map({ $0.intersection(grid) }) where !rect.isEmpty {
            for row in rect.y..<rect.maxY {
                for tile in row * grid.width + rect.x..<row * grid.width + rect.maxX { marked[tile] = true }
            }
        }
        return rectangles(marked, across: grid.width, most: most)
    }

    /// Marked tiles, row by row, as rectangles of tiles that don't overlap: at most `most`, and if there are more, they
    /// cover some that aren't marked.
    public static func rectangles(_ marked: [Bool], across: Int, most: Int) -> [PixelRect] {
        guard across > 0, most > 0 else { return [] }
        let down = marked.count / across
        var found = MarkedTiles.rectangles(across: across, down: down, .runs) { marked[$0] }
        if found.count > most { found = MarkedTiles.rectangles(across: across, down: down, .spans) { marked[$0] } }
        guard found.count > most else { return found }
        return [found.reduce(found[0]) { $0.union($1) }]
    }
}
