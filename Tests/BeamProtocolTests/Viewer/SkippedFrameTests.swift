import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Disposable frames that don't arrive: left out by the host, or lost.
struct SkippedFrameTests {
    /// A frame's datagrams before sealing.
    private struct Sent {
        var cutter: FrameCutter
        var number: UInt32

        init(_ frame: EncodedFrame, _ number: UInt32, isAfterDisposable: Bool) throws {
            self.number = number
            cutter = try FrameCutter(frame, as: .version2, isAfterDisposable: isAfterDisposable)
        }

        func part(_ part: Int, isSentAgain: Bool = false) -> [UInt8] {
            var datagram = [UInt8](repeating: 0, count: cutter.length(ofPart: part))
            datagram.withUnsafeMutableBytes {
                cutter.write(part: part, sequence: SequenceNumber(number), isSentAgain: isSentAgain, to: $0)
            }
            return Array(datagram[cutter.form.prefixLength...].dropLast(cutter.form.suffixLength))
        }
    }

    /// A viewer's reassembly in virtual time: delivered frames, requests and reports.
    private struct Bench {
        var reassembler = Reassembler(canAsk: true)
        var arrivals = ArrivalLog()
        var now = MediaTime.at(1)
        var frames: [ReceivedFrame] = []
        /// The time at which each frame was delivered.
        var times: [MediaTime] = []
        var decoder = TestFrame.Decoder()
        var requests: [Feedback.Missing] = []
        var hasWantedKeyframe = false

        var statistics: ViewerStatistics { reassembler.statistics }
        var numbers: [UInt32] { frames.map(\.number) }

        mutating func insert(_ part: [UInt8]) throws {
            try part.withUnsafeBytes { _ = reassembler.insert(try MediaDatagram(version2: $0), now: now) }
            drain()
        }

        mutating func insert(_ sent: Sent, parts: Range<Int>? = nil, isSentAgain: Bool = false) throws {
            for part in parts ?? 0..<sent.cutter.partCount { try insert(sent.part(part, isSentAgain: isSentAgain)) }
        }

        /// The report that the host gets.
        mutating func told() -> Feedback.Report? {
            arrivals.reportNow(now: now)
            return arrivals.take(now: now)
        }

        mutating func advance(to end: MediaTime) { advance(to: end) { _, _ in } }

        /// Advances the time; calls `body` for each request as it is made.
        mutating func advance(
            to end: MediaTime, asked: (Feedback.Missing, inout Bench) throws -> Void
        ) rethrows {
            while true {
                let due = [
                    reassembler.deadline, reassembler.requestDeadline(now: now), arrivals.deadline,
                ].compactMap { $0 }.min()
                guard let due, due <= end else { break }
                now = max(now, due)
                reassembler.expire(now: now)
                drain()
                for missing in reassembler.takeRequests(now: now) {
                    requests.append(missing)
                    try asked(missing, &self)
                }
                note()
                _ = arrivals.take(now: now)
                if reassembler.keyframeNeededAfter != nil { hasWantedKeyframe = true }
            }
            now = max(now, end)
        }

        private mutating func drain() {
            while let frame = reassembler.nextFrame() {
                frames.append(frame)
                times.append(now)
                decoder.decode(frame)
            }
            if !frames.isEmpty, reassembler.keyframeNeededAfter != nil { hasWantedKeyframe = true }
            note()
        }

        private mutating func note() { reassembler.moveArrivalEvents(to: &arrivals) }
    }

    /// Frame 0 is a keyframe, odd frames are disposable, and each refers to the last one that isn't disposable.
    private static func encoded(_ number: UInt32, bytes: Int = 5000, isDisposable: Bool? = nil) -> EncodedFrame {
        var frame = TestFrame.make(
            number, reference: number == 0 ? nil : number % 2 == 0 ? number - 2 : number - 1, bytes: bytes,
            time: .at(1 + Double(number) / 30))
        frame.unit.isDisposable = isDisposable ?? (number % 2 == 1)
        return frame
    }

