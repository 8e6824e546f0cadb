import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// What a host remembers of sent frames, and what it retransmits.
struct RetransmissionTests {
    private func began(_ frames: inout DepartureLog, _ number: UInt32, parts: Int = 4, at time: Double) {
        frames.began(
            SequenceNumber(number), isKeyframe: false, partCount: parts, length: parts * 1200, now: .at(time))
    }

    // MARK: DepartureLog

    @Test func aPartsDepartureIsThatOfItsBurst() throws {
        var frames = DepartureLog()
        began(&frames, 7, parts: 10, at: 1)
        #expect(frames.departure(of: SequenceNumber(7), part: 0) == nil, "no part has left yet")
        frames.sent(upTo: 4, now: .at(1))
        frames.sent(upTo: 9, now: .at(1.5))
        frames.sent(upTo: 10, now: .at(2))
        began(&frames, 8, at: 3)
        frames.sent(upTo: 4, now: .at(3))
        for (part, time, parts) in [(0, 1.0, 4), (3, 1.0, 4), (4, 1.5, 9), (8, 1.5, 9), (9, 2.0, 10)] {
            let departure = try #require(frames.departure(of: SequenceNumber(7), part: part))
            #expect(departure.time == .at(time) && departure.parts == parts)
        }
        #expect(frames.departure(of: SequenceNumber(7), part: 10) == nil)
        #expect(frames.departure(of: SequenceNumber(6), part: 0) == nil)
        #expect(frames.departure(of: SequenceNumber(9), part: 0) == nil)
        let frame = try #require(frames.frame(SequenceNumber(7)))
        #expect(frame.sent == 10 && frame.firstSent == .at(1) && frame.lastSent == .at(2))
    }

    @Test func onlyTheLastDeparturesAreKept() throws {
        var limits = DepartureLog.Limits()
        limits.departures = 5
        var frames = DepartureLog(limits)
        for number: UInt32 in 0..<9 {
            began(&frames, number, at: Double(number))
            frames.sent(upTo: 2, now: .at(Double(number)))
            frames.sent(upTo: 4, now: .at(Double(number) + 0.5))
            for old in 0...number {
                let (first, last) = (0, 3)
                let left = [first, last].map { frames.departure(of: SequenceNumber(old), part: $0)?.time }
                // The last five bursts: two of this frame, two of the frame before, and the end of the one before that.
                switch number - old {
                case 0, 1: #expect(left == [.at(Double(old)), .at(Double(old) + 0.5)])
                case 2: #expect(left[1] == .at(Double(old) + 0.5))
                default: #expect(left == [nil, nil])
                }
            }
        }
    }

    @Test func framesOlderThan800msAreNotRetransmitted() {
        var frames = DepartureLog()
        for number: UInt32 in 0..<30 {
            began(&frames, number, at: Double(number) / 30)
            frames.sent(upTo: 4, now: .at(Double(number) / 30))
        }
        let now = MediaTime.at(29.0 / 30)
        #expect(frames.resendable(SequenceNumber(29), now: now) != nil)
        #expect(frames.resendable(SequenceNumber(6), now: now) != nil, "0.77 s")
        #expect(frames.resendable(SequenceNumber(4), now: now) == nil, "0.83 s")
        // Its departure is still known.
        #expect(frames.frame(SequenceNumber(0)) != nil)
        #expect(frames.departure(of: SequenceNumber(0), part: 0)?.time == .zero)
        #expect(frames.resendable(SequenceNumber(29), now: now + .seconds(1)) == nil)
    }

    @Test func bytesAndFramesAreBounded() {
        var limits = SentFrames.Limits()
        limits.bytes = 20_000
        limits.frames = 4
        var sent = SentFrames(limits)
        func add(_ number: UInt32, bytes: Int = 4000, at time: Double = 0) {
            sent.add(
                TestFrame.make(number, reference: number &- 1, bytes: bytes), number: SequenceNumber(number),
                pushed: .at(time))
        }
        for number: UInt32 in 0..<100 {
            add(number)
            let held = (0...number).filter { sent[SequenceNumber($0)] != nil }
            #expect(held == Array(held.first!...number), "the oldest are removed first")
            #expect(held.count == min(4, Int(number) + 1))
        }
        // A frame larger than the limit can still be retransmitted while it is the newest.
        add(100, bytes: 30_000)
        #expect(sent[SequenceNumber(100)] != nil && sent[SequenceNumber(99)] == nil)
        add(101, at: 5)
        #expect(sent[SequenceNumber(100)] == nil, "too old")

        var frames = DepartureLog()
        for number: UInt32 in 0..<1000 { began(&frames, number, at: 0) }
        #expect((0..<1000).count { frames.frame(SequenceNumber($0)) != nil } <= 256)
        frames.forgetAll()
        #expect(frames.resendable(SequenceNumber(999), now: .zero) == nil)
        #expect(frames.frame(SequenceNumber(999)) != nil)
    }

