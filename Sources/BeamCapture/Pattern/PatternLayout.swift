import BeamMedia

/// The position of each part of the test chart in a picture of one size.
///
/// Below the code, the picture is a grid of 64 columns and 32 rows. Positions and sizes are even, because 4:2:0 chroma
/// is subsampled by two. A picture too small for a code has no text either.
struct PatternLayout {
    let size: PixelSize
    let code: PixelRect?
    /// The first row below the code, where the grid begins.
    let top: Int
    /// The unit of shapes and letters: the side of about one grid cell, in pixels.
    let unit: Int

    init(_ size: PixelSize) {
        self.size = size
        let layout = PatternCode.Layout(size)
        code = layout?.rect
        top = layout.map { ($0.rows + 1) * $0.block } ?? 0
        unit = max(1, min(size.width / 64, (size.height - top) / 32))
    }

    var isSmall: Bool { code == nil }

    /// The rectangle between grid lines, counted in half cells.
    private func area(_ columns: Range<Int>, _ rows: Range<Int>) -> PixelRect {
        func x(_ half: Int) -> Int { half == 128 ? size.width : size.width * half / 128 & ~1 }
        func y(_ half: Int) -> Int { half == 64 ? size.height : top + (size.height - top) * half / 64 & ~1 }
        let (left, upper) = (x(columns.lowerBound), y(rows.lowerBound))
        return PixelRect(x: left, y: upper, width: x(columns.upperBound) - left, height: y(rows.upperBound) - upper)
    }

    var facts: PixelRect { area(2..<62, 2..<30) }
    var stage: PixelRect { area(64..<126, 2..<30) }
    var bars: PixelRect { isSmall ? area(0..<128, 0..<32) : area(2..<82, 32..<44) }
    var ramp: PixelRect { isSmall ? area(0..<128, 32..<44) : area(2..<82, 44..<49) }
    var steps: PixelRect { isSmall ? area(0..<128, 44..<48) : area(2..<82, 49..<54) }
    var detail: PixelRect { isSmall ? area(0..<128, 48..<56) : area(84..<126, 32..<54) }
    /// The band of scrolling text at the bottom.
    var band: PixelRect { isSmall ? area(0..<0, 0..<0) : area(0..<128, 57..<64) }
    /// The track of the sliding mark.
    var track: PixelRect {
        if isSmall { return area(0..<128, 56..<64) }
        let height = max(2, unit / 2 & ~1)
        return PixelRect(
            x: stage.x + unit & ~1, y: stage.maxY - unit - height & ~1, width: stage.width - 2 * unit & ~1,
            height: height)
    }

    /// The part of the stage in which shapes move.
    var arena: PixelRect {
        PixelRect(x: stage.x, y: stage.y, width: stage.width, height: max(0, track.y - stage.y))
    }

    /// The largest scale up to `wanted` at which `count` letters fit into `width` pixels.
    func scale(_ wanted: Int, letters count: Int, in width: Int) -> Int {
        max(1, min(wanted, width / max(1, count * PatternFont.advance)))
    }

    /// Pixels per dot for letters whose dot is `twentieths` / 20 of a unit.
    func scale(_ twentieths: Int) -> Int { max(1, (unit * twentieths + 10) / 20) }
}

/// The chart's colours; the surroundings are dark, so that the test elements stand out.
enum PatternPalette {
    static let backdrop = PatternColour(y: 30, cb: 132, cr: 125)
    static let card = PatternColour(y: 41, cb: 133, cr: 124)
    static let well = PatternColour(y: 22, cb: 130, cr: 127)
    static let line = PatternColour(y: 66, cb: 134, cr: 123)
    static let black = PatternColour(y: 16)
    static let white = PatternColour(y: 235)
    static let ink: UInt8 = 222
    static let fadedInk: UInt8 = 128
    /// sRGB 56, 189, 248.
    static let blue = PatternColour(y: 158, cb: 167, cr: 67)
    /// sRGB 251, 176, 64.
    static let amber = PatternColour(y: 174, cb: 71, cr: 165)

    /// 75 % colour bars (ITU-R BT.471 order) in BT.709 limited range, then black.
    static let bars = [
        PatternColour(y: 180), PatternColour(y: 168, cb: 44, cr: 136), PatternColour(y: 145, cb: 147, cr: 44),
        PatternColour(y: 133, cb: 63, cr: 52), PatternColour(y: 63, cb: 193, cr: 204),
        PatternColour(y: 51, cb: 109, cr: 212), PatternColour(y: 28, cb: 212, cr: 120), black,
    ]
}
