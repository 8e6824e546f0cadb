import BeamMedia
import BeamSession
import Testing

@testable import BeamNetwork

/// How far an event loop is behind, in virtual time.
struct LoadMeterTests {
    private func time(_ milliseconds: Int64) -> MediaTime { .zero + .milliseconds(milliseconds) }

    @Test func theShareOfWorkAndTheWorstDelayOfAWindowAreMeasured() throws {
        var meter = LoadMeter()
        meter.begin(now: time(0))
        let first = meter.end(now: time(50))
        meter.due(time(90), now: time(100))
        meter.begin(now: time(100))
        // Within work that goes on.
        meter.begin(now: time(120))
        let second = meter.end(now: time(150))
        #expect(first == nil && second == nil)
        meter.due(time(220), now: time(225))
        meter.begin(now: time(225))
        let load = meter.end(now: time(250))
        #expect(load == MachineLoad(lateness: .milliseconds(10), busy: 0.5))
        // The next window begins anew.
        meter.begin(now: time(1000))
        let next = meter.end(now: time(1250))
        #expect(next == MachineLoad(lateness: .zero, busy: 0.25))
    }

    @Test func whatReadingTakesCountsForNothing() {
        var meter = LoadMeter()
        for start in stride(from: Int64(0), to: 300, by: 100) {
            meter.beginReading(now: time(start))
            meter.beginReading(now: time(start + 50))
            // It makes everything else late.
            meter.due(time(start), now: time(start + 95))
            meter.begin(now: time(start + 95))
            if let load = meter.end(now: time(start + 100)) {
                #expect(load.lateness == .zero && load.busy == 0.05)
                return
            }
        }
        Issue.record("no measurement")
    }

    @Test func wildClocksDoNotTrap() {
        var meter = LoadMeter()
        meter.due(.distantPast, now: .distantFuture)
        meter.beginReading(now: .distantFuture)
        meter.begin(now: .distantPast)
        _ = meter.end(now: .distantFuture)
        meter.begin(now: .distantFuture)
        let load = meter.end(now: .distantPast)
        #expect(load == nil)
    }
}