    /// Frames that were left out for this viewer don't count as lost.
    @Test func framesLeftOutForThisViewerAreKnown() {
        var frames = DepartureLog()
        for number: UInt32 in [3, 5, 6, 9] {
            began(&frames, number, at: 0)
            frames.sent(upTo: 4, now: .zero)
        }
        let skipped = (0...12).filter { frames.isSkipped(SequenceNumber($0)) }
        #expect(skipped == [4, 7, 8])
        #expect([3, 5, 6, 9].allSatisfy { frames.frame(SequenceNumber($0)) != nil })
        #expect(frames.frame(SequenceNumber(7)) == nil && frames.departure(of: SequenceNumber(7), part: 0) == nil)
    }

    @Test func frameNumbersWrapAround() {
        var frames = DepartureLog()
        let numbers: [UInt32] = [.max - 1, .max, 0, 1]
        for (index, number) in numbers.enumerated() {
            began(&frames, number, at: Double(index) / 100)
            frames.sent(upTo: 4, now: .at(Double(index) / 100))
        }
        for (index, number) in numbers.enumerated() {
            #expect(frames.frame(SequenceNumber(number))?.firstSent == .at(Double(index) / 100))
            #expect(frames.departure(of: SequenceNumber(number), part: 3)?.time == .at(Double(index) / 100))
        }
        // The numbers begin anew: the entries of the same numbers are gone.
        began(&frames, 0, at: 1)
        #expect(frames.frame(SequenceNumber(1)) == nil && frames.frame(SequenceNumber(0)) != nil)
    }

    // MARK: RetransmissionQueue

    @Test func repeatedRequestsCauseOneRetransmission() {
        var queue = RetransmissionQueue()
        #expect(queue.due == nil)
        #expect(queue.request([5, 3, 5], of: SequenceNumber(1), pause: .milliseconds(20), now: .at(1)) == true)
        #expect(queue.request([3], of: SequenceNumber(1), pause: .milliseconds(20), now: .at(1)) == true)
        #expect(queue.count == 2 && queue.due == .zero)
        #expect(queue.request([3], of: SequenceNumber(2), pause: .milliseconds(20), now: .at(1)) == true)
        // One frame at a time; the parts are in order, because the last one may be shorter.
        var next = queue.next(duplicating: false, limit: 16, now: .at(1))
        #expect(next?.frame == SequenceNumber(1) && next?.parts == [3, 5])
        next = queue.next(duplicating: false, limit: 16, now: .at(1))
        #expect(next?.frame == SequenceNumber(2) && next?.parts == [3])
        #expect(queue.next(duplicating: false, limit: 16, now: .at(1)) == nil)
        // A part is retransmitted again only after `pause`, when a second request can mean a second loss.
        #expect(queue.request([3, 5], of: SequenceNumber(1), pause: .milliseconds(20), now: .at(1.019)) == true)
        #expect(queue.count == 0)
        #expect(queue.request([3, 5], of: SequenceNumber(1), pause: .milliseconds(20), now: .at(1.02)) == true)
        #expect(queue.count == 2)
        queue.removeAll()
        #expect(queue.due == nil)
    }

