import BeamMedia

/// Pseudorandom numbers, the same on every machine: a linear congruential generator with the constants of Numerical
/// Recipes.
struct PatternNumbers {
    private var state: UInt32

    init(seed: UInt32) { state = seed }

    /// 0…65535: the upper 16 bits, which are more random than the lower ones.
    mutating func next() -> Int {
        state = state &* 1_664_525 &+ 1_013_904_223
        return Int(state >> 16)
    }

    /// 0..<`bound`.
    mutating func next(below bound: Int) -> Int { next() % bound }
}

/// Writes text in letters of one size, similar to program code on a screen.
struct PatternPen {
    private static let words = [
        "the", "of", "capture", "frame", "encoder", "int", "return", "static", "void", "if", "else", "for", "while",
        "packet", "queue", "viewer", "latency", "window", "text", "colour", "and", "buffer", "size", "0x1f", "42",
        "const", "char", "struct", "socket", "jitter", "error",
    ]
    private static let joints = [" ", " ", "_", "(", ") ", ", ", "; ", " = "]

    let scale: Int
    private let shapes: [Coverage]

    /// Letters keep their size in pixels, whatever the picture's size, as on a real screen.
    init(for size: PixelSize) {
        let scale = size.width < 640 || size.height < 360 ? 1 : 2
        self.scale = scale
        shapes = (32..<127).map { PatternFont.coverage(Character(UnicodeScalar(UInt8($0))), scale: scale) }
    }

    /// Distance between letters and between lines in pixels; both even, because 4:2:0 chroma is subsampled by two.
    var advance: Int { PatternFont.advance * scale }
    var pitch: Int { 10 * scale }

    func write(_ text: String, x: Int, y: Int, _ colour: PatternColour, on canvas: PatternCanvas) {
        var x = x
        for code in text.utf8 {
            if code > 32, code < 127 { canvas.paint(shapes[Int(code) - 32], x: x, y: y, colour) }
            x += advance
        }
    }

    /// `count` characters of random words.
    func words(_ count: Int, _ numbers: inout PatternNumbers) -> String {
        var text = ""
        while text.utf8.count < count {
            text += Self.words[numbers.next(below: Self.words.count)]
            text += Self.joints[numbers.next(below: Self.joints.count)]
        }
        return String(text.prefix(count))
    }

    /// Fills `rect` with coloured lines that resemble source code.
    func fill(_ rect: PixelRect, _ paper: PatternPaper, on canvas: PatternCanvas, _ numbers: inout PatternNumbers) {
        canvas.fill(rect, paper.ground)
        var y = rect.y + scale
        while y + PatternFont.height * scale < rect.maxY {
            var x = rect.x + advance * (1 + 3 * numbers.next(below: 4))
            for _ in 0..<1 + numbers.next(below: 4) {
                let count = 4 + numbers.next(below: 20)
                let ink = paper.inks[numbers.next(below: paper.inks.count)]
                guard x + (count + 1) * advance <= rect.maxX else { break }
                write(words(count, &numbers), x: x, y: y, ink, on: canvas)
                x += (count + 1) * advance
            }
            y += pitch
        }
    }
}

/// Background and text colours.
struct PatternPaper {
    let ground: PatternColour
    let inks: [PatternColour]

    /// Light: sRGB 252, 252, 250. Dark: sRGB 30, 30, 46.
    static let light = PatternPaper(
        ground: PatternColour(y: 232, cb: 127, cr: 128),
        inks: [
            PatternColour(y: 42), PatternColour(y: 26, cb: 198, cr: 121), PatternColour(y: 42, cb: 114, cr: 184),
            PatternColour(y: 84, cb: 97, cr: 86),
        ])
    static let dark = PatternPaper(
        ground: PatternColour(y: 43, cb: 135, cr: 127),
        inks: [
            PatternColour(y: 199, cb: 139, cr: 125), PatternColour(y: 200, cb: 111, cr: 105),
            PatternColour(y: 178, cb: 103, cr: 161), PatternColour(y: 165, cb: 168, cr: 110),
            PatternColour(y: 156, cb: 127, cr: 178),
        ])
}
