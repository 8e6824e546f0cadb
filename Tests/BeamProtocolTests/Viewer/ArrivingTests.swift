import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// What a viewer derives from arriving frames: requests, playout and reports.
struct ArrivingTests {
    private func number(_ value: UInt32) -> SequenceNumber { SequenceNumber(value) }

    // MARK: PlayoutBuffer

    private func frame(
        _ number: UInt32, captured: Double?, waited: Double = 0, encoded: Double = 0, arrived: Double = 0
    ) -> ReceivedFrame {
        ReceivedFrame(
            unit: TestFrame.make(number).unit, number: number, firstArrival: .at(arrived), lastArrival: .at(arrived),
            captureTime: captured.map { .at($0) },
            stages: StageTimes(waited: .at(waited) - .zero, encode: .at(encoded) - .zero))
    }

    /// Plays frames with these transit times in ms. Answers each frame's age in ms when it comes out; expects them in
    /// order.
    private func play(
        _ buffer: inout PlayoutBuffer, transits: [Double], isPathBound: Bool = false
    ) -> [Double] {
        var ages: [Double] = []
        var shown: [UInt32] = []
        var last = MediaTime.zero
        func take(_ buffer: inout PlayoutBuffer, until end: MediaTime) {
            while let due = buffer.deadline, due <= end {
                last = max(last, due)
                guard let frame = buffer.next(now: due) else { break }
                let arrival = frame.lastArrival
                ages.append((max(due, arrival) - (frame.captureTime ?? arrival)).inSeconds * 1000)
                shown.append(frame.number)
            }
        }
        for (index, transit) in transits.enumerated() {
            let captured = 1 + Double(index) / 30
            let frame = frame(UInt32(index), captured: captured, arrived: captured + transit / 1000)
            take(&buffer, until: frame.lastArrival)
            buffer.put(frame, isPathBound: isPathBound, now: frame.lastArrival)
        }
        take(&buffer, until: .at(1000))
        #expect(shown == (0..<UInt32(transits.count)).map { $0 })
        #expect(buffer.deadline == nil)
        return ages
    }

    @Test func withoutJitterNoFrameWaits() {
        var buffer = PlayoutBuffer()
        let ages = play(&buffer, transits: (0..<200).map { 8 + Double($0 % 5) })
        #expect(ages.enumerated().allSatisfy { abs($1 - (8 + Double($0 % 5))) < 0.01 })
        #expect(buffer.delay == .zero)
    }

    @Test func thePlayoutDelayCoversTheJitterAndNoMore() {
        var buffer = PlayoutBuffer()
        var random = SeededGenerator(seed: 5)
        let transits = (0..<300).map { _ in 10 + Double.random(in: 0...30, using: &random) }
        let later = play(&buffer, transits: transits).dropFirst(60)
        // Each frame's age is about the 90th percentile of the transit times.
        #expect(later.allSatisfy { (30...45).contains($0) }, "\(later.min() ?? 0) to \(later.max() ?? 0)")
        #expect(buffer.delay > .milliseconds(20) && buffer.delay <= .milliseconds(32))
        // When the jitter ends, the delay shrinks to 0.
        #expect(play(&buffer, transits: [Double](repeating: 10, count: 300)).last.map { $0 < 11 } == true)
        #expect(buffer.delay == .zero)
    }

    /// Frames with a retransmitted part come a round trip later (14 ms here). Up to the tolerance they need not wait.
    @Test func thePlayoutDelayCoversRetransmissionsUpToATolerance() {
        var buffer = PlayoutBuffer()
        let ages = play(&buffer, transits: (0..<200).map { $0 % 8 == 0 ? 24 : 10 }).dropFirst(60)
        #expect(ages.allSatisfy { abs($0 - 18) < 0.01 || abs($0 - 24) < 0.01 })
        #expect(buffer.delay == .milliseconds(8))
    }

