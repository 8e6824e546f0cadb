import BeamMedia

/// What the test pattern shows below its code. Each content is deterministic: the same pictures on every machine.
public enum PatternContent: String, CaseIterable, Hashable, Sendable {
    /// A test chart: colour bars, greys, fine detail, and a few moving parts.
    case chart
    /// A static desktop with a text being typed and a clock: a small change four times a second.
    case still
    /// Two pages of text, one light, one dark, that scroll by 2/9 of the picture's height per second.
    case scroll
    /// Like a film to an encoder: everything moves, with fine texture and grain.
    case video

    /// Person-facing name.
    var description: String {
        switch self {
        case .chart: "the test pattern"
        case .still: "the test pattern (a desktop)"
        case .scroll: "the test pattern (scrolling text)"
        case .video: "the test pattern (like a film)"
        }
    }

    /// Changes per second of mostly static content; nil if every picture differs.
    var changeRate: Double? { self == .still ? 4 : nil }
}

/// Draws the pictures of one content.
protocol PatternDrawing {
    /// Draws frame `number`.
    ///
    /// - Parameter drawn: where `buffer` differs from the background: an earlier frame's moving parts. Nil: the
    ///   buffer's content is undefined.
    /// - Returns: where the moving parts are in this frame.
    func draw(_ number: Int, time: MediaTime, into buffer: PixelBuffer, over drawn: DamageRegion?) -> DamageRegion
}

extension PatternOptions {
    var drawing: any PatternDrawing {
        switch content {
        case .chart: PatternScene(self)
        case .still: PatternDesktop(self)
        case .scroll: PatternPage(self)
        case .video: PatternFilm(self)
        }
    }

    /// Microseconds since frame 0. Wraps with the 32-bit frame number.
    func moment(of number: Int) -> Int {
        Int(time(of: Int(UInt32(truncatingIfNeeded: number))).nanoseconds / 1000)
    }
}
