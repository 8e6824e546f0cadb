import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// How fast frames leave, and which ones are dropped.
struct PacingTests {
    private func address(_ port: UInt16, _ ip: IPAddress = HostBench.viewer) -> NetworkAddress {
        NetworkAddress(ip: ip, port: port)
    }

    @Test func theBucketIsNeverExceeded() {
        for (bucket, rate, burst) in [(48_000, 200_000_000, 16), (20_000, 8_000_000, 16), (100, 1_000_000, 4)] {
            var host = HostBench(
                pacing: Pacing(bucketBytes: bucket, bitsPerSecond: rate, burstDatagrams: burst, queueTime: .seconds(60))
            )
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
            #expect(bursts.allSatisfy { $0.burst.datagramCount <= max(1, bucket / 1200) })
            // From any burst on, the bytes of any number of bursts stay within bucket + rate × time.
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
            // The rate is used, too: while frames wait, no burst comes late.
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
        #expect(bursts.map(\.time) == [.zero])
        #expect(bursts.map(\.burst.datagramCount) == [39])
        #expect(bursts.map(\.burst.segmentSize) == [1200])
        #expect(bursts.map(\.burst.range) == [0..<45_795])
    }

    /// The bucket's content leaves at once, the rest as it refills.
    @Test func aLargeFrameLeavesInBursts() {
        var host = HostBench()
        host.introduce(1)
        host.hello(1)
        host.frame(TestFrame.make(0, bytes: 90_000))
        host.advance(by: .milliseconds(10))
        let bursts = host.takeBursts()
        #expect(bursts.map(\.burst.datagramCount) == [40, 16, 16, 5])
        #expect(bursts.map(\.burst.range.lowerBound) == [0, 48_000, 67_200, 86_400])
        // 19,200 bytes at 25 MB/s.
        #expect(bursts.prefix(3).map(\.time) == [.zero, .at(0.000768), .at(0.001536)])
    }

    /// One system call's worth, however much the bucket holds or the options ask for.
    @Test func noBurstIsLongerThanASystemCallTakes() {
        let vast = Pacing(bucketBytes: 10_000_000, burstDatagrams: 500)
        #expect(vast.burstBytes(holding: 0) == 54 * 1200)
        #expect(vast.burstBytes(holding: 10_000_000) == 54 * 1200)
        #expect(Pacing().burstBytes(holding: 48_000) == 48_000)
        #expect(Pacing().burstBytes(holding: 20_500) == 17 * 1200)
        #expect(Pacing().burstBytes(holding: 0) == 16 * 1200)
        #expect(Pacing(bucketBytes: 10, burstDatagrams: 0).burstBytes(holding: 0) == 1200)
    }

    /// A frame's datagrams reuse the memory of an earlier frame's; a burst that is still held keeps its bytes.
    @Test func aHeldBurstIsNotOverwritten() {
        var host = HostBench()
        host.introduce(1)
        host.hello(1)
        host.frame(TestFrame.make(0, bytes: 30_000))
        let held = host.takeBursts()
        let before = held.map { Array($0.burst.bytes[$0.burst.range]) }
        for index: UInt32 in 1..<20 {
            host.frame(TestFrame.make(index, reference: index - 1, bytes: Int(20_000 + index * 1000)))
            host.advance(by: .milliseconds(20))
        }
        #expect(host.takeBursts().count >= 19)
        #expect(held.map { Array($0.burst.bytes[$0.burst.range]) } == before)
    }

    @Test func overflowIsReportedAndEndsWithAKeyframe() throws {
        var host = HostBench(pacing: Pacing(bucketBytes: 12_000, bitsPerSecond: 8_000_000, queueBytes: 100_000))
        host.introduce(1)
        host.hello(1)
        host.frame(TestFrame.make(0, bytes: 100_000))
        _ = host.takeEvents()
        for index: UInt32 in 1...4 { host.frame(TestFrame.make(index, reference: index - 1, bytes: 30_000)) }
        // Three frames wait (90,000 bytes); the fourth doesn't fit, and all four are dropped.
        #expect(host.takeEvents() == [.framesDropped(4)])
        #expect(host.keyframeRequests.count == 2)
        #expect(host.session.statistics.dropped == 4)
        host.frame(TestFrame.make(5, reference: 4, bytes: 1000))
        host.frame(TestFrame.make(6, bytes: 20_000))
        host.frame(TestFrame.make(7, reference: 6, bytes: 1000))
        #expect(host.takeEvents() == [.framesDropped(1)])
        host.advance(by: .seconds(3))
        // The frame in progress was finished, and the viewer can decode all that it got.
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

    @Test func framesThatWaitTooLongAreDropped() {
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

    @Test func aKeyframeReplacesTheFramesThatWait() {
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

    @Test func aFrameThatCannotBeCutIsDroppedWithoutSpinning() {
        var host = HostBench()
        host.introduce(1)
        host.hello(1)
        var broken = TestFrame.make(0)
        broken.unit.parameterSets = nil
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

    @Test func afterAFailedSendThatViewersFramesLeaveTheQueue() {
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
        #expect(host.takeBursts().allSatisfy { $0.burst.address == address(2, .v4(2)) })
        host.frame(TestFrame.make(2, bytes: 100_000))
        host.handle(.sendFailed(address(2, .v4(2))))
        _ = host.takeBursts()
        host.advance(by: .seconds(1))
        #expect(host.takeBursts().isEmpty)
    }
}