    @Test func aFixedDelayStays() {
        var buffer = PlayoutBuffer(fixed: .milliseconds(100))
        let transits = (0..<100).map { 10 + Double($0 % 7) * 5 }
        #expect(play(&buffer, transits: transits).dropFirst(10).allSatisfy { abs($0 - 110) < 0.01 })
        #expect(play(&buffer, transits: transits, isPathBound: true).dropFirst(70).allSatisfy { abs($0 - 110) < 0.01 })
        var none = PlayoutBuffer(fixed: .zero)
        #expect(zip(play(&none, transits: transits), transits).allSatisfy { abs($0 - $1) < 0.01 })
        #expect(PlayoutBuffer(fixed: .seconds(9)).delay == PlayoutBuffer.allowed.upperBound)
        #expect(PlayoutBuffer(fixed: .seconds(-9)).delay == .zero)
    }

    @Test func onABoundPathNoFrameWaits() {
        var buffer = PlayoutBuffer()
        let transits = (0..<120).map { 20 + Double($0 % 6) * 5 }
        #expect(zip(play(&buffer, transits: transits, isPathBound: true), transits).allSatisfy { abs($0 - $1) < 0.01 })
        #expect(buffer.delay == .zero)
    }

    /// Time before the frame was sent, waiting for the encoder or in it, isn't network jitter.
    @Test func onlyTransitTimeCounts() {
        var buffer = PlayoutBuffer()
        for index in 0..<100 {
            let waited = Double(index % 4) * 0.015
            let encoded = Double(index % 3) * 0.03
            let captured = 1 + Double(index) / 10
            let now = MediaTime.at(captured + waited + encoded + 0.01)
            buffer.put(frame(UInt32(index), captured: captured, waited: waited, encoded: encoded), now: now)
            while buffer.next(now: now) != nil {}
        }
        #expect(buffer.delay == .zero && buffer.deadline == nil)
        // A frame without a capture time never waits.
        buffer.put(frame(1000, captured: nil), now: .at(50))
        #expect(buffer.next(now: .at(50))?.number == 1000)
    }

    // MARK: ArrivalLog

    private func report(_ log: inout ArrivalLog, _ now: MediaTime) throws -> Feedback.Report {
        let report = log.take(now: now)
        return try #require(report)
    }

