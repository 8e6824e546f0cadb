import Testing

@testable import beamroom

struct WordLimitTests {
    @Test func tenLinesInTenSecondsArePrinted() {
        var limit = WordLimit()
        let start = ContinuousClock.now
        let printed = (0..<600).count { limit.allows(at: start + .milliseconds(100) * $0) }
        #expect(printed == 60, "in a minute of ten a second")
        let isPrintedAgain = limit.allows(at: start + .seconds(60))
        #expect(isPrintedAgain)
    }
}
