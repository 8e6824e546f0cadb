import BeamMedia

/// What the test pattern shows below its code. Each is the same on every machine, picture by picture.
public enum PatternContent: String, CaseIterable, Hashable, Sendable {
    /// A test chart: bars, greys, fine detail, and some things that move.
    case chart
    /// A desktop that stands still but for a word being typed and a clock: a small change four times a second.
    case still
    /// Two pages of text, a light and a dark one, that scroll by 2/9 of the picture's height a second.
    case scroll
    /// What a film looks like to an encoder: everything moves, with fine texture and grain.
    case video

    /// In words for a person.
    var description: String {
        switch self {
        case .chart: "the test pattern"
        case .still: "the test pattern (a desktop)"
        case .scroll: "the test pattern (scrolling text)"
        case .video: "the test pattern (like a film)"
        }
    }

    /// Changes a second of what mostly stands still; nil: every picture differs.
    var changeRate: Double? { self == .still ? 4 : nil }
}

/// Draws one content's pictures.
protocol PatternDrawing {
    /// Draws frame `number` over a buffer that holds the background but for `drawn`, an earlier frame's moving parts;
    /// nil: over anything.
    ///
    /// - Returns: where the moving parts are now.
    func draw(_ number: Int, time: MediaTime, into buffer: PixelBuffer, over drawn: DamageRegion?) -> DamageRegion
}

extension PatternOptions {
    /// What draws this content.
    var drawing: any PatternDrawing {
        switch content {
        case .chart: PatternScene(self)
        case .still: PatternDesktop(self)
        case .scroll: PatternPage(self)
        case .video: PatternFilm(self)
        }
    }

    /// Microseconds since frame 0. Past 32 bits, motion begins again with the numbers.
    func moment(of number: Int) -> Int {
        Int(time(of: Int(UInt32(truncatingIfNeeded: number))).nanoseconds / 1000)
    }
}
