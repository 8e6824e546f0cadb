/// The test pattern's glyphs for printable ASCII and the middle dot: 5 × 7 dots, and two more rows for descenders.
enum PatternFont {
    /// In dots, including the gap to the next letter.
    static let advance = 6
    /// Rows of dots above the baseline.
    static let height = 7
    private static let fullHeight = 9

    /// Sixteen glyphs per line in ASCII order from the space on; the last one is the middle dot.
    private static let drawing = """
        ..... ..#.. .#.#. .#.#. ..#.. ##... .##.. ..#.. ...#. .#... ..... ..... ..... ..... ..... .....
        ..... ..#.. .#.#. .#.#. .#### ##..# #..#. ..#.. ..#.. ..#.. ..#.. ..#.. ..... ..... ..... ....#
        ..... ..#.. .#.#. ##### #.#.. ...#. #.#.. ..#.. .#... ...#. #.#.# ..#.. ..... ..... ..... ...#.
        ..... ..#.. ..... .#.#. .###. ..#.. .#... ..... .#... ...#. .###. ##### ..... ##### ..... ..#..
        ..... ..#.. ..... ##### ..#.# .#... #.#.# ..... .#... ...#. #.#.# ..#.. ..... ..... ..... .#...
        ..... ..... ..... .#.#. ####. #..## #..#. ..... ..#.. ..#.. ..#.. ..#.. ..... ..... ..... #....
        ..... ..#.. ..... .#.#. ..#.. ...## .##.# ..... ...#. .#... ..... ..... ..#.. ..... ..#.. .....
        ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..#.. ..... ..... .....
        ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .#... ..... ..... .....

        .###. ..#.. .###. ##### ...#. ##### ..##. ##### .###. .###. ..... ..... ...#. ..... .#... .###.
        #...# .##.. #...# ...#. ..##. #.... .#... ....# #...# #...# ..... ..... ..#.. ..... ..#.. #...#
        #...# ..#.. ....# ..#.. .#.#. ####. #.... ...#. #...# #...# ..#.. ..#.. .#... ##### ...#. ....#
        #...# ..#.. ...#. ...#. #..#. ....# ####. ..#.. .###. .#### ..... ..... #.... ..... ....# ...#.
        #...# ..#.. ..#.. ....# ##### ....# #...# .#... #...# ....# ..... ..... .#... ##### ...#. ..#..
        #...# ..#.. .#... #...# ...#. #...# #...# .#... #...# ...#. ..#.. ..... ..#.. ..... ..#.. .....
        .###. .###. ##### .###. ...#. .###. .###. .#... .###. .##.. ..... ..#.. ...#. ..... .#... ..#..
        ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..#.. ..... ..... ..... .....
        ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .#... ..... ..... ..... .....

        .###. .###. ####. .###. ####. ##### ##### .###. #...# .###. ..### #...# #.... #...# #...# .###.
        #...# #...# #...# #...# #...# #.... #.... #...# #...# ..#.. ...#. #..#. #.... ##.## #...# #...#
        #.### #...# #...# #.... #...# #.... #.... #.... #...# ..#.. ...#. #.#.. #.... #.#.# ##..# #...#
        #.#.# ##### ####. #.... #...# ####. ####. #.### ##### ..#.. ...#. ##... #.... #.#.# #.#.# #...#
        #.### #...# #...# #.... #...# #.... #.... #...# #...# ..#.. ...#. #.#.. #.... #...# #..## #...#
        #.... #...# #...# #...# #...# #.... #.... #...# #...# ..#.. #..#. #..#. #.... #...# #...# #...#
        .###. #...# ####. .###. ####. ##### #.... .###. #...# .###. .##.. #...# ##### #...# #...# .###.
        ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....
        ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....

        ####. .###. ####. .###. ##### #...# #...# #...# #...# #...# ##### .###. ..... .###. ..#.. .....
        #...# #...# #...# #...# ..#.. #...# #...# #...# #...# #...# ....# .#... #.... ...#. .#.#. .....
        #...# #...# #...# #.... ..#.. #...# #...# #...# .#.#. .#.#. ...#. .#... .#... ...#. #...# .....
        ####. #...# ####. .###. ..#.. #...# #...# #.#.# ..#.. ..#.. ..#.. .#... ..#.. ...#. ..... .....
        #.... #.#.# #.#.. ....# ..#.. #...# #...# #.#.# .#.#. ..#.. .#... .#... ...#. ...#. ..... .....
        #.... #..#. #..#. #...# ..#.. #...# .#.#. ##.## #...# ..#.. #.... .#... ....# ...#. ..... .....
        #.... .##.# #...# .###. ..#.. .###. ..#.. #...# #...# ..#.. ##### .###. ..... .###. ..... #####
        ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....
        ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... ..... .....

        .#... ..... #.... ..... ....# ..... ..##. ..... #.... ..#.. ...#. #.... .##.. ..... ..... .....
        ..#.. ..... #.... ..... ....# ..... .#... ..... #.... ..... ..... #.... ..#.. ..... ..... .....
        ..... .###. ####. .###. .#### .###. ###.. .#### ####. .##.. ..##. #..#. ..#.. ####. ####. .###.
        ..... ....# #...# #...# #...# #...# .#... #...# #...# ..#.. ...#. #.#.. ..#.. #.#.# #...# #...#
        ..... .#### #...# #.... #...# ##### .#... #...# #...# ..#.. ...#. ##... ..#.. #.#.# #...# #...#
        ..... #...# #...# #...# #...# #.... .#... #...# #...# ..#.. ...#. #.#.. ..#.. #.#.# #...# #...#
        ..... .#### ####. .###. .#### .###. .#... .#### #...# .###. ...#. #..#. .###. #.#.# #...# .###.
        ..... ..... ..... ..... ..... ..... ..... ....# ..... ..... #..#. ..... ..... ..... ..... .....
        ..... ..... ..... ..... ..... ..... ..... .###. ..... ..... .##.. ..... ..... ..... ..... .....

        ..... ..... ..... ..... .#... ..... ..... ..... ..... ..... ..... ...#. ..#.. .#... ..... .....
        ..... ..... ..... ..... .#... ..... ..... ..... ..... ..... ..... ..#.. ..#.. ..#.. ..... .....
        ####. .#### #.##. .#### ###.. #...# #...# #...# #...# #...# ##### ..#.. ..#.. ..#.. .#... .....
        #...# #...# ##... #.... .#... #...# #...# #.#.# .#.#. #...# ...#. .#... ..#.. ...#. #.#.# ..#..
        #...# #...# #.... .###. .#... #...# #...# #.#.# ..#.. #...# ..#.. ..#.. ..#.. ..#.. ...#. .....
        #...# #...# #.... ....# .#... #...# .#.#. #.#.# .#.#. #...# .#... ..#.. ..#.. ..#.. ..... .....
        ####. .#### #.... ####. ..##. .#### ..#.. .#.#. #...# .#### ##### ...#. ..#.. .#... ..... .....
        #.... ....# ..... ..... ..... ..... ..... ..... ..... ....# ..... ..... ..... ..... ..... .....
        #.... ....# ..... ..... ..... ..... ..... ..... ..... .###. ..... ..... ..... ..... ..... .....
        """

