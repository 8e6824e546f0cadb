import BeamMedia

/// Lines of generated text, dark on light, on a screen of 1920 × 1080 (bgrx), to scroll through.
struct MovingText {
    static let size = PixelSize(width: 1920, height: 1080)
    private static let lineHeight = 18
    /// Twice the screen's height, to scroll through.
    private let rows: [[UInt32]]

    init() {
        var random = SeededGenerator(seed: 5)
        var rows: [[UInt32]] = []
        while rows.count < 2 * Self.size.height {
            // Words of a few letters, with one colour and the length of a line of code for each line.
            let ink: UInt32 = [0x1E1E1E, 0x0000A0, 0x8C0000, 0x006E00][Int(random.next() % 4)]
            let columns = Self.size.width / 8
            let end = columns / 4 + Int(random.next() % UInt64(columns / 2))
            let glyphs = (0..<columns).map { $0 < end && random.next() % 7 > 0 ? random.next() : 0 }
            for row in 0..<Self.lineHeight {
                rows.append(
                    (0..<Self.size.width).map { x in
                        let column = x % 8
                        let isInk =
                            (4..<13).contains(row) && column < 6
                            && glyphs[x / 8] >> ((row - 4) * 6 + column) & 1 == 1
                        return isInk ? ink : 0xFCFCFA
                    })
            }
        }
        self.rows = rows
    }

    /// The screen's picture `number`, a 60th of a second after the one before, scrolled four rows further.
    func draw(_ number: Int, into buffer: PixelBuffer) -> Picture {
        for y in 0..<Self.size.height {
            let row = rows[(y + 4 * number) % rows.count]
            row.withUnsafeBytes {
                (buffer.planes[0].base + y * buffer.planes[0].stride).copyMemory(from: $0)
            }
        }
        return Picture(buffer: buffer, time: Self.time(number), number: UInt64(number))
    }

    /// The screen at rest, except for a small square that alternates between black and white.
    func blink(_ number: Int, in buffer: PixelBuffer) -> Picture {
        let rect = PixelRect(x: 320, y: 320, width: 64, height: 64)
        for y in rect.y..<rect.maxY {
            (buffer.planes[0].base + y * buffer.planes[0].stride + rect.x * 4)
                .initializeMemory(
                    as: UInt32.self, repeating: number % 2 == 0 ? 0 : 0xFFFFFF, count: rect.width)
        }
        return Picture(
            buffer: buffer, time: Self.time(number), damage: DamageRegion(rect), number: UInt64(number))
    }

    private static func time(_ number: Int) -> MediaTime {
        MediaTime(nanoseconds: 5_000_000_000 + Int64(number) * 16_666_667)
    }
}

extension UnsafeMutableRawPointer {
    fileprivate func copyMemory(from bytes: UnsafeRawBufferPointer) {
        if let base = bytes.baseAddress { copyMemory(from: base, byteCount: bytes.count) }
    }
}

/// A seeded generator (SplitMix64): the same text in every run.
private struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}