    private static func frame(_ number: UInt32, bytes: Int = 5000) throws -> Sent {
        try Sent(encoded(number, bytes: bytes), number, isAfterDisposable: number % 2 == 0 && number > 0)
    }

    /// `frame` makes five parts.
    private static let partCount = 5

    private static func time(_ number: UInt32) -> MediaTime { .at(1.01 + Double(number) / 30) }

    @Test func skippedFramesCauseNoRequestsAndNoLoss() throws {
        var bench = Bench()
        for number: UInt32 in stride(from: 0, to: 300, by: 2) {
            bench.advance(to: Self.time(number))
            try bench.insert(Self.frame(number))
        }
        bench.advance(to: bench.now + .milliseconds(50))
        #expect(bench.numbers == stride(from: 0, to: 300, by: 2).map { $0 })
        #expect(bench.times == bench.numbers.map { Self.time($0) }, "each as soon as it has arrived")
        #expect(bench.decoder.errors.isEmpty)
        #expect(bench.requests.isEmpty && !bench.hasWantedKeyframe)
        #expect(bench.statistics.skipped == 149)
        #expect(bench.statistics.lost == 0 && bench.statistics.missed == 0 && bench.statistics.dropped == 0)
        let told = bench.told()
        let report = try #require(told)
        #expect(report.missed == 0 && UInt64(report.expected) == bench.statistics.datagrams)
        #expect(bench.reassembler.bytesHeld == 0)
    }

    @Test func disposableFramesThatArriveAreDelivered() throws {
        var bench = Bench()
        for number: UInt32 in 0..<100 {
            bench.advance(to: Self.time(number))
            try bench.insert(Self.frame(number))
        }
        #expect(bench.numbers == (0..<100).map { $0 })
        #expect(bench.frames.map(\.unit.isDisposable) == (0..<100).map { $0 % 2 == 1 })
        #expect(bench.statistics.skipped == 0 && bench.decoder.errors.isEmpty)
    }

    /// Part 1 or part 4 of each disposable frame is lost, and no request is answered.
    @Test(arguments: [1, 4]) func aLostPartOfADisposableFrameDelaysNoFrame(lost: Int) throws {
        var bench = Bench()
        for number: UInt32 in 0..<100 {
            bench.advance(to: Self.time(number))
            let frame = try Self.frame(number)
            for part in 0..<Self.partCount where number % 2 == 0 || part != lost { try bench.insert(frame.part(part)) }
        }
        #expect(bench.numbers == stride(from: 0, to: 100, by: 2).map { $0 })
        #expect(bench.times == bench.numbers.map { Self.time($0) })
        #expect(bench.statistics.skipped == 49 && bench.statistics.dropped == 0 && !bench.hasWantedKeyframe)
        #expect(bench.decoder.errors.isEmpty)
        // The parts are requested, and count as missed if a later part shows that they were sent.
        #expect(Set(bench.requests.map(\.frame.value)).isSubset(of: Set(stride(from: 1, to: 100, by: 2))))
        #expect(bench.requests.count >= 49)
        bench.advance(to: bench.now + .milliseconds(20))
        let told = bench.told()
        #expect(told?.missed == (lost == 1 ? 50 : 0))
        #expect(bench.statistics.lost == (lost == 1 ? 49 : 0))
    }

    /// A retransmission that comes before the next frame is complete is in time.
    @Test func aRetransmittedPartCompletesADisposableFrame() throws {
        var bench = Bench()
        for number: UInt32 in 0..<100 {
            let frame = try Self.frame(number)
            try bench.advance(to: Self.time(number)) { missing, bench in
                let old = try Self.frame(missing.frame.value)
                for range in missing.parts { try bench.insert(old, parts: range, isSentAgain: true) }
            }
            for part in 0..<Self.partCount where number % 2 == 0 || part != 1 { try bench.insert(frame.part(part)) }
        }
        #expect(bench.numbers == (0..<99).map { $0 })
        #expect(bench.statistics.skipped == 0 && bench.statistics.missed == 49 && bench.decoder.errors.isEmpty)
    }

