import BeamMedia
import Foundation
import Testing

@testable import BeamCapture

/// When the screen is grabbed, in virtual time.
struct GrabBudgetTests {
    private static let interval = Duration.nanoseconds(1_000_000_000 / 60)

    /// Simulates content that changes at `rate` Hz. Returns the delay of each grab after the newest change that it
    /// shows, in milliseconds. With `phase`, 20 other changes come before and end `phase` periods before the first.
    private static func delays(rate: Double, seconds: Double, jitter: Double = 0, phase: Double? = nil) -> [Double] {
        var budget = GrabBudget(interval: interval)
        var delays: [Double] = []
        let period = 1000 / rate
        let begin = 1000.0
        let others: [Double] =
            phase.map { phase in
                (0..<20).map { begin - (Double($0) / 3 + phase) * period }.reversed()
            } ?? []
        let changes: [Double] =
            others
            + (0..<Int(seconds * rate)).map { number in
                begin + Double(number) * period + jitter * (1 + sin(Double(number) * 2.399))
            }
        var index = 0
        while index < changes.count {
            let change = MediaTime(nanoseconds: Int64(changes[index] * 1e6))
            var now = change
            budget.changed(now: now)
            now = max(now, budget.due)
            budget.grabbed(now: now)
            // The grab shows the newest change at its time.
            let shown = changes.lastIndex { $0 <= Double(now.nanoseconds) / 1e6 + 1e-5 } ?? index
            delays.append(max(0, Double(now.nanoseconds) / 1e6 - changes[shown]))
            index = max(shown, index) + 1
        }
        return delays
    }

    @Test func aSlightlyFasterScreenIsGrabbedWithoutDelay() {
        let delays = Self.delays(rate: 60.1, seconds: 60)
        #expect(delays.sorted()[delays.count / 2] < 0.001)
        #expect(delays.count { $0 > 1 } < delays.count / 50)
        #expect(Double(delays.count) / 60 > 59.5)
    }

    @Test func aScreenWithJitterIsGrabbedWithoutDelay() {
        let delays = Self.delays(rate: 59.9, seconds: 60, jitter: 2)
        #expect(delays.count { $0 > 1 } < delays.count / 50)
        #expect(Double(delays.count) / 60 > 59)
    }

    /// A moving pointer uses up the credit. Content after that must not stay late while its rate and the frame rate are
    /// nearly equal.
    @Test(arguments: [59.94, 60, 60.1], [0.1, 0.3, 0.5, 0.7, 0.9])
    func otherChangesLeaveNoLastingDelay(rate: Double, phase: Double) {
        let delays = Self.delays(rate: rate, seconds: 10, phase: phase).dropFirst(30)
        #expect(delays.count { $0 > 1 } < delays.count / 50, "\(delays)")
        #expect(Double(delays.count) / 10 > 55)
    }

    @Test func aMuchFasterScreenIsGrabbedAtTheFrameRate() {
        for rate in [75.0, 100, 144, 1000] {
            let count = Self.delays(rate: rate, seconds: 30).count
            #expect(abs(Double(count) / 30 - 60) < 1.5, "\(rate) Hz")
        }
    }

    @Test func afterAPauseTheScreenIsGrabbedAtOnce() {
        var budget = GrabBudget(interval: Self.interval)
        for second in 0..<10 {
            let now = MediaTime.zero + .seconds(second)
            budget.changed(now: now)
            #expect(budget.due <= now)
            budget.grabbed(now: now)
        }
    }
}
