import BeamMedia
import Testing

@testable import BeamViewer

struct RatesTests {
    private static func time(_ seconds: Int) -> MediaTime { MediaTime.zero + .seconds(seconds) }

    @Test func ratesAreOfTheIntervalAndTotalsSinceTheStart() {
        var rates = Rates()
        #expect(rates.measure(frames: 0, bytes: 0, now: .zero, sinceStart: false) == (0, 0))
        _ = rates.measure(frames: 10, bytes: 1000, now: Self.time(1), sinceStart: false)
        let second = rates.measure(frames: 40, bytes: 3000, now: Self.time(2), sinceStart: false)
        #expect(second.frames == 30)
        #expect(second.bits == 16_000)
        let total = rates.measure(frames: 70, bytes: 5000, now: Self.time(3), sinceStart: true)
        #expect(total.frames == 30, "60 frames in the 2 s since the first bytes")
    }
}
