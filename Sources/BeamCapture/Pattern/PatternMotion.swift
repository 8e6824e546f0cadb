import BeamMedia

/// Positions of moving parts at one time, in integers only: the same on every machine.
struct PatternMotion {
    /// Microseconds since frame 0.
    let moment: Int

    /// Sine with a period of 4096, in -4096…4096. Bhaskara I's approximation, accurate to 0.2 %.
    static func sine(_ phase: Int) -> Int {
        let turn = phase & 4095
        let half = turn & 2047
        let product = half * (2048 - half)
        let value = 16 * product * 4096 / (5 * 2048 * 2048 - 4 * product)
        return turn < 2048 ? value : -value
    }

    /// Phase within a period of `milliseconds`, 0…4095.
    private func phase(_ milliseconds: Int) -> Int { moment % (milliseconds * 1000) * 4096 / (milliseconds * 1000) }

    /// A point on a circle of `radius` pixels, clockwise, with a period of three seconds.
    func orbit(radius: Int) -> (x: Int, y: Int) {
        let phase = phase(3000)
        return (Self.rounded(Self.sine(phase) * radius), Self.rounded(-Self.sine(phase + 1024) * radius))
    }

    /// A point on a Lissajous figure within ±`x` and ±`y` pixels of the centre.
    func wander(x: Int, y: Int) -> (x: Int, y: Int) {
        (Self.rounded(Self.sine(phase(4000)) * x), Self.rounded(Self.sine(phase(2667) + 512) * y))
    }

    /// Back and forth over `length` pixels at constant speed, two seconds each way.
    func slide(_ length: Int) -> Int {
        let phase = phase(4000)
        return (phase < 2048 ? phase : 4095 - phase) * length / 2047
    }

    /// Distance in pixels at `speed` pixels per second.
    func scroll(speed: Int) -> Int { moment / 1000 * speed / 1000 }

    private static func rounded(_ product: Int) -> Int { (product + 2048) >> 12 }
}

/// The counters that the test chart shows as text.
enum PatternCounter: CaseIterable {
    case frame, time

    var label: String { self == .frame ? "frame" : "time" }

    /// Always `length` characters long.
    func text(number: UInt32, moment: Int) -> String {
        func padded(_ value: Int, _ width: Int, with padding: String = "0") -> String {
            let digits = String(value)
            return String(repeating: padding, count: max(0, width - digits.count)) + digits
        }
        switch self {
        case .frame:
            return padded(Int(number), length, with: " ")
        case .time:
            let seconds = moment / 1_000_000
            return "\(padded(seconds / 3600 % 100, 2)):\(padded(seconds / 60 % 60, 2)):\(padded(seconds % 60, 2))"
                + ".\(padded(moment / 1000 % 1000, 3))"
        }
    }

    /// In characters.
    var length: Int { self == .frame ? 10 : 12 }
}

extension PatternLayout {
    /// The radius of the circle in the stage, in pixels.
    var orbit: Int { max(2, min(arena.width, arena.height) / 2 - unit * 3 / 2) }

    var titleScale: Int { scale(6) }
    var labelScale: Int { scale(3) }

    /// Pixels per dot of the counters' digits.
    var counterScale: Int {
        scale(scale(5), letters: PatternCounter.time.length + 4, in: facts.width - 2 * unit)
    }

    /// The rectangle of a counter's digits.
    func counter(_ counter: PatternCounter) -> PixelRect {
        let height = PatternFont.height * counterScale
        let width = counter.length * PatternFont.advance * counterScale
        let lowest = facts.maxY - unit - height
        return PixelRect(
            x: facts.maxX - unit - width + counterScale,
            y: counter == .time ? lowest : lowest - height - unit, width: width, height: height)
    }
}
