import BeamMedia
import Testing

/// Times and durations saturate at the limits of their range.
struct MediaTimeTests {
    private static let ends: [Int64] = [.min, .min + 1, -1, 0, 1, 1 << 62, .max - 1, .max]

    @Test func differencesAndSumsSaturate() {
        for first in Self.ends {
            for second in Self.ends {
                let (a, b) = (MediaTime(nanoseconds: first), MediaTime(nanoseconds: second))
                let (wide, interval) = (Double(first) - Double(second), Duration.nanoseconds(second))
                #expect(abs((a - b).inSeconds - max(-9.3e9, min(9.3e9, wide / 1e9))) < 1e8)
                #expect((a < b) == ((a - b) < .zero))
                #expect(second < 0 ? a + interval <= a : a + interval >= a)
                #expect(second > 0 ? a - interval <= a : a - interval >= a)
            }
        }
        #expect(MediaTime.distantFuture + .seconds(1) == .distantFuture)
        #expect(MediaTime.distantPast - .seconds(1) == .distantPast)
        #expect(MediaTime.distantPast + .seconds(-1) == .distantPast)
        #expect(MediaTime.zero - .nanoseconds(Int64.min) == .distantFuture)
    }

    @Test func longIntervalsAreClamped() {
        #expect(Duration.seconds(Int64.max).inNanoseconds == .max)
        #expect(Duration.seconds(Int64.min).inNanoseconds == .min)
        // The seconds alone fit; with the fraction they don't.
        #expect((Duration.seconds(9_223_372_036) + .milliseconds(999)).inNanoseconds == .max)
        #expect(Duration.nanoseconds(Int64.min).inNanoseconds == .min)
    }

    @Test func nanIsZeroAndOtherValuesAreClamped() {
        #expect(Int(clamping: Double.nan) == 0)
        #expect(Int(clamping: Double.infinity) == .max && Int(clamping: -Double.infinity) == .min)
        #expect(Int64(clamping: 9.3e18) == .max && Int64(clamping: 0x1p63) == .max && Int64(clamping: -0x1p63) == .min)
        #expect(UInt32(clamping: -0.5) == 0 && UInt32(clamping: -3.0) == 0 && UInt32(clamping: 4.9e9) == .max)
        #expect(Int(clamping: 3.99) == 3 && Int(clamping: -3.99) == -3)
        #expect(Duration.seconds(clamping: 1e300) == .nanoseconds(Int64.max))
        #expect(Duration.seconds(clamping: .nan) == .zero && Duration.seconds(clamping: 0.25) == .milliseconds(250))
    }
}
