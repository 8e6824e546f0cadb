import BeamMedia

/// The static part of the test chart, drawn once per size and frame rate.
struct PatternBackground {
    let buffer: PixelBuffer
    private let canvas: PatternCanvas
    private let layout: PatternLayout

    init(_ layout: PatternLayout, frameRate: Double) {
        self.layout = layout
        buffer = PixelBuffer(format: .i420, size: layout.size)
        canvas = PatternCanvas(buffer)
        canvas.fill(canvas.bounds, PatternPalette.backdrop)
        drawBars()
        drawGreys()
        drawDetail()
        guard !layout.isSmall else {
            canvas.fill(layout.track, PatternPalette.well)
            return
        }
        drawHeader()
        drawFacts(frameRate: frameRate)
        drawStage()
        canvas.fill(layout.band, PatternPalette.well)
    }

    /// The code's black background (its luma is drawn per frame), and the title to its right if there is room.
    private func drawHeader() {
        guard let code = layout.code else { return }
        canvas.fill(code, PatternPalette.black)
        let name = "test pattern"
        let room = layout.size.width - code.maxX - 2 * code.x
        let scale = min(layout.scale(2), room / (name.count * PatternFont.advance))
        guard scale >= 1 else { return }
        let tile = PatternFont.tile(
            name, scale: scale, ink: PatternPalette.fadedInk, paper: PatternPalette.backdrop.y)
        canvas.copyLuma(
            tile, x: layout.size.width - code.x - PatternFont.width(name.count, scale: scale),
            y: code.y + (code.height - PatternFont.height * scale) / 2)
    }

    /// A card with round corners.
    private func drawCard(_ rect: PixelRect, _ colour: PatternColour) {
        canvas.fill(rect, colour)
        let radius = min(layout.unit / 2, rect.width / 2, rect.height / 2)
        guard radius >= 2 else { return }
        for (isRight, isLower) in [(false, false), (true, false), (false, true), (true, true)] {
            // The part of the corner's square outside the quarter circle.
            let corner = Coverage(width: radius, height: radius) { x, y in
                let dx = isRight ? x : Double(radius) - x
                let dy = isLower ? y : Double(radius) - y
                return Double(radius) - (dx * dx + dy * dy).squareRoot()
            }
            canvas.paintLuma(
                corner, x: isRight ? rect.maxX - radius : rect.x, y: isLower ? rect.maxY - radius : rect.y,
                PatternPalette.backdrop.y)
        }
    }

    private func drawFacts(frameRate: Double) {
        drawCard(layout.facts, PatternPalette.card)
        let rect = layout.facts
        let accent = PixelRect(
            x: rect.x + layout.unit & ~1, y: rect.y + layout.unit & ~1, width: max(2, layout.unit / 3 & ~1),
            height: PatternFont.height * layout.titleScale & ~1)
        canvas.fill(accent, PatternPalette.blue)
        write(
            "BeamRoom", x: accent.maxX + layout.unit * 2 / 3, y: accent.y, scale: layout.titleScale,
            ink: PatternPalette.white.y)

        let rate = (frameRate * 100).rounded() / 100
        let rateWords = rate == rate.rounded() ? "\(Int(rate))" : "\(rate)"
        let width = rect.width - 2 * layout.unit
        let words = "\(layout.size) · \(rateWords) fps · BT.709"
        let short = "\(layout.size) · \(rateWords) fps"
        let scale = layout.scale(3)
        let fits = PatternFont.width(words.count, scale: scale) <= width
        write(
            fits ? words : short, x: accent.x, y: accent.maxY + layout.unit,
            scale: layout.scale(scale, letters: short.count, in: width), ink: PatternPalette.fadedInk)
        for counter in PatternCounter.allCases {
            let place = layout.counter(counter)
            write(
                counter.label, x: accent.x, y: place.maxY - PatternFont.height * layout.labelScale,
                scale: layout.labelScale, ink: PatternPalette.fadedInk)
        }
    }

    private func write(_ text: String, x: Int, y: Int, scale: Int, ink: UInt8) {
        for (index, letter) in text.enumerated() where letter != " " {
            canvas.paintLuma(
                PatternFont.coverage(letter, scale: scale), x: x + index * PatternFont.advance * scale, y: y, ink)
        }
    }