    /// A needed frame between two skipped ones is lost as a whole: it is requested until it comes, and is the only
    /// loss.
    @Test func aNeededFrameBetweenSkippedOnesIsRequested() throws {
        var bench = Bench()
        for number: UInt32 in [0, 2] { try bench.insert(Self.frame(number)) }
        bench.advance(to: Self.time(6))
        try bench.insert(Self.frame(6))
        bench.advance(to: Self.time(6) + .milliseconds(90))
        #expect(bench.numbers == [0, 2])
        #expect(bench.requests.count(where: { $0.frame.value == 4 }) > 1)
        // Until frame 4 is there, frame 3 may be a needed one.
        #expect(bench.requests.count(where: { $0.frame.value == 3 }) == 1)
        #expect(!bench.requests.contains { $0.frame.value == 5 })
        var told = bench.told()
        #expect(told?.missed == UInt32(Self.partCount))
        try bench.insert(Self.frame(4), isSentAgain: true)
        #expect(bench.numbers == [0, 2, 4, 6])
        #expect(bench.statistics.skipped == 3 && bench.statistics.lost == 0 && bench.decoder.errors.isEmpty)
        #expect(!bench.hasWantedKeyframe)
        bench.advance(to: bench.now + .milliseconds(20))
        told = bench.told()
        #expect(told?.missed == UInt32(Self.partCount))
    }

    /// Two frames in a row are lost and retransmitted: only then is it known that the first one was sent.
    @Test func aRetransmittedFrameCountsAsLost() throws {
        var bench = Bench()
        for number: UInt32 in 0..<3 { try bench.insert(Self.frame(number)) }
        bench.advance(to: Self.time(5))
        // Frame 3 is disposable, frame 4 isn't.
        try bench.insert(Self.frame(5))
        try bench.advance(to: Self.time(5) + .milliseconds(6)) { missing, bench in
            try bench.insert(Self.frame(missing.frame.value), isSentAgain: true)
        }
        #expect(bench.numbers == [0, 1, 2, 3, 4, 5])
        let told = bench.told()
        let report = try #require(told)
        #expect(report.missed == UInt32(2 * Self.partCount))
        #expect(report.expected == report.missed + UInt32(4 * Self.partCount))
    }

    /// Without disposable frames, a frame of which no part comes is a loss.
    @Test func withoutDisposableFramesAMissingFrameIsALoss() throws {
        var bench = Bench()
        func frame(_ number: UInt32) throws -> Sent {
            let frame = TestFrame.make(number, reference: number == 0 ? nil : number - 1, bytes: 5000)
            return try Sent(frame, number, isAfterDisposable: false)
        }
        try bench.insert(frame(0))
        try bench.insert(frame(3))
        bench.advance(to: bench.now + .milliseconds(40))
        #expect(Set(bench.requests.map(\.frame.value)) == [1, 2])
        let told = bench.told()
        #expect(told?.missed == UInt32(2 * Self.partCount))
        bench.advance(to: bench.now + .seconds(5))
        #expect(bench.hasWantedKeyframe && bench.statistics.skipped == 0)
    }

    /// Of the last frame before a rest, a disposable one, only some parts come.
    @Test func anIncompleteLastDisposableFrameIsGivenUp() throws {
        var bench = Bench()
        try bench.insert(Self.frame(0))
        try bench.insert(Self.frame(1), parts: 0..<3)
        bench.advance(to: bench.now + .seconds(10))
        #expect(bench.statistics.skipped == 1 && !bench.hasWantedKeyframe)
        let told = bench.told()
        #expect(bench.reassembler.bytesHeld == 0 && told?.missed == 0)
        try bench.insert(Self.frame(2))
        #expect(bench.numbers == [0, 2] && bench.decoder.errors.isEmpty)
    }

