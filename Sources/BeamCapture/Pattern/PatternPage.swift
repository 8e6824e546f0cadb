import BeamMedia

/// Text that scrolls up in an endless loop.
struct PatternPage: PatternDrawing {
    /// The page's height limit in rows (twice a 4K picture), which bounds its memory. In higher pictures the text
    /// repeats sooner.
    private static let maxRows = 4320

    private let options: PatternOptions
    private let layout: PatternLayout
    /// As wide as the picture. Its last row is followed by its first.
    private let page: PixelBuffer
    /// Pixels a second.
    private let speed: Int

    init(_ options: PatternOptions) {
        self.options = options
        layout = PatternLayout(options.size)
        let size = options.size
        speed = max(2, size.height * 2 / 9)
        let pen = PatternPen(for: size)
        let lines = max(1, min(2 * size.height, Self.maxRows) / pen.pitch)
        page = PixelBuffer(format: .i420, size: PixelSize(width: size.width, height: lines * pen.pitch))
        let canvas = PatternCanvas(page)
        let middle = size.width / 2 & ~1
        var numbers = PatternNumbers(seed: 6)
        pen.fill(
            PixelRect(x: 0, y: 0, width: middle, height: page.size.height), .light, on: canvas, &numbers)
        pen.fill(
            PixelRect(x: middle, y: 0, width: size.width - middle, height: page.size.height), .dark, on: canvas,
            &numbers)
    }

    func draw(_ number: Int, time: MediaTime, into buffer: PixelBuffer, over drawn: DamageRegion?) -> DamageRegion {
        let canvas = PatternCanvas(buffer)
        if drawn == nil { canvas.fill(canvas.bounds, PatternPalette.black) }
        // Even, because chroma samples cover two rows.
        let scroll = PatternMotion(moment: options.moment(of: number)).scroll(speed: speed) & ~1
        var row = scroll % page.size.height
        var y = layout.top
        while y < canvas.bounds.maxY {
            let count = min(canvas.bounds.maxY - y, page.size.height - row)
            canvas.copyRows(count, from: page, row: row, to: y)
            y += count
            row = 0
        }
        return moving(number, time, canvas)
    }

    private func moving(_ number: Int, _ time: MediaTime, _ canvas: PatternCanvas) -> DamageRegion {
        PatternCode.draw(number: UInt32(truncatingIfNeeded: number), time: time, into: canvas)
        var moving = DamageRegion(
            PixelRect(
                x: 0, y: layout.top, width: canvas.bounds.width, height: canvas.bounds.maxY - layout.top))
        if let code = layout.code { moving.insert(code) }
        return moving
    }
}