    private func drawStage() {
        drawCard(layout.stage, PatternPalette.well)
        let (arena, unit) = (layout.arena, layout.unit)
        let (centreX, centreY) = (arena.x + arena.width / 2, arena.y + arena.height / 2)
        for step in -8...8 {
            let (x, y) = (centreX + step * 2 * unit & ~1, centreY + step * 2 * unit & ~1)
            if x > arena.x + unit, x < arena.maxX - unit {
                canvas.fillLuma(
                    PixelRect(x: x, y: arena.y + unit, width: 1, height: arena.height - 2 * unit),
                    step == 0 ? PatternPalette.line.y : 34)
            }
            if y > arena.y + unit, y < arena.maxY - unit {
                canvas.fillLuma(
                    PixelRect(x: arena.x + unit, y: y, width: arena.width - 2 * unit, height: 1),
                    step == 0 ? PatternPalette.line.y : 34)
            }
        }
        let diameter = layout.orbit * 2
        canvas.paintLuma(
            .ring(diameter: diameter, thickness: max(1, Double(unit) / 8)), x: centreX - layout.orbit,
            y: centreY - layout.orbit, PatternPalette.line.y + 20)
        canvas.fill(layout.track, PatternPalette.card)
    }

    private func drawBars() {
        let rect = layout.bars
        for (index, colour) in PatternPalette.bars.enumerated() {
            let left = rect.x + rect.width * index / 8 & ~1
            let right = index == 7 ? rect.maxX : rect.x + rect.width * (index + 1) / 8 & ~1
            canvas.fill(PixelRect(x: left, y: rect.y, width: right - left, height: rect.height), colour)
        }
    }

    /// Grey from black to white: a smooth ramp, and eleven steps.
    private func drawGreys() {
        let (ramp, steps) = (layout.ramp, layout.steps)
        canvas.fill(ramp, PatternPalette.black)
        let last = max(1, ramp.width - 1)
        let half: Int = (ramp.width - 1) / 2
        let smooth = (0..<ramp.width).map { (x: Int) -> UInt8 in
            let above: Int = (219 * x + half) / last
            return UInt8(16 + above)
        }
        canvas.repeatLuma(smooth, in: ramp)
        canvas.fill(steps, PatternPalette.black)
        let stepped = (0..<steps.width).map { (x: Int) -> UInt8 in
            let step: Int = x * 11 / steps.width
            return UInt8(16 + 219 * step / 10)
        }
        canvas.repeatLuma(stepped, in: steps)
    }

    /// A zone plate, and lines and checkerboards of one and two pixels.
    private func drawDetail() {
        let rect = layout.detail
        canvas.fill(rect, layout.isSmall ? PatternPalette.black : PatternPalette.card)
        let gap = max(2, layout.unit / 2 & ~1)
        var left = rect.x
        if !layout.isSmall {
            let side = min(rect.height, rect.width / 2) & ~1
            drawRings(PixelRect(x: left, y: rect.y, width: side, height: rect.height))
            left += side + gap
        }
        let (width, height) = (rect.maxX - left, rect.height)
        let right = left + (width + gap) / 2 & ~1
        let lower = rect.y + (height + gap) / 2 & ~1
        let finenesses: [(PixelRect, (_ x: Int, _ y: Int) -> Bool)] = [
            (
                PixelRect(x: left, y: rect.y, width: right - gap - left, height: lower - gap - rect.y),
                { x, _ in x & 1 == 0 }
            ),
            (
                PixelRect(x: right, y: rect.y, width: rect.maxX - right, height: lower - gap - rect.y),
                { _, y in y & 1 == 0 }
            ),
            (
                PixelRect(x: left, y: lower, width: right - gap - left, height: rect.maxY - lower),
                { x, y in (x ^ y) & 1 == 0 }
            ),
            (
                PixelRect(x: right, y: lower, width: rect.maxX - right, height: rect.maxY - lower),
                { x, y in (x / 2 ^ y / 2) & 1 == 0 }
            ),
        ]
        for (tile, isLight) in finenesses where !tile.isEmpty {
            canvas.fill(tile, PatternPalette.black)
            for y in tile.y..<tile.maxY {
                canvas.repeatLuma(
                    (0..<tile.width).map { isLight($0, y - tile.y) ? 235 : 16 },
                    in: PixelRect(x: tile.x, y: y, width: tile.width, height: 1))
            }
        }
    }

    /// A zone plate: at distance r from the centre, brightness follows cos(π · r² / side). At the edges a period is two
    /// pixels, the finest that pixels can show.
    private func drawRings(_ rect: PixelRect) {
        let side = max(1, max(rect.width, rect.height))
        for y in 0..<rect.height {
            let row = (0..<rect.width).map { x -> UInt8 in
                let (dx, dy) = (2 * x + 1 - rect.width, 2 * y + 1 - rect.height)
                // `dx` and `dy` are in half pixels, so their squares sum to 4 r². One period of the sine is 4096.
                let phase = (dx * dx + dy * dy) * 512 / side
                return UInt8(125 + 90 * PatternMotion.sine(phase + 1024) / 4096)
            }
            canvas.repeatLuma(row, in: PixelRect(x: rect.x, y: rect.y + y, width: rect.width, height: 1))
        }
    }
}
