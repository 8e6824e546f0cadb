import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// `PathControl` without a network: its answers to single inputs.
struct PathControlUnitTests {
    private func at(_ milliseconds: Int64) -> MediaTime {
        MediaTime(nanoseconds: 1_000_000_000 + milliseconds * 1_000_000)
    }

    /// A report of a datagram that was sent at `sent`; the viewer's clock is 500 s ahead.
    private func report(sent: MediaTime) -> PathControl.Report {
        PathControl.Report(newestSent: sent, newestArrived: sent + .seconds(500), holdTime: .zero)
    }

    @Test func anUnusedPathIsNotSilent() {
        var control = PathControl(limit: 8_000_000)
        #expect(control.deadline == nil && control.roundTrip == nil && control.loss == 0)
        #expect(control.rate == 8_000_000 && !control.isBound)
        #expect(control.burst == 12_000 && control.pacingRate == 20_000_000 && control.congestionWindow == 14_400)
        control.timePassed(now: at(1000))
        #expect(!control.isSilent)
        control.limit = 4_000_000
        #expect(control.rate == 4_000_000 && !control.isBound)
    }

    @Test func bytesSentBeforeAnAcknowledgedPartAreNotInFlight() {
        var control = PathControl(limit: 8_000_000)
        for step in 0..<10 as Range<Int64> { control.sent(bytes: 1000, now: at(step * 2)) }
        #expect(control.inFlight == 10_000)
        control.reported(report(sent: at(8)), now: at(18))
        #expect(control.inFlight == 5000)
        #expect(control.roundTrip == .milliseconds(10))
        // An older report changes nothing.
        control.reported(report(sent: at(4)), now: at(19))
        #expect(control.inFlight == 5000)
        control.reported(report(sent: at(18)), now: at(28))
        #expect(control.inFlight == 0 && control.deadline == nil)
    }

    @Test func aLostTailDoesNotBlockTheWindow() throws {
        var control = PathControl(limit: 8_000_000)
        for step in 0..<20 as Range<Int64> { control.sent(bytes: 1000, now: at(step * 2)) }
        control.reported(report(sent: at(18)), now: at(40))
        #expect(control.inFlight == 10_000)
        let first = try #require(control.deadline)
        #expect(first > at(90) && first < at(240))
        control.timePassed(now: first)
        #expect(control.inFlight == 0 && !control.isSilent && control.congestionWindow > 0)
        // More bytes are sent, and no report comes.
        control.sent(bytes: 5000, now: first)
        let second = try #require(control.deadline)
        #expect(second <= at(440))
        control.timePassed(now: second)
        #expect(control.isSilent && control.congestionWindow == 0 && control.inFlight == 0 && control.deadline == nil)
        // A probe is acknowledged.
        control.sent(bytes: 100, now: at(900))
        #expect(control.inFlight == 0)
        control.reported(report(sent: at(900)), now: at(910))
        #expect(!control.isSilent && control.rate == 8_000_000 && control.congestionWindow > 0)
    }

    @Test func eachLayerHasItsOwnFrameNumbers() {
        var control = PathControl(limit: 8_000_000)
        for (number, layer) in [(9_000, 0), (3, 1)] as [(UInt32, Int)] {
            if layer == 1 { control.layerChanged() }
            var report = report(sent: at(5))
            report.arrivals.append(
                PathControl.FrameArrival(
                    number: number, firstSent: at(0), lastSent: at(5), firstArrived: at(5), lastArrived: at(9),
                    sentBytes: 9000, bytes: 9000, newBytes: 9000, isComplete: true))
            control.reported(report, now: at(12))
            #expect(control.newestFrame == number)
        }
    }

    /// Any values that a viewer may send.
    @Test func anyReportLeavesPlausibleEstimates() {
        var control = PathControl(limit: 8_000_000)
        var random = SeededGenerator(seed: 5)
        func time(_ random: inout SeededGenerator) -> MediaTime {
            MediaTime(nanoseconds: Int64.random(in: 0...20_000_000_000, using: &random))
        }
        func theirs(_ random: inout SeededGenerator) -> MediaTime {
            random.chance(0.2)
                ? MediaTime(nanoseconds: Int64(bitPattern: random.next())) : time(&random)
        }
        for _ in 0..<5000 {
            control.sent(bytes: Int.random(in: 0...2000, using: &random), now: time(&random))
            var report = PathControl.Report(
                newestSent: time(&random), newestArrived: theirs(&random),
                holdTime: .nanoseconds(Int64(bitPattern: random.next()) >> Int64.random(in: 0...40, using: &random)))
            report.expected = Int.random(in: -50...50, using: &random)
            report.lost = Int.random(in: -50...80, using: &random)
            for _ in 0..<3 {
                report.arrivals.append(
                    PathControl.FrameArrival(
                        number: UInt32.random(in: 0...UInt32.max, using: &random), firstSent: time(&random),
                        lastSent: time(&random), firstArrived: theirs(&random), lastArrived: theirs(&random),
                        sentBytes: Int.random(in: 0...300_000, using: &random),
                        bytes: Int.random(in: 0...300_000, using: &random),
                        newBytes: Int.random(in: 0...300_000, using: &random), isComplete: random.chance(0.5)))
            }
            let now = time(&random)
            control.reported(report, now: now)
            control.timePassed(now: time(&random))
            #expect((128_000...8_000_000).contains(control.rate))
            #expect(control.pacingRate >= control.rate && control.pacingRate <= 200_000_000)
            #expect(control.congestionWindow >= 0 && control.inFlight >= 0 && (0...1).contains(control.loss))
        }
    }
}
