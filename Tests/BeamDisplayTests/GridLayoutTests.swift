import BeamMedia
import Testing

@testable import BeamDisplay

@Suite struct GridLayoutTests {
    static let window = PixelRect(x: 0, y: 0, width: 1920, height: 1080)
    static let usual = PixelSize(width: 1920, height: 1080)

    private func layout(_ count: Int, in area: PixelRect = window, scale: Double = 1) -> GridLayout {
        GridLayout(Array(repeating: Self.usual, count: count), in: area, scale: scale)
    }

    @Test("The number of columns", arguments: [(1, 1), (2, 2), (3, 2), (4, 2), (5, 3), (8, 3), (9, 3), (16, 4)])
    func columns(count: Int, columns: Int) {
        #expect(layout(count).columns == columns)
    }

    @Test("Tiles lie inside the window and apart from each other", arguments: 1...16, [0.5, 1, 2, 4])
    func apart(count: Int, scale: Double) {
        for area in [
            Self.window, PixelRect(x: 0, y: 0, width: 160, height: 90), PixelRect(x: 0, y: 0, width: 400, height: 1600),
            PixelRect(x: 30, y: 20, width: 3840, height: 1000),
        ] {
            let layout = layout(count, in: area, scale: scale)
            #expect(layout.tiles.count == count)
            for (index, tile) in layout.tiles.enumerated() {
                #expect(area.contains(tile.cell), "\(tile.cell) in \(area)")
                #expect(tile.cell.contains(tile.box))
                #expect(tile.box.contains(tile.picture))
                #expect(!tile.picture.isEmpty)
                #expect(tile.label.isEmpty || tile.cell.contains(tile.label))
                #expect(tile.picture.intersection(tile.label).isEmpty)
                for other in layout.tiles[..<index] { #expect(tile.cell.intersection(other.cell).isEmpty) }
            }
        }
    }

    @Test func picturesKeepTheirShape() {
        let shapes = [
            PixelSize(width: 640, height: 480), PixelSize(width: 1080, height: 1920), nil,
            PixelSize(width: 3840, height: 1080),
        ]
        let layout = GridLayout(shapes, in: Self.window, scale: 1)
        for (shape, tile) in zip(shapes, layout.tiles) {
            let shape = shape ?? GridLayout.usualShape
            let wanted = Double(shape.width) / Double(shape.height)
            #expect(abs(Double(tile.picture.width) / Double(tile.picture.height) / wanted - 1) < 0.01)
        }
        // As large as the cell allows: one side is the box's.
        for tile in layout.tiles where tile.picture.size != tile.box.size {
            let (width, height) = (tile.box.width - tile.picture.width, tile.box.height - tile.picture.height)
            #expect(min(width, height) <= max(tile.box.width, tile.box.height) / 50)
        }
    }

    @Test func portraitPicturesGetMoreColumns() {
        let portrait = GridLayout(
            Array(repeating: PixelSize(width: 1080, height: 1920), count: 4), in: Self.window, scale: 1)
        #expect(portrait.columns == 4)
    }

    @Test func theLastRowIsCentred() {
        let tiles = layout(3).tiles
        let middle = tiles[2].cell.x + tiles[2].cell.width / 2
        #expect(abs(middle - 960) <= 1)
        #expect(tiles[0].cell.y == tiles[1].cell.y && tiles[2].cell.y > tiles[0].cell.maxY)
    }

    @Test func clicksFindTheirTile() {
        let layout = layout(5)
        for (index, tile) in layout.tiles.enumerated() {
            #expect(layout.tile(atX: tile.cell.x, y: tile.cell.y) == index)
            #expect(layout.tile(atX: tile.cell.maxX - 1, y: tile.cell.maxY - 1) == index)
            #expect(layout.tile(atX: tile.label.x + 3, y: tile.label.y + 3) == index)
        }
        #expect(layout.tile(atX: 0, y: 0) == nil)
        #expect(layout.tile(atX: 1919, y: 1079) == nil)
    }

    @Test func smallTilesHaveNoLabels() {
        #expect(layout(16, in: PixelRect(x: 0, y: 0, width: 160, height: 90)).tiles.allSatisfy { $0.label.isEmpty })
        #expect(layout(16).tiles.allSatisfy { !$0.label.isEmpty })
    }

    @Test("In the window's first size, tiles have about the size that it is for", arguments: [2, 3, 8, 16], [1.0, 2])
    func windowSize(count: Int, scale: Double) {
        let each = PixelSize(width: Int(480 * scale), height: Int(270 * scale))
        let size = GridLayout.windowSize(for: count, each: each, scale: scale)
        for tile in layout(count, in: PixelRect(size), scale: scale).tiles {
            #expect(abs(tile.picture.width - each.width) <= 4, "\(tile.picture)")
        }
    }

    // MARK: Selection

    private func selection(_ sources: [Int]) -> GridSelection {
        var selection = GridSelection()
        selection.set(sources)
        return selection
    }

    @Test func oneSourceIsNoGrid() {
        var one = selection([7])
        #expect(!one.isGrid && one.focus == 7)
        one.showAlone(index: 0)
        #expect(!one.isAlone)
        one.set([7, 8])
        #expect(one.isGrid && one.focus == 7)
        one.set([])
        #expect(!one.isGrid && one.focus == nil)
    }

    @Test func theFocusStaysOnItsSource() {
        var several = selection([1, 2, 3])
        several.showAlone(index: 1)
        several.set([5, 2])
        #expect(several.focus == 2 && several.isAlone)
        several.set([2])
        #expect(several.focus == 2 && !several.isAlone)
        several.set([2, 4, 5])
        #expect(several.isGrid)
    }

    @Test func allAreShownWhenTheOneThatWasAloneGoes() {
        var several = selection([1, 2, 3])
        several.showAlone(index: 2)
        several.set([1, 2])
        #expect(several.isGrid && several.focus == 2)
    }

    @Test func keysThatSelectNothingChangeNothing() {
        var several = selection([1, 2, 3])
        several.showAlone(index: 5)
        #expect(several.isGrid && several.focus == 1)
        several.move(.left, columns: 2)
        several.move(.up, columns: 2)
        #expect(several.focus == 1)
    }

    @Test func theFocusMoves() {
        // 0 1 2
        //  3 4
        var several = selection([0, 1, 2, 3, 4])
        func after(_ move: GridSelection.Move) -> Int? {
            several.move(move, columns: 3)
            return several.focus
        }
        #expect(after(.right) == 1)
        #expect(after(.down) == 4)
        #expect(after(.down) == 4)
        #expect(after(.up) == 1)
        #expect(after(.right) == 2)
        // Nothing is below it: to the last one.
        #expect(after(.down) == 4)
        #expect(after(.next) == 0)
        #expect(after(.previous) == 4)
        several.showAlone(index: 4)
        #expect(after(.up) == 3)
        #expect(several.isAlone)
    }
}
