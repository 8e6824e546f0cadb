import BeamMedia
import Foundation
import Testing

@testable import BeamCapture

/// When the screen is looked at, in virtual time.
struct LookBudgetTests {
    private static let interval = Duration.nanoseconds(1_000_000_000 / 60)

    /// Content that changes at that rate for so long: how long each look comes after the change it shows, in
    /// milliseconds, and how many there are. Before it, something else changes many times, and ends `phase` of a period before.
    private static func delays(rate: Double, seconds: Double, jitter: Double = 0, phase: Double? = nil) -> [Double] {
        var budget = LookBudget(interval: interval)
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
            budget.want(now: now)
            now = max(now, budget.due)
            budget.look(now: now)
            // It shows the newest of the changes that have come by then.
            let shown = changes.lastIndex { $0 <= Double(now.nanoseconds) / 1e6 + 1e-5 } ?? index
            delays.append(max(0, Double(now.nanoseconds) / 1e6 - changes[shown]))
            index = max(shown, index) + 1
        }
        return delays
    }

    @Test func aSlightlyFasterScreenIsSeenAtOnce() {
        let delays = Self.delays(rate: 60.1, seconds: 60)
        #expect(delays.sorted()[delays.count / 2] < 0.001)
        #expect(delays.count { $0 > 1 } < delays.count / 50)
        #expect(Double(delays.count) / 60 > 59.5)
    }

    @Test func unevenScreensAreSeenAtOnce() {
        let delays = Self.delays(rate: 59.9, seconds: 60, jitter: 2)
        #expect(delays.count { $0 > 1 } < delays.count / 50)
        #expect(Double(delays.count) / 60 > 59)
    }

    /// A pointer that moves uses looks up. What goes on after that isn't late for as long as the two rates are nearly the same.
    @Test(arguments: [59.94, 60, 60.1], [0.1, 0.3, 0.5, 0.7, 0.9])
    func whatElseChangedLeavesNoDelayBehind(rate: Double, phase: Double) {
        let delays = Self.delays(rate: rate, seconds: 10, phase: phase).dropFirst(30)
        #expect(delays.count { $0 > 1 } < delays.count / 50, "\(delays)")
        #expect(Double(delays.count) / 10 > 55)
    }

    @Test func aMuchFasterScreenIsSeenAsOftenAsAllowed() {
        for rate in [75.0, 100, 144, 1000] {
            let count = Self.delays(rate: rate, seconds: 30).count
            #expect(abs(Double(count) / 30 - 60) < 1.5, "\(rate) Hz")
        }
    }

    @Test func afterARestItIsSeenAtOnce() {
        var budget = LookBudget(interval: Self.interval)
        for second in 0..<10 {
            let now = MediaTime.zero + .seconds(second)
            budget.want(now: now)
            #expect(budget.due <= now)
            budget.look(now: now)
        }
    }
}
