import BeamMedia
import Testing

@testable import BeamProtocol

/// Whose hellos count, and who gets which frames.
struct HostMediaTests {
    private func address(_ port: UInt16, _ ip: IPAddress = HostBench.viewer) -> NetworkAddress {
        NetworkAddress(ip: ip, port: port)
    }

    /// Where the stream goes now, by what the next keyframe is sent to.
    private func audience(_ host: inout HostBench) -> Set<NetworkAddress> {
        _ = host.takeBursts()
        host.frame(TestFrame.make(0))
        return Set(host.takeBursts().flatMap(\.burst.addresses))
    }

    private func started(_ host: inout HostBench) -> [NetworkAddress] {
        host.takeEvents().compactMap { if case .mediaStarted(_, let address) = $0 { address } else { nil } }
    }

    // MARK: Hellos

    @Test func aPairedViewersHelloStartsTheStream() {
        var host = HostBench()
        host.introduce(1)
        _ = host.takeEvents()
        host.hello(40000)
        #expect(started(&host) == [address(40000)])
        #expect(host.keyframeRequests == [.zero])
        #expect(host.session.statistics.watching == 1)
        #expect(audience(&host) == [address(40000)])
    }

    @Test func nobodyElsesHelloDoes() {
        var host = HostBench(.ask)
        host.hello(40000)
        host.introduce(1)
        host.hello(40000)  // waits for the decision
        host.introduce(2, from: .v4(2))
        host.handle(.decision(ConnectionID(2), accept: true))
        let count = host.outputs.count
        host.hello(40000)
        host.hello(40000, from: .v4(3))
        for bytes in ["", "BRHI", "BRHI!!", "brhi!", "\u{0}\u{0}\u{0}\u{0}\u{0}"] {
            host.hello(40000, from: .v4(2), bytes: Array(bytes.utf8))
        }
        #expect(host.outputs.count == count)
        #expect(audience(&host).isEmpty)
    }

    @Test func aStrangerOnTheSameMachineCannotTakeAStreamOver() {
        var host = HostBench()
        host.introduce(1)
        host.hello(40000)
        for tenth in 1...300 {
            host.advance(to: .at(Double(tenth) / 10))
            host.hello(666)
            if tenth.isMultiple(of: 10) { host.hello(40000) }
        }
        #expect(audience(&host) == [address(40000)])
    }

    @Test func aVersion1ViewerMovesWhenItsOldSocketHasGoneSilent() {
        var host = HostBench()
        host.introduce(1)
        host.hello(40000)
        for second in [1.0, 2.0, 2.2] {
            host.advance(to: .at(second))
            host.hello(40001)
            #expect(audience(&host) == [address(40000)])
        }
        host.advance(to: .at(2.3))
        host.hello(40001)
        #expect(audience(&host) == [address(40001)])
        #expect(host.session.statistics.watching == 1)
    }

