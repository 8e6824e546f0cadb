import BeamMedia

/// Draws what stands in a picture for one of BeamRoom's own windows: a plain card with a sentence.
final class CoverCard {
    static let ground: UInt32 = 0x2b_2d_33
    private static let ink: UInt32 = 0xc2_c6_ce
    private static let lines = ["BeamRoom's window", "isn't shared"]
    private static let largestScale = 4
    /// Rows of dots from one line to the next.
    private static let pitch = 12

    private struct Text {
        var scale: Int
        /// Each letter once.
        var letters: [Character: Coverage]
    }

    private var text: Text?

    /// Draws the covers into `frame`, as far as `region` may have been fetched. Whole rows may have been.
    func draw(_ covers: [Cover], into frame: Frame, fetched region: DamageRegion) {
        guard !covers.isEmpty else { return }
        let picture = PixelRect(frame.size)
        let rows = region.rects.map { PixelRect(x: 0, y: $0.y, width: picture.width, height: $0.height) }.disjoint
        for cover in covers {
            for part in cover.visible {
                for rect in rows.map({ $0.intersection(part).intersection(picture) }) where !rect.isEmpty {
                    fill(rect, frame)
                    write(in: cover.frame, clippedTo: rect, frame)
                }
            }
        }
    }

    /// Draws a card without a sentence.
    func fill(_ rect: PixelRect, _ frame: Frame) {
        let rect = rect.intersection(PixelRect(frame.size))
        guard !rect.isEmpty else { return }
        for y in rect.y..<rect.maxY {
            frame.pixel(x: rect.x, y: y).initializeMemory(as: UInt32.self, repeating: Self.ground, count: rect.width)
        }
    }

    private func write(in card: PixelRect, clippedTo part: PixelRect, _ frame: Frame) {
        let columns = Self.lines.map(\.count).max() ?? 0
        let scale = min(Self.largestScale, card.width * 4 / 5 / PatternFont.width(columns, scale: 1))
        let height = Self.pitch * scale * Self.lines.count
        guard scale > 0, height <= card.height else { return }
        if text?.scale != scale {
            var letters: [Character: Coverage] = [:]
            for letter in Self.lines.joined() { letters[letter] = PatternFont.coverage(letter, scale: scale) }
            text = Text(scale: scale, letters: letters)
        }
        for (row, line) in Self.lines.enumerated() {
            var x = card.x + (card.width - PatternFont.width(line.count, scale: scale)) / 2
            let y = card.y + (card.height - height) / 2 + row * Self.pitch * scale
            for letter in line {
                if let shape = text?.letters[letter] { paint(shape, x, y, part, frame) }
                x += PatternFont.advance * scale
            }
        }
    }

    private func paint(_ shape: Coverage, _ x: Int, _ y: Int, _ part: PixelRect, _ frame: Frame) {
        let visible = PixelRect(x: x, y: y, width: shape.width, height: shape.height).intersection(part)
        guard !visible.isEmpty else { return }
        for row in visible.y..<visible.maxY {
            for column in visible.x..<visible.maxX {
                let share = UInt32(shape.values[(row - y) * shape.width + column - x])
                guard share > 0 else { continue }
                var colour: UInt32 = 0
                for shift in stride(from: UInt32(0), through: 16, by: 8) {
                    let (ink, ground) = (Self.ink >> shift & 0xff, Self.ground >> shift & 0xff)
                    colour |= ((ink * share + ground * (255 - share) + 127) / 255) << shift
                }
                frame.pixel(x: column, y: row).storeBytes(of: colour, as: UInt32.self)
            }
        }
    }
}