    /// Nine rows of five dots per glyph, the leftmost dot in bit 4.
    private static let glyphs: [[UInt8]] = {
        var glyphs: [[UInt8]] = []
        let lines = drawing.split(separator: "\n")
        for block in stride(from: 0, to: lines.count, by: fullHeight) {
            var rows = [[UInt8]](repeating: [], count: 16)
            for line in lines[block..<block + fullHeight] {
                for (index, dots) in line.split(separator: " ").enumerated() {
                    rows[index].append(dots.utf8.reduce(0) { $0 << 1 | ($1 == UInt8(ascii: "#") ? 1 : 0) })
                }
            }
            glyphs += rows
        }
        return glyphs
    }()

    /// Unknown characters get the question mark's glyph.
    private static func glyph(_ letter: Character) -> [UInt8] {
        if letter == "·" { return glyphs[95] }
        guard let code = letter.asciiValue, (32..<127).contains(code) else { return glyphs[31] }
        return glyphs[Int(code) - 32]
    }

    /// The width of `count` letters in pixels, without the last gap.
    static func width(_ count: Int, scale: Int) -> Int { max(0, count * advance - 1) * scale }

    /// One letter, each dot `scale` pixels wide.
    ///
    /// Small letters are drawn as squares, which are sharpest; larger ones as round strokes between the dots.
    static func coverage(_ letter: Character, scale: Int) -> Coverage {
        let rows = glyph(letter)
        func isSet(_ column: Int, _ row: Int) -> Bool {
            (0..<5).contains(column) && rows.indices.contains(row) && rows[row] >> (4 - column) & 1 == 1
        }
        let (cellWidth, cellHeight) = (advance * scale, fullHeight * scale)
        guard scale >= 3 else {
            return Coverage(width: cellWidth, height: cellHeight) { x, y in
                isSet(Int(x) / scale, Int(y) / scale) ? -1 : 1
            }
        }
        let strokes = strokes(isSet)
        let size = Double(scale)
        return Coverage(width: cellWidth, height: cellHeight) { x, y in
            let nearest = strokes.reduce(Double(advance)) { min($0, $1.distance(x / size - 0.5, y / size - 0.5)) }
            return (nearest - 0.46) * size
        }
    }

