import BeamMedia

/// A desktop with two windows; text is typed into one of them, and a clock runs.
struct PatternDesktop: PatternDrawing {
    private let options: PatternOptions
    private let layout: PatternLayout
    private let pen: PatternPen
    private let background: PixelBuffer
    /// The text that is typed, letter by letter, then from the beginning.
    private let words: String
    /// The line that is typed into, and the clock's rectangle.
    private let line: PixelRect
    private let clock: PixelRect

    init(_ options: PatternOptions) {
        self.options = options
        let (size, layout, pen) = (options.size, PatternLayout(options.size), PatternPen(for: options.size))
        self.layout = layout
        self.pen = pen
        var numbers = PatternNumbers(seed: 5)
        background = PixelBuffer(format: .i420, size: size)
        let canvas = PatternCanvas(background)
        Self.drawWallpaper(canvas)
        let bar = PixelRect(x: 0, y: layout.top, width: size.width, height: pen.pitch + 4 * pen.scale)
        let desk = PixelRect(x: 0, y: bar.maxY, width: size.width, height: max(0, size.height - bar.maxY))
        canvas.fill(PixelRect(x: 0, y: 0, width: size.width, height: layout.top), PatternPalette.black)
        canvas.fill(bar, PatternPalette.card)
        let baseline = bar.y + 3 * pen.scale
        pen.write(
            "Applications  Places  File  Edit  View", x: pen.advance, y: baseline, PatternColour(y: 205), on: canvas)
        clock = PixelRect(
            x: size.width - 9 * pen.advance, y: baseline, width: 8 * pen.advance, height: pen.pitch - pen.scale)

        func window(_ columns: Range<Int>, _ title: String, _ paper: PatternPaper) -> PixelRect {
            func x(_ percent: Int) -> Int { size.width * percent / 100 & ~1 }
            func y(_ percent: Int) -> Int { (desk.y + desk.height * percent / 100) & ~1 }
            let frame = PixelRect(
                x: x(columns.lowerBound), y: y(8), width: x(columns.upperBound) - x(columns.lowerBound),
                height: y(84) - y(8))
            let titleHeight = pen.pitch + 2 * pen.scale
            canvas.fill(frame, PatternColour(y: 66, cb: 136, cr: 126))
            pen.write(
                title, x: frame.x + pen.advance, y: frame.y + 2 * pen.scale, PatternColour(y: 222), on: canvas)
            let text = PixelRect(
                x: frame.x, y: frame.y + titleHeight, width: frame.width, height: max(0, frame.height - titleHeight))
            pen.fill(text, paper, on: canvas, &numbers)
            return text
        }
        let editor = window(3..<48, "editor - main.c", .dark)
        _ = window(52..<98, "browser - documentation", .light)
        line = PixelRect(
            x: editor.x, y: (editor.maxY - pen.pitch - pen.scale) & ~1, width: editor.width & ~1, height: pen.pitch
        )
        .intersection(editor)
        canvas.fill(line, PatternPaper.dark.ground)
        words = pen.words(max(1, line.width / pen.advance - 2), &numbers)
        Self.drawIcons(in: desk, side: 12 * pen.scale, on: canvas, &numbers)
    }

    private static func drawWallpaper(_ canvas: PatternCanvas) {
        let bounds = canvas.bounds
        canvas.fill(bounds, PatternColour(y: 70, cb: 152, cr: 112))
        for y in 0..<bounds.height {
            let left = 54 + 36 * y / bounds.height
            let row = (0..<bounds.width).map { (x: Int) -> UInt8 in UInt8(left + 40 * x / bounds.width) }
            canvas.repeatLuma(row, in: PixelRect(x: 0, y: y, width: bounds.width, height: 1))
        }
    }

    private static func drawIcons(
        in desk: PixelRect, side: Int, on canvas: PatternCanvas, _ numbers: inout PatternNumbers
    ) {
        let y = (desk.y + desk.height * 90 / 100) & ~1
        for index in 0..<24 {
            let colour = PatternColour(
                y: UInt8(40 + numbers.next(below: 160)), cb: UInt8(70 + numbers.next(below: 116)),
                cr: UInt8(70 + numbers.next(below: 116)))
            canvas.fill(
                PixelRect(x: (desk.width * 3 / 100 + index * (side + side / 3)) & ~1, y: y, width: side, height: side),
                colour)
        }
    }

    func draw(_ number: Int, time: MediaTime, into buffer: PixelBuffer, over drawn: DamageRegion?) -> DamageRegion {
        let canvas = PatternCanvas(buffer)
        if let drawn {
            for rect in drawn.rects { canvas.copy(rect, from: background) }
        } else {
            canvas.copy(canvas.bounds, from: background)
        }
        let change = Int(UInt32(truncatingIfNeeded: number)) / options.framesPerChange
        let letters = change % (words.utf8.count + 1)
        let typed = String(words.prefix(letters))
        pen.write(
            typed, x: line.x + pen.advance, y: line.y + pen.scale, PatternPaper.dark.inks[0], on: canvas)
        let caret = PixelRect(
            x: line.x + (letters + 1) * pen.advance, y: line.y, width: pen.scale, height: pen.pitch)
        canvas.fillLuma(caret.intersection(line), 222)
        let moment = options.moment(of: change * options.framesPerChange)
        pen.write(
            String(PatternCounter.time.text(number: 0, moment: moment).prefix(8)), x: clock.x, y: clock.y,
            PatternColour(y: 222), on: canvas)

        PatternCode.draw(number: UInt32(truncatingIfNeeded: number), time: time, into: canvas)
        var moving = DamageRegion()
        for rect in [layout.code ?? clock, line, clock] { moving.insert(rect) }
        return moving.clipped(to: canvas.bounds)
    }
}