    @Test func theRetransmissionQueueIsBounded() {
        var limits = RetransmissionQueue.Limits()
        limits.parts = 10
        var queue = RetransmissionQueue(limits)
        #expect(queue.request(0..<10, of: SequenceNumber(1), pause: .zero, now: .zero) == true)
        #expect(
            queue.request(0..<10, of: SequenceNumber(1), pause: .zero, now: .zero) == true,
            "these parts are in the queue already")
        #expect(queue.request([10], of: SequenceNumber(1), pause: .zero, now: .zero) == false)
        #expect(queue.next(duplicating: false, limit: 4, now: .zero)?.parts == [0, 1, 2, 3])
        #expect(queue.count == 6)
    }

    @Test func aDuplicateFollowsWithin20ms() throws {
        var queue = RetransmissionQueue()
        #expect(queue.request([4, 9], of: SequenceNumber(1), pause: .milliseconds(50), now: .at(1)) == true)
        #expect(queue.next(duplicating: true, limit: 16, now: .at(1))?.parts == [4, 9])
        #expect(queue.count == 0)
        let due = try #require(queue.due)
        #expect(due > .at(1) && due < .at(1.02))
        #expect(queue.next(duplicating: true, limit: 16, now: .at(1.001)) == nil)
        #expect(queue.next(duplicating: true, limit: 16, now: due)?.parts == [4, 9])
        #expect(queue.due == nil, "a duplicate isn't duplicated")
    }

    // MARK: Retransmitted parts

    /// The same content as the first time, with the retransmission flag; a shorter last part is at the end of its
    /// burst.
    @Test func retransmittedPartsHaveTheSameContent() throws {
        let sealer = DatagramSealer(key: .golden)
        var opener = DatagramOpener(key: .golden)
        for reference in [nil, UInt32(3)] {
            let frame = TestFrame.make(4, reference: reference, bytes: 5000)
            let first = try sealedDatagrams(frame, 9, sealer)
            #expect(first.count == 5)
            for parts in [[0], [4], [1, 3], [0, 1, 2, 3, 4], [2, 4]] {
                var memory = [UInt8](repeating: 0xEE, count: 8000)
                let length = try Fragmenter.writeAgain(
                    parts, of: frame, sequence: SequenceNumber(9), sealedBy: sealer, to: &memory)
                for (index, part) in parts.enumerated() {
                    let start = index * 1200
                    let datagram = Array(memory[start..<min(start + 1200, length)])
                    #expect(datagram.count == first[part].count)
                    let (again, once) = (try opener.open(datagram).plaintext, try opener.open(first[part]).plaintext)
                    #expect(again[8] == once[8] | 4, "the retransmission flag")
                    #expect(again[..<8] == once[..<8] && again[9...] == once[9...])
                    let header = try again.withUnsafeBytes { try MediaDatagram(version2: $0).header }
                    #expect(header.isSentAgain && header.part == part)
                    #expect(!header.frame.flags.contains(.sentAgain), "the frame's own flags don't change")
                }
                opener = DatagramOpener(key: .golden)
            }
        }
    }

    // MARK: ParityPlan

    @Test func parityIsSentOnLossyPathsWithLongRoundTrips() {
        var plan = ParityPlan()
        func share(_ loss: Double, _ milliseconds: Int64) -> Double {
            plan.plan(loss: loss, roundTrip: .milliseconds(milliseconds))
            return plan.share
        }
        #expect(share(0, 500) == 0, "no loss")
        #expect(share(0.001, 500) == 0)
        #expect(share(0.3, 2) == 0, "a retransmission is cheaper")
        #expect(share(0.05, 10) == 0)
        // The share grows with the round trip and with the loss, up to 0.5.
        let trips = [10, 20, 30, 60, 200].map { share(0.1, $0) }
        #expect(trips == trips.sorted() && trips[1] > 0 && trips[4] >= 0.1)
        let losses = [0.01, 0.05, 0.1, 0.3, 0.9].map { share($0, 100) }
        #expect(losses == losses.sorted() && losses[4] == 0.5)
        #expect(share(0.01, 100) >= 0.01, "at least the loss")
    }

    @Test func parityStaysRaisedForAWhileAfterABurstOfLosses() {
        var plan = ParityPlan()
        plan.reported(expected: 4, lost: 4, now: .at(1))
        plan.plan(loss: 0.02, roundTrip: .milliseconds(100))
        let without = plan.share
        plan.reported(expected: 20, lost: 8, now: .at(1))
        plan.plan(loss: 0.02, roundTrip: .milliseconds(100))
        #expect(plan.share > 3 * without && plan.share <= 0.5)
        var last = plan.share
        for second in 2...30 {
            plan.reported(expected: 20, lost: 0, now: .at(Double(second)))
            plan.plan(loss: 0.02, roundTrip: .milliseconds(100))
            #expect(plan.share <= last)
            last = plan.share
        }
        #expect(last <= without * 1.01)
        // Impossible reports do no harm.
        plan.reported(expected: 10, lost: -5, now: .at(40))
        plan.reported(expected: 10, lost: 50, now: .at(1))
        plan.plan(loss: 5, roundTrip: .seconds(1000))
        #expect(plan.share == 0.5)
    }
}