    /// A line between the centres of two dots, or one dot alone.
    private struct Stroke {
        var x: Double
        var y: Double
        var dx: Double
        var dy: Double

        func distance(_ px: Double, _ py: Double) -> Double {
            let (ax, ay) = (px - x, py - y)
            let length = dx * dx + dy * dy
            let along = length > 0 ? max(0, min(1, (ax * dx + ay * dy) / length)) : 0
            let (ex, ey) = (ax - along * dx, ay - along * dy)
            return (ex * ex + ey * ey).squareRoot()
        }
    }

    /// Joins dots that share a side; dots that share only a corner are joined if no side connects them already.
    private static func strokes(_ isSet: (_ column: Int, _ row: Int) -> Bool) -> [Stroke] {
        var strokes: [Stroke] = []
        for row in 0..<fullHeight {
            for column in 0..<5 where isSet(column, row) {
                func join(_ dx: Int, _ dy: Int) {
                    strokes.append(
                        Stroke(x: Double(column), y: Double(row), dx: Double(dx), dy: Double(dy)))
                }
                join(0, 0)
                if isSet(column + 1, row) { join(1, 0) }
                if isSet(column, row + 1) {
                    join(0, 1)
                } else {
                    if isSet(column + 1, row + 1), !isSet(column + 1, row) { join(1, 1) }
                    if isSet(column - 1, row + 1), !isSet(column - 1, row) { join(-1, 1) }
                }
            }
        }
        return strokes
    }

    /// `text` in luma `ink` on `paper`. Numbers have no descenders, so their tile is lower.
    static func tile(_ text: String, scale: Int, ink: UInt8, paper: UInt8, isNumber: Bool = false) -> LumaTile {
        let rows = isNumber ? height : fullHeight
        var tile = LumaTile(width: text.count * advance * scale, height: rows * scale, y: paper)
        for (index, letter) in text.enumerated() {
            let cover = coverage(letter, scale: scale)
            for y in 0..<tile.height {
                for x in 0..<cover.width {
                    let share = Int(cover.values[y * cover.width + x])
                    guard share > 0 else { continue }
                    let mixed = (Int(ink) * share + Int(paper) * (255 - share) + 127) / 255
                    tile.samples[y * tile.width + index * cover.width + x] = UInt8(mixed)
                }
            }
        }
        return tile
    }
}