    @Test func aPortThatWasNamedIsFollowedAtOnce() {
        var host = HostBench()
        host.introduce(1)
        host.hello(40000)
        host.say(1, #"{"mediaSource":40001}"#)
        #expect(audience(&host) == [address(40000)])
        host.hello(40001)
        #expect(audience(&host) == [address(40001)])
        // Also when the hello was there first.
        host.hello(40002)
        #expect(audience(&host) == [address(40001)])
        host.say(1, #"{"mediaSource":40002}"#)
        #expect(audience(&host) == [address(40002)])
    }

    @Test func aNamedPortComesBeforeAStrangers() {
        var host = HostBench()
        host.introduce(1)
        host.say(1, #"{"mediaSource":40001}"#)
        host.hello(666)
        #expect(audience(&host).isEmpty)
        host.hello(40001)
        #expect(audience(&host) == [address(40001)])
    }

    /// An address translator may give the socket another port than the viewer knows.
    @Test func aNamedPortThatNothingComesFromIsGivenUp() {
        var host = HostBench()
        host.introduce(1)
        host.say(1, #"{"mediaSource":40001}"#)
        host.hello(50000)
        host.advance(to: .at(1))
        host.hello(50000)
        #expect(audience(&host) == [address(50000)])
    }

    @Test func twoViewersOnOneMachineGetAStreamEach() {
        var host = HostBench()
        host.introduce(1)
        host.introduce(2, code: "000000")
        host.hello(40000)
        host.hello(40001)
        host.hello(40002)
        #expect(audience(&host) == [address(40000), address(40001)])
        #expect(host.session.statistics.watching == 2)
        // Each hello was taken for the other's: their announcements put that right.
        host.say(1, #"{"mediaSource":40000}"#)
        host.say(2, #"{"mediaSource":40001}"#)
        host.handle(.connectionClosed(ConnectionID(1)))
        for second in 1...20 {
            host.advance(to: .at(Double(second)))
            host.hello(40001)
            host.say(2, #"{"hb":1}"#)
        }
        #expect(audience(&host) == [address(40001)])
        #expect(host.session.statistics.viewers == 1)
    }

    @Test func aSilentStreamStopsAfterTwentySecondsAndStartsAgain() {
        var host = HostBench()
        host.introduce(1)
        host.hello(40000)
        for second in stride(from: 5.0, through: 19.9, by: 4.9) {
            host.advance(to: .at(second))
            host.say(1, #"{"hb":1}"#)
        }
        #expect(audience(&host) == [address(40000)])
        _ = host.takeEvents()
        host.advance(to: .at(20))
        let events = host.takeEvents()
        #expect(events.contains(.audience(0)))
        #expect(events.contains { if case .mediaStopped = $0 { true } else { false } })
        #expect(audience(&host).isEmpty)
        #expect(host.session.statistics.viewers == 1)
        let requests = host.keyframeRequests.count
        host.hello(40000)
        #expect(host.keyframeRequests.count == requests + 1)
        #expect(audience(&host) == [address(40000)])
    }

    @Test func aFailedSendStopsThatStreamOnly() {
        var host = HostBench()
        host.introduce(1)
        host.introduce(2, from: .v4(2))
        host.hello(40000)
        host.hello(40000, from: .v4(2))
        host.handle(.sendFailed(address(40000)))
        host.handle(.sendFailed(address(40000)))
        #expect(audience(&host) == [address(40000, .v4(2))])
        host.hello(40000)
        #expect(host.session.statistics.watching == 2)
    }

    @Test func theAudienceIsToldWhenItChanges() {
        var host = HostBench()
        host.introduce(1)
        host.introduce(2, from: .v4(2))
        _ = host.takeEvents()
        host.hello(1)
        host.hello(1)
        host.hello(1, from: .v4(2))
        host.handle(.sendFailed(address(1)))
        host.advance(by: .seconds(40))
        let counts = host.takeEvents().compactMap { if case .audience(let count) = $0 { count } else { nil } }
        #expect(counts == [1, 2, 1, 0])
    }

    // MARK: Frames

    @Test func aJoinerGetsNothingBeforeAKeyframe() {
        var host = HostBench()
        host.introduce(1)
        host.introduce(2, from: .v4(2))
        host.hello(1)
        host.frame(TestFrame.make(0))
        host.hello(2, from: .v4(2))
        _ = host.takeBursts()
        host.frame(TestFrame.make(1, reference: 0))
        #expect(host.takeBursts().map(\.burst.addresses) == [[address(1)]])
        host.frame(TestFrame.make(2))
        host.frame(TestFrame.make(3, reference: 2))
        #expect(
            host.takeBursts().map(\.burst.addresses) == Array(repeating: [address(1), address(2, .v4(2))], count: 2))
    }

    @Test func framesAreNumberedWithoutGaps() throws {
        var host = HostBench()
        host.introduce(1)
        host.frame(TestFrame.make(0))  // nobody watches
        host.hello(1)
        host.frame(TestFrame.make(1, reference: 0))  // nobody could decode it
        for index: UInt32 in 2..<5 { host.frame(TestFrame.make(index, reference: index == 2 ? nil : index - 1)) }
        let numbers = try host.takeBursts().map { burst in
            try burst.burst.bytes.withUnsafeBytes { try MediaDatagram($0).header.sequence.value }
        }
        #expect(numbers == [0, 1, 2])
        let statistics = host.session.statistics
        #expect(statistics.frames == 3 && statistics.keyframes == 1 && statistics.datagrams == 3)
        #expect(statistics.bytes == 3 * 220 + 15 && statistics.dropped == 0)
    }

    @Test func nothingIsSentWhileNothingIsShared() {
        var host = HostBench()
        host.handle(.broadcast(false))
        host.introduce(1)
        host.hello(1)
        #expect(host.keyframeRequests.isEmpty)
        #expect(audience(&host).isEmpty)
        host.handle(.broadcast(true))
        #expect(host.keyframeRequests.count == 1)
        host.frame(TestFrame.make(1, reference: 0))
        #expect(host.takeBursts().isEmpty, "the way back begins with a keyframe")
        #expect(audience(&host) == [address(1)])
    }

    @Test func keyframesAreAskedForOftenEnough() {
        var host = HostBench()
        host.introduce(1)
        host.hello(1)
        // An encoder that takes 40 ms.
        var came: [MediaTime] = []
        for millisecond in 0..<20_000 {
            host.advance(to: MediaTime(nanoseconds: Int64(millisecond) * 1_000_000))
            if millisecond % 1000 == 0 { host.hello(1) }
            if let asked = host.keyframeRequests.last, asked > came.last ?? MediaTime(nanoseconds: -1),
                host.now - asked >= .milliseconds(40)
            {
                came.append(host.now)
                host.frame(TestFrame.make(UInt32(millisecond)))
            } else if millisecond % 33 == 0, !came.isEmpty {
                host.frame(TestFrame.make(UInt32(millisecond), reference: 0))
            }
        }
        let gaps = zip(came, came.dropFirst()).map { ($1 - $0).inMilliseconds }
        #expect(gaps.allSatisfy { (1900...2000).contains($0) }, "\(gaps)")
        #expect(gaps.count >= 9)
    }

    @Test func aRequestIsRepeatedOnlyWhenNothingComesOfIt() {
        var host = HostBench()
        host.introduce(1)
        host.introduce(2, from: .v4(2))
        host.hello(1)
        host.hello(2, from: .v4(2))
        #expect(host.keyframeRequests == [.zero])
        host.advance(to: .at(0.6))
        #expect(host.keyframeRequests == [.zero, .at(0.25), .at(0.5)])
        host.frame(TestFrame.make(0))
        host.advance(to: .at(2.49))
        #expect(host.keyframeRequests.count == 3)
        host.handle(.sendFailed(address(1)))
        host.handle(.sendFailed(address(2, .v4(2))))
        host.advance(to: .at(9))
        #expect(host.keyframeRequests.count == 3, "nobody watches")
    }

    // MARK: Pace

    @Test func theBucketIsNeverExceeded() {
        for (bucket, rate, burst) in [(48_000, 200_000_000, 16), (20_000, 8_000_000, 16), (100, 1_000_000, 4)] {
            var host = HostBench(
                pacing: Pacing(bucketBytes: bucket, bitsPerSecond: rate, burstDatagrams: burst, queueTime: .seconds(60)))
            host.introduce(1)
            host.hello(1)
            var random = SeededGenerator(seed: 3)
            for index: UInt32 in 0..<40 {
                let length = Int.random(in: 100...150_000, using: &random)
                host.frame(TestFrame.make(index, reference: index == 0 ? nil : index - 1, bytes: length))
                host.advance(by: .milliseconds(Int64.random(in: 0...40, using: &random)))
            }
            host.hello(1)
            host.advance(by: .seconds(14))
            let bursts = host.takeBursts()
            #expect(bursts.allSatisfy { $0.burst.datagramCount <= burst })
            // From each burst on, the bytes of any number of bursts stay below the line.
            let allowed = Double(max(bucket, 1200))
            var worst = 0.0
            for first in stride(from: 0, to: bursts.count, by: 3) {
                var sum = 0
                for burst in bursts[first...] {
                    sum += burst.burst.range.count
                    let line = allowed + (burst.time - bursts[first].time).inSeconds * Double(rate) / 8
                    worst = max(worst, Double(sum) - line)
                }
            }
            #expect(worst <= 1, "\(worst) bytes too many")
            // And the rate is used: with frames waiting, no burst comes later than it had to.
            if rate == 8_000_000 {
                let span = (bursts[bursts.count - 1].time - bursts[0].time).inSeconds
                let sent = bursts.dropLast().reduce(0) { $0 + $1.burst.range.count }
                #expect(sent > 2_000_000)
                #expect(Double(sent) / span > 0.95 * Double(rate) / 8)
            }
        }
    }

    @Test func aSmallFrameLeavesAtOnce() {
        var host = HostBench()
        host.introduce(1)
        host.hello(1)
        host.frame(TestFrame.make(0, bytes: 45_000))
        let bursts = host.takeBursts()
        #expect(bursts.map(\.time) == [.zero, .zero, .zero])
        #expect(bursts.map(\.burst.datagramCount) == [16, 16, 7])
        #expect(bursts.map(\.burst.segmentSize) == [1200, 1200, 1200])
        #expect(bursts.map(\.burst.range.lowerBound) == [0, 19200, 38400])
        #expect(bursts.dropLast().allSatisfy { $0.burst.range.count == 19200 })
    }

    @Test func overflowIsToldAndEndsWithAKeyframe() throws {
        var host = HostBench(pacing: Pacing(bucketBytes: 12_000, bitsPerSecond: 8_000_000, queueBytes: 100_000))
        host.introduce(1)
        host.hello(1)
        host.frame(TestFrame.make(0, bytes: 100_000))
        _ = host.takeEvents()
        for index: UInt32 in 1...4 { host.frame(TestFrame.make(index, reference: index - 1, bytes: 30_000)) }
        // Three wait (90 000 bytes); the fourth finds no room, and all four are gone.
        #expect(host.takeEvents() == [.framesDropped(4)])
        #expect(host.keyframeRequests.count == 2)
        #expect(host.session.statistics.dropped == 4)
        host.frame(TestFrame.make(5, reference: 4, bytes: 1000))
        host.frame(TestFrame.make(6, bytes: 20_000))
        host.frame(TestFrame.make(7, reference: 6, bytes: 1000))
        #expect(host.takeEvents() == [.framesDropped(1)])
        host.advance(by: .seconds(3))
        // What was begun was finished, and the viewer can decode all of it.
        var bench = ReassemblerTests.Bench()
        for (_, burst) in host.takeBursts() {
            for start in stride(from: burst.range.lowerBound, to: burst.range.upperBound, by: burst.segmentSize) {
                bench.insert(Array(burst.bytes[start..<min(start + burst.segmentSize, burst.range.upperBound)]))
            }
        }
        #expect(bench.numbers == [0, 1, 2])
        var decoder = TestFrame.Decoder()
        for frame in bench.frames { decoder.decode(frame) }
        #expect(decoder.errors.isEmpty && decoder.last == 7)
        #expect(host.session.statistics.frames == 3)
    }

    @Test func framesThatWaitTooLongAreOverflowToo() {
        var host = HostBench(pacing: Pacing(bucketBytes: 12_000, bitsPerSecond: 800_000))
        host.introduce(1)
        host.hello(1)
        host.frame(TestFrame.make(0, bytes: 100_000))  // takes 0.9 s
        host.frame(TestFrame.make(1, reference: 0))
        host.advance(to: .at(0.5))
        host.frame(TestFrame.make(2, reference: 1))
        _ = host.takeEvents()
        host.advance(to: .at(0.51))
        host.frame(TestFrame.make(3, reference: 2))
        #expect(host.takeEvents() == [.framesDropped(3)])
    }

    @Test func aKeyframeTakesThePlaceOfWhatWaits() {
        var host = HostBench(pacing: Pacing(bucketBytes: 12_000, bitsPerSecond: 8_000_000))
        host.introduce(1)
        host.hello(1)
        host.frame(TestFrame.make(0, bytes: 100_000))
        for index: UInt32 in 1...3 { host.frame(TestFrame.make(index, reference: index - 1)) }
        _ = host.takeEvents()
        host.frame(TestFrame.make(4))
        #expect(host.takeEvents() == [.framesDropped(3)])
        host.advance(by: .seconds(1))
        #expect(host.session.statistics.frames == 2)
    }

    @Test func whatCannotBeSentIsDroppedAndDoesNotSpin() {
        var host = HostBench()
        host.introduce(1)
        host.hello(1)
        var broken = TestFrame.make(0)
        broken.parameterSets = nil
        host.frame(broken)
        host.frame(TestFrame.make(1, reference: 0))
        #expect(host.takeBursts().isEmpty)
        #expect(host.session.statistics.dropped == 2)
        #expect(host.keyframeRequests.count == 1)
        host.advance(to: .at(1.95))
        #expect(host.keyframeRequests.count == 2)
        host.frame(TestFrame.make(2))
        #expect(host.takeBursts().count == 1)
    }

    @Test func anEvictedViewersFramesLeaveTheQueue() {
        var host = HostBench(pacing: Pacing(bucketBytes: 12_000, bitsPerSecond: 8_000_000))
        host.introduce(1)
        host.introduce(2, from: .v4(2))
        host.hello(1)
        host.hello(2, from: .v4(2))
        host.frame(TestFrame.make(0, bytes: 100_000))
        host.frame(TestFrame.make(1, reference: 0))
        host.handle(.sendFailed(address(1)))
        _ = host.takeBursts()
        host.advance(by: .seconds(1))
        #expect(host.takeBursts().allSatisfy { $0.burst.addresses == [address(2, .v4(2))] })
        host.frame(TestFrame.make(2, bytes: 100_000))
        host.handle(.sendFailed(address(2, .v4(2))))
        _ = host.takeBursts()
        host.advance(by: .seconds(1))
        #expect(host.takeBursts().isEmpty)
    }
}
