import BeamMedia

/// The test chart: 75 % colour bars, greys, fine detail, words, and things that move.
struct PatternScene: PatternDrawing {
    private static let words =
        "BeamRoom test pattern  ·  The quick brown fox jumps over the lazy dog  ·  0123456789  ·  "
        + "Sphinx of black quartz, judge my vow  ·  "

    let options: PatternOptions
    private let layout: PatternLayout
    private let background: PixelBuffer
    private let ball: Coverage
    private let digits: [Character: LumaTile]
    private let wordsTile: LumaTile
    /// The text repeats after this many pixels.
    private let wordsPeriod: Int

    init(_ options: PatternOptions) {
        self.options = options
        let layout = PatternLayout(options.size)
        self.layout = layout
        background = PatternBackground(layout, frameRate: options.frameRate).buffer
        ball = .disc(diameter: max(4, layout.unit * 2 & ~1))
        guard !layout.isSmall else {
            digits = [:]
            wordsTile = LumaTile(width: 0, height: 0, y: 0)
            wordsPeriod = 1
            return
        }
        digits = Dictionary(
            uniqueKeysWithValues: "0123456789:. ".map {
                (
                    $0,
                    PatternFont.tile(
                        String($0), scale: layout.counterScale, ink: PatternPalette.ink, paper: PatternPalette.card.y,
                        isNumber: true)
                )
            })
        // Long enough to copy a full width starting anywhere in the first period.
        let scale = layout.scale(4)
        wordsPeriod = Self.words.count * PatternFont.advance * scale
        let copies = 2 + options.size.width / wordsPeriod
        wordsTile = PatternFont.tile(
            Self.words, scale: scale, ink: PatternPalette.ink, paper: PatternPalette.well.y
        ).repeated(copies)
    }

    func draw(_ number: Int, time: MediaTime, into buffer: PixelBuffer, over drawn: DamageRegion?) -> DamageRegion {
        let canvas = PatternCanvas(buffer)
        if let drawn {
            for rect in drawn.rects { canvas.copy(rect, from: background) }
        } else {
            canvas.copy(canvas.bounds, from: background)
        }
        var moving = DamageRegion()
        let code = UInt32(truncatingIfNeeded: number)
        let moment = options.moment(of: number)
        let motion = PatternMotion(moment: moment)
        if let rect = layout.code {
            PatternCode.draw(number: code, time: time, into: canvas)
            moving.insert(rect)
            for counter in PatternCounter.allCases {
                moving.insert(draw(counter.text(number: code, moment: moment), at: layout.counter(counter), canvas))
            }
            moving.insert(drawWords(motion, canvas))
            for rect in drawBalls(motion, canvas) { moving.insert(rect) }
        }
        moving.insert(drawSlider(motion, canvas))
        return moving.clipped(to: canvas.bounds)
    }

    private func draw(_ text: String, at rect: PixelRect, _ canvas: PatternCanvas) -> PixelRect {
        for (index, letter) in text.enumerated() {
            guard let tile = digits[letter] else { continue }
            canvas.copyLuma(tile, x: rect.x + index * tile.width, y: rect.y)
        }
        return rect
    }

    private func drawWords(_ motion: PatternMotion, _ canvas: PatternCanvas) -> PixelRect {
        let band = layout.band
        let y = band.y + (band.height - wordsTile.height * 7 / 9) / 2
        canvas.copyLuma(
            wordsTile, column: motion.scroll(speed: 24 * layout.unit) % wordsPeriod, width: layout.size.width, x: 0,
            y: y)
        return PixelRect(x: 0, y: y, width: layout.size.width, height: wordsTile.height)
    }

    private func drawBalls(_ motion: PatternMotion, _ canvas: PatternCanvas) -> [PixelRect] {
        let arena = layout.arena
        let margin = layout.unit + ball.width / 2
        let places = [
            (
                motion.wander(x: max(0, arena.width / 2 - margin), y: max(0, arena.height / 2 - margin)),
                PatternPalette.amber
            ),
            (motion.orbit(radius: layout.orbit), PatternPalette.blue),
        ]
        return places.map { place, colour in
            let rect = PixelRect(
                x: arena.x + arena.width / 2 + place.x - ball.width / 2,
                y: arena.y + arena.height / 2 + place.y - ball.height / 2, width: ball.width, height: ball.height)
            canvas.paint(ball, x: rect.x, y: rect.y, colour)
            return rect.widenedToEven
        }
    }

    private func drawSlider(_ motion: PatternMotion, _ canvas: PatternCanvas) -> PixelRect {
        let track = layout.track
        let width = max(2, min(layout.unit * 2, track.width / 4) & ~1)
        let rect = PixelRect(
            x: track.x + motion.slide(max(0, track.width - width)), y: track.y, width: width, height: track.height)
        canvas.fill(rect, PatternPalette.white)
        return rect.widenedToEven
    }
}

extension PixelRect {
    /// Widened to whole 2 × 2 chroma blocks.
    fileprivate var widenedToEven: PixelRect {
        let (left, top) = (x & ~1, y & ~1)
        return PixelRect(x: left, y: top, width: (maxX + 1 & ~1) - left, height: (maxY + 1 & ~1) - top)
    }
}

extension LumaTile {
    /// `count` copies of the tile, side by side.
    fileprivate func repeated(_ count: Int) -> LumaTile {
        var tile = LumaTile(width: width * count, height: height, y: 0)
        tile.samples.removeAll(keepingCapacity: true)
        for row in 0..<height {
            for _ in 0..<count { tile.samples += samples[row * width..<(row + 1) * width] }
        }
        return tile
    }
}
