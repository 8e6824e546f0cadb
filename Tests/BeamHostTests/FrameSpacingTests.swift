import BeamMedia
import Testing

@testable import BeamHost

/// Which of a source's pictures are coded where fewer frames a second are wanted.
struct FrameSpacingTests {
    /// The times in seconds at which pictures are coded, of `source` pictures a second for `seconds`. Each is up to `jitter`
    /// intervals late, in turn.
    private func coded(_ rate: Double, of source: Double, seconds: Double = 10, jitter: Double = 0) -> [Double] {
        var (spacing, times) = (FrameSpacing(), [Double]())
        for index in 0..<Int(source * seconds) {
            let time = 1 + (Double(index) + Double(index * 7 % 5) / 4 * jitter) / source
            guard MediaTime.zero + .seconds(time) >= spacing.due(sourceInterval: 1 / source).fresh else { continue }
            spacing.made(at: MediaTime.zero + .seconds(time), rate: rate, sourceInterval: 1 / source)
            times.append(time)
        }
        return times
    }

    @Test(arguments: [(15.0, 60.0), (30, 60), (10, 30), (1, 60), (20, 60)])
    func aWholeShareIsEven(rate: Double, source: Double) {
        let times = coded(rate, of: source)
        for (first, second) in zip(times.dropFirst(), times.dropFirst(2)) {
            #expect(abs(second - first - 1 / rate) < 0.001, "\(times.prefix(9))")
        }
    }

    @Test(arguments: [(25.0, 60.0), (24, 60), (50, 60), (7.5, 30), (59, 60), (25, 144)], [0, 0.4])
    func otherRatesAreMetOnAverage(rates: (rate: Double, source: Double), jitter: Double) {
        let times = coded(rates.rate, of: rates.source, jitter: jitter)
        // Of a source that is uneven and hardly faster, some pictures come too soon after the last one.
        let least = rates.rate * 10 * (jitter == 0 ? 1 : 0.95) - 2
        #expect((least...rates.rate * 10 + 2).contains(Double(times.count)), "\(times.count) in 10 s")
        // The second one comes after half of the time.
        for (first, second) in zip(times.dropFirst(), times.dropFirst(2)) {
            #expect(abs(second - first - 1 / rates.rate) < 1.5 / rates.source + 0.001)
        }
    }

    @Test func allOfASlowSourceIsTaken() { #expect(coded(60, of: 30, jitter: 0.4).count == 300) }

    @Test func aPauseIsNotMadeUpFor() {
        var spacing = FrameSpacing()
        spacing.made(at: .zero + .seconds(1), rate: 10, sourceInterval: 0.016)
        spacing.made(at: .zero + .seconds(100), rate: 10, sourceInterval: 0.016)
        #expect(spacing.next >= .zero + .seconds(100.049))
    }

    /// Nothing that a viewer or a source may cause overflows.
    @Test(arguments: [0, -1, .nan, .infinity, 1e300, 1e-300] as [Double])
    func extremes(value: Double) {
        var spacing = FrameSpacing()
        spacing.made(at: .zero + .seconds(1), rate: value, sourceInterval: value)
        spacing.made(at: .zero + .seconds(2), rate: 15, sourceInterval: value)
        #expect(spacing.due(sourceInterval: value).fresh <= .zero + .seconds(200))
    }
}