    @Test func aReportCoversArrivalsSinceTheLastOne() throws {
        var log = ArrivalLog()
        #expect(log.deadline == nil && log.take(now: .at(1)) == nil)
        for part: UInt16 in 0..<3 {
            log.note(.arrived(number(4), part: part, wasMissed: false, at: .at(1 + Double(part) / 10_000)))
        }
        let due = try #require(log.deadline)
        #expect(due > .at(1) && due <= .at(1.005), "the first reports come soon")
        #expect(log.take(now: .at(1.0003)) == nil)
        log.note(.arrived(number(5), part: 7, wasMissed: false, at: .at(1.004)))
        let report = try self.report(&log, .at(1.005))
        #expect(report.time == .at(1.005) && report.expected == 4 && report.missed == 0)
        #expect(
            report.arrivals == [
                Feedback.Arrival(frame: number(4), received: 3, highest: 2, firstAge: 5000, lastAge: 4800),
                Feedback.Arrival(frame: number(5), received: 1, highest: 7, firstAge: 1000, lastAge: 1000),
            ])
        #expect(log.deadline == nil, "nothing more to tell")
        log.note(.arrived(number(5), part: 8, wasMissed: false, at: .at(1.010)))
        let next = try self.report(&log, .at(1.1))
        #expect(next.expected == 5 && next.arrivals.map(\.frame) == [number(5)])
        #expect(next.arrivals.first?.received == 2)
    }

    @Test func afterTheFirstReportsThereAre40ASecond() {
        var log = ArrivalLog()
        var reports: [MediaTime] = []
        for millisecond in 0..<2000 {
            let now = MediaTime.at(Double(millisecond) / 1000)
            if let due = log.deadline, due <= now, log.take(now: now) != nil { reports.append(now) }
            log.note(.arrived(number(UInt32(millisecond / 33)), part: 0, wasMissed: false, at: now))
        }
        #expect((75...90).contains(reports.count))
        let pauses = zip(reports, reports.dropFirst()).map { $1 - $0 }.dropFirst(8)
        #expect(pauses.allSatisfy { $0 <= .milliseconds(27) })
    }

    @Test func latePartsDoNotCountAsLost() throws {
        var log = ArrivalLog()
        log.note(.arrived(number(1), part: 0, wasMissed: false, at: .at(1)))
        log.note(.missed(3, at: .at(1)))
        log.note(.arrived(number(1), part: 4, wasMissed: false, at: .at(1)))
        var report = try self.report(&log, .at(1.1))
        #expect(report.expected == 5 && report.missed == 3)
        log.note(.arrived(number(1), part: 2, wasMissed: true, at: .at(1.1)))
        report = try self.report(&log, .at(1.2))
        #expect(report.expected == 5 && report.missed == 2)
        #expect(report.arrivals.first?.received == 3)
    }

    /// Reports get lost, too: the last arrivals are reported again for a while, then reports end.
    @Test func underLossReportsAreRepeatedForAWhile() throws {
        var log = ArrivalLog()
        for frame: UInt32 in 0..<4 { log.note(.arrived(number(frame), part: 0, wasMissed: false, at: .at(1))) }
        log.note(.missed(1, at: .at(1)))
        var told: [[SequenceNumber]] = []
        var end = MediaTime.zero
        while let due = log.deadline, due < .at(10) {
            if let report = log.take(now: due) { told.append(report.arrivals.map(\.frame)) }
            end = due
        }
        #expect(told.first == (0..<4).map(number))
        #expect(told.count > 10 && told.dropFirst().dropLast().allSatisfy { $0 == [number(2), number(3)] })
        #expect(end > .at(1.5) && end < .at(2.5))
    }

    @Test func aReportsSizeIsBounded() throws {
        var log = ArrivalLog()
        for frame: UInt32 in 0..<200 { log.note(.arrived(number(frame), part: 0, wasMissed: false, at: .at(1))) }
        var told: [SequenceNumber] = []
        while let due = log.deadline, let report = log.take(now: due) {
            #expect(report.arrivals.count <= Feedback.Report.mostArrivals)
            #expect(report.expected == 200)
            told += report.arrivals.map(\.frame)
        }
        // The newest arrival is always in it, and none is in it twice.
        #expect(told.count <= 64 && told.last == number(199) && Set(told).count == told.count)
        log.note(.renumbered)
        #expect(log.deadline == nil)
        log.reportNow(now: .at(3))
        let report = try self.report(&log, .at(3))
        #expect(report.arrivals.isEmpty && report.expected == 200, "the totals continue")
    }

    // MARK: PartRequests

    @Test func missingPartsAreRequestedOnceARoundTrip() {
        var requests = PartRequests()
        requests.expect(roundTrip: .milliseconds(10))
        let due = requests.missing(number(1), below: 5, now: .at(1))
        #expect(due > .at(1) && due <= .at(1.01), "the part may only have been overtaken")
        #expect(requests.missing(number(1), below: 5, now: .at(1.001)) == due)
        #expect(requests.ask(number(1), now: due) == 0)
        let again = requests.missing(number(1), below: 5, now: due)
        #expect(again > due + .milliseconds(10) && again < due + .milliseconds(40))
        // Parts 5 to 8 turn out to be missing, too: only they are requested.
        let more = requests.missing(number(1), below: 9, now: due + .milliseconds(1))
        #expect(more < again)
        #expect(requests.ask(number(1), now: more) == 5)
        #expect(requests.ask(number(1), now: again) == 0, "then all parts are requested")
        #expect(requests.since(number(1)) != nil)
        requests.forget(before: number(2))
        #expect(requests.isEmpty && requests.since(number(1)) == nil)
    }

    /// Times are whole nanoseconds, durations aren't. What `missing` says is due must be due for `ask`, too, or the
    /// session never comes to rest.
    @Test func aDueRequestIsSent() {
        var random = SeededGenerator(seed: 11)
        for _ in 0..<300 {
            var requests = PartRequests()
            for _ in 0..<6 {
                // Sums that end between two nanoseconds.
                let trip = Duration(
                    secondsComponent: 0,
                    attosecondsComponent: Int64.random(
                        in: 1_000_000_000_000_000...90_000_000_000_000_000, using: &random))
                requests.partsArrived(apart: trip / 7)
                _ = requests.missing(number(9), below: 3, now: .at(0.5))
                _ = requests.ask(number(9), now: .at(0.5))
                requests.answered(number(9), now: .at(0.5) + trip)
                requests.forget(number(9))
            }
            var now = MediaTime.at(1)
            var due = requests.missing(number(1), below: 4, now: now)
            for _ in 0..<20 {
                now = max(now, due)
                _ = requests.ask(number(1), now: now)
                due = requests.missing(number(1), below: 4, now: now)
                #expect(due > now)
                guard due > now else { return }
            }
        }
    }

    @Test func theToleranceFollowsLateParts() {
        var requests = PartRequests()
        let quiet = requests.timing.tolerance
        #expect(quiet <= .milliseconds(3))
        _ = requests.missing(number(1), below: 4, now: .at(1))
        let isLate = requests.arrivedLate(number(1), part: 2, now: .at(1.02))
        #expect(!isLate, "the part hadn't been requested")
        #expect(requests.timing.tolerance > .milliseconds(20) && requests.timing.tolerance < .milliseconds(40))
        #expect(requests.timing.silence >= requests.timing.tolerance)
        #expect(requests.arrivedLate(number(1), part: 4, now: .at(1.02)) == false, "that part wasn't missing")
        _ = requests.ask(number(1), now: .at(1.03))
        #expect(
            requests.arrivedLate(number(1), part: 3, now: .at(1.04)) == false, "the part hadn't been counted as missed")
        requests.counted(number(1), below: 4)
        #expect(requests.arrivedLate(number(1), part: 3, now: .at(1.04)) == true)
        // Without further reordering the tolerance shrinks again.
        for second in 2...60 {
            _ = requests.missing(number(2), below: 1, now: .at(Double(second)))
            requests.forget(number(2))
        }
        #expect(requests.timing.tolerance <= quiet + .milliseconds(1))
    }

    @Test func answersMeasureTheRoundTrip() {
        var timing = RequestTiming()
        timing.expect(roundTrip: .milliseconds(2))
        let first = timing.repeatInterval
        #expect(first < .milliseconds(15))
        for _ in 0..<40 { timing.answered(after: .milliseconds(80)) }
        #expect(timing.repeatInterval > .milliseconds(80) && timing.repeatInterval < .milliseconds(130))
        #expect(timing.timeout >= timing.repeatInterval)
        timing.expect(roundTrip: .milliseconds(2))
        #expect(timing.repeatInterval > .milliseconds(80), "the measurement has precedence")
        timing.answered(after: .seconds(100))
        timing.answered(after: .zero)
        #expect(timing.repeatInterval < .milliseconds(130))
        // Parity is in flight that may recover the missing parts, so requests wait longer.
        let without = timing.wait(now: .at(5))
        timing.parityArrived(now: .at(5))
        #expect(timing.wait(now: .at(5.1)) > without)
        #expect(timing.wait(now: .at(9)) == without)
    }

    // MARK: KeyframeRequest

    @Test func aRepeatedKeyframeRequestIsCountedOnce() {
        var request = KeyframeRequest()
        #expect(request.deadline == nil)
        #expect(request.take(now: .at(1)) == false)
        request.update(isWanted: true, now: .at(1))
        let said = [1, 1.05, 1.1, 1.15, 1.2].map { request.take(now: .at($0)) }
        #expect(said == [true, false, true, false, true])
        #expect(request.count == 1)
        request.update(isWanted: false, now: .at(1.2))
        #expect(request.deadline == nil)
        #expect(request.take(now: .at(2)) == false)
        request.update(isWanted: true, now: .at(2))
        #expect(request.count == 1, "it counts only when it is sent")
        #expect(request.take(now: .at(2)) == true)
        #expect(request.count == 2)
    }
}