    @Test func aKeyframeAfterASkippedFrameIsDelivered() throws {
        var bench = Bench()
        try bench.insert(Self.frame(0))
        try bench.insert(Sent(TestFrame.make(2), 2, isAfterDisposable: true))
        #expect(bench.numbers == [0, 2])
        #expect(bench.statistics.skipped == 1 && bench.statistics.lost == 0)
    }

    @Test func frameNumbersWrapAround() throws {
        var bench = Bench()
        func frame(_ number: UInt32, _ reference: UInt32?) throws -> Sent {
            let frame = TestFrame.make(number, reference: reference, bytes: 3000)
            return try Sent(frame, number, isAfterDisposable: reference != nil)
        }
        try bench.insert(frame(.max - 1, nil))
        try bench.insert(frame(0, .max - 1))
        try bench.insert(frame(2, 0))
        #expect(bench.numbers == [UInt32.max - 1, 0, 2] && bench.statistics.skipped == 2)
    }

    // MARK: Networks

    /// The host leaves out some disposable frames, and the network loses parts, requests and answers: every needed
    /// frame is shown, and skipped frames don't count as lost.
    @Test(arguments: 1...40) func skippedFramesDoNotCountAsLost(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let loss = [0, 0.02, 0.2][seed % 3]
        let trip = Duration.milliseconds([4, 60][seed % 2])
        var bench = Bench()
        var sent: [UInt32: Sent] = [:]
        /// Ordered by arrival.
        var waiting: [(time: MediaTime, part: [UInt8])] = []
        var (left, lost): (UInt64, UInt64) = (0, 0)
        func arrive(until end: MediaTime, _ bench: inout Bench) throws {
            while true {
                let next = waiting.indices.min { waiting[$0].time < waiting[$1].time }
                let time = next.map { min(end, max(bench.now, waiting[$0].time)) } ?? end
                var answers: [(MediaTime, [UInt8])] = []
                bench.advance(to: time) { missing, bench in
                    guard let frame = sent[missing.frame.value], Double.random(in: 0..<1, using: &random) >= loss else {
                        return
                    }
                    let parts = missing.parts.isEmpty ? [0..<frame.cutter.partCount] : missing.parts
                    for part in parts.joined() where part < frame.cutter.partCount {
                        guard Double.random(in: 0..<1, using: &random) >= loss else { continue }
                        answers.append((bench.now + trip, frame.part(part, isSentAgain: true)))
                    }
                }
                waiting += answers
                guard let next, waiting[next].time <= bench.now else {
                    if answers.isEmpty, bench.now >= end { return }
                    continue
                }
                try bench.insert(waiting.remove(at: next).part)
            }
        }
        let count: UInt32 = 240
        for number in 0..<count {
            try arrive(until: Self.time(number), &bench)
            if number % 2 == 1, Double.random(in: 0..<1, using: &random) < 0.6 {
                left += 1
                continue
            }
            let frame = try Self.frame(number, bytes: Int.random(in: 200...9000, using: &random))
            sent[number] = frame
            for part in 0..<frame.cutter.partCount {
                guard number == 0 || Double.random(in: 0..<1, using: &random) >= loss else {
                    lost += 1
                    continue
                }
                waiting.append((bench.now + trip / 2 + .microseconds(50 * part), frame.part(part)))
            }
        }
        try arrive(until: bench.now + .seconds(3), &bench)
        #expect(bench.decoder.errors.isEmpty, "\(bench.decoder.errors.prefix(3))")
        #expect(!bench.hasWantedKeyframe)
        let shown = Set(bench.numbers)
        #expect(stride(from: 0, to: count - 2, by: 2).allSatisfy { shown.contains($0) })
        #expect(UInt64(bench.frames.count) + bench.statistics.skipped <= UInt64(count))
        #expect(UInt64(bench.frames.count) + bench.statistics.skipped >= UInt64(count - 2))
        #expect(bench.statistics.skipped + 1 >= left)
        if loss == 0 { #expect(bench.statistics.missed == 0 && bench.requests.isEmpty) }
        // A frame of which nothing came counts for as many parts as the one after it has: up to eight.
        let told = bench.told()
        #expect(told.map { UInt64($0.missed) } == bench.statistics.missed)
        #expect(bench.statistics.missed <= lost * 2)
        if loss > 0.1 { #expect(bench.statistics.missed * 2 >= lost) }
    }

    // MARK: Hosts that lie

    @Test func aKeyframeIsNeverDisposable() throws {
        var bench = Bench()
        let frame = try Self.frame(0)
        for part in 0..<Self.partCount {
            var bytes = frame.part(part)
            bytes[8] |= 0x18
            try bench.insert(bytes)
        }
        #expect(bench.numbers == [0] && !bench.frames[0].unit.isDisposable)
        #expect(bench.statistics.skipped == 0)
    }

    /// Each frame says that nothing refers to it, and that it doesn't need the one before.
    @Test func aStreamOfDisposableFramesOnlyIsShown() throws {
        var bench = Bench()
        try bench.insert(Self.frame(0))
        func frame(_ number: UInt32) throws -> Sent {
            var frame = TestFrame.make(number, reference: 0, bytes: 5000)
            frame.unit.isDisposable = true
            return try Sent(frame, number, isAfterDisposable: true)
        }
        for number: UInt32 in 1..<200 where number % 5 != 0 {
            bench.advance(to: Self.time(number))
            // Some frames stay incomplete.
            try bench.insert(frame(number), parts: 0..<(number % 5 == 2 ? 2 : Self.partCount))
            #expect(bench.reassembler.framesInFlight <= 1)
        }
        let complete: [UInt32] = (1..<200).filter { ![0, 2].contains($0 % 5) }
        #expect(bench.numbers == [0] + complete)
        #expect(!bench.hasWantedKeyframe && bench.decoder.errors.isEmpty)
        let told = bench.told()
        #expect(bench.statistics.lost == 0 && told?.missed == 0)
    }

    /// Incomplete disposable frames without end.
    @Test func memoryStaysBounded() throws {
        var bench = Bench()
        try bench.insert(Self.frame(0))
        for number: UInt32 in 1..<500 {
            var frame = TestFrame.make(number, reference: 0, bytes: 5000)
            frame.unit.isDisposable = true
            try bench.insert(Sent(frame, number, isAfterDisposable: true), parts: 1..<2)
            #expect(bench.reassembler.framesInFlight <= 64)
        }
        bench.advance(to: bench.now + .seconds(20))
        #expect(bench.reassembler.bytesHeld == 0)
    }

    /// The frame says that others need it, the next one says otherwise: it counts as needed.
    @Test func aFrameThatOnlyTheNextCallsDisposableIsNeeded() throws {
        var bench = Bench()
        try bench.insert(Self.frame(0))
        let needed = try Sent(Self.encoded(1, isDisposable: false), 1, isAfterDisposable: false)
        try bench.insert(needed, parts: 0..<2)
        try bench.insert(Self.frame(2))
        #expect(bench.numbers == [0])
        bench.advance(to: bench.now + .milliseconds(20))
        #expect(bench.requests.contains { $0.frame.value == 1 })
        try bench.insert(needed, parts: 2..<Self.partCount, isSentAgain: true)
        #expect(bench.numbers == [0, 1, 2])
    }

    /// The frame says that it is disposable, the next one says otherwise: it is waited for, but no keyframe is
    /// requested if it doesn't come.
    @Test func aFrameThatOnlyItselfCallsDisposableIsWaitedFor() throws {
        var bench = Bench()
        try bench.insert(Self.frame(0))
        try bench.insert(Self.frame(1), parts: 0..<2)
        try bench.insert(Sent(Self.encoded(2), 2, isAfterDisposable: false))
        #expect(bench.numbers == [0])
        bench.advance(to: bench.now + .seconds(2))
        #expect(bench.numbers == [0, 2])
        #expect(bench.requests.contains { $0.frame.value == 1 })
        #expect(!bench.hasWantedKeyframe && bench.statistics.skipped == 1)
    }
}
