import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Frames to viewers of both versions: cut and sealed once, sent to each viewer at its own pace.
struct SealedPacingTests {
    private static let clear = (1...2).map { NetworkAddress(ip: .v4(1), port: $0) }
    private static let sealed = (1...3).map { NetworkAddress(ip: .v4(2), port: $0) }
    private static let slow = Pacing(bucketBytes: 12_000, bitsPerSecond: 8_000_000)

    private func bench(_ pacing: Pacing = Pacing(), key: SealingKey = .made(1)) -> LayerBench {
        var bench = LayerBench(pacing, key: key)
        for address in Self.clear { bench.add(.version1, at: address) }
        for address in Self.sealed { bench.add(.version2, at: address) }
        return bench
    }

    private func delta(_ index: UInt32, bytes: Int = 3000) -> EncodedFrame {
        TestFrame.make(index, reference: index &- 1, bytes: bytes)
    }

    private func headers(_ datagrams: [[UInt8]]) throws -> [SealedHeader] {
        try datagrams.map { try $0.withUnsafeBytes { try SealedDatagram($0, from: .host).header } }
    }

    @Test func bothVersionsGetWholeFrames() throws {
        var bench = bench()
        bench.send(TestFrame.make(0, bytes: 50_000))
        for index: UInt32 in 1..<30 { bench.send(delta(index)) }
        bench.drain()
        for address in Self.clear {
            var viewer = ReassemblerTests.Bench()
            viewer.insert(bench.datagrams(to: address))
            #expect(viewer.numbers == Array(0..<30))
        }
        for address in Self.sealed {
            var viewer = SealedReceiver()
            viewer.keys.add(.made(1))
            for part in bench.datagrams(to: address) { #expect(viewer.receive(part) == nil) }
            #expect(viewer.frames.map(\.number) == Array(0..<30))
        }
        #expect(bench.bursts.count { $0.begins } == 5 * 30)
    }

    /// A frame is sealed once for all viewers, and its bytes aren't copied.
    @Test func aFrameIsSealedOnceForAll() throws {
        var bench = bench()
        bench.send(TestFrame.make(0, bytes: 11_400))
        bench.drain()
        #expect(bench.sealer.datagramsSealed == 10)
        #expect(bench.bursts.map(\.burst.address) == Self.clear + Self.sealed)
        let places = bench.bursts.suffix(3).map { $0.burst.bytes.withUnsafeBytes { $0.baseAddress } }
        #expect(Set(places).count == 1)
    }

    /// A viewer with a slow path doesn't delay the others.
    @Test func eachViewerHasItsOwnPace() {
        var bench = LayerBench(Self.slow)
        for address in Self.sealed { bench.add(.version2, at: address) }
        bench.send(TestFrame.make(0, bytes: 100_000))
        bench.drain()
        let times = Self.sealed.map { address in
            bench.bursts.filter { $0.burst.address == address }.map(\.time)
        }
        #expect(times.allSatisfy { $0 == times[0] && $0.count == 9 }, "equal paths get equal times")
        for address in Self.sealed {
            let mine = bench.bursts.filter { $0.burst.address == address }
            for first in mine.indices {
                var sum = 0
                for entry in mine[first...] {
                    sum += entry.burst.range.count
                    let line = 12_000 + (entry.time - mine[first].time).inSeconds * 1_000_000
                    #expect(Double(sum) <= line + 1)
                }
            }
        }
    }

    /// Frames that no viewer got leave no gap in the numbers.
    @Test func framesThatNoViewerGetsUseNoNumber() {
        var bench = bench(Self.slow)
        bench.send(TestFrame.make(0, bytes: 100_000))
        bench.step()
        for index: UInt32 in 1...5 { bench.send(delta(index)) }
        bench.send(TestFrame.make(6, bytes: 1000))
        bench.drain()
        var viewer = ReassemblerTests.Bench()
        viewer.insert(bench.datagrams(to: Self.clear[0]))
        // Frames 1 to 5 were replaced by the keyframe before anything of them left.
        #expect(viewer.numbers == [0, 1])
        #expect(bench.layer.newest == SequenceNumber(1))
    }

    @Test func aViewerThatLeavesGetsNothingMore() {
        var bench = bench(Self.slow)
        bench.send(TestFrame.make(0, bytes: 100_000))
        bench.send(delta(1))
        bench.step()
        for index in 2..<5 { _ = bench.senders[index].stop() }
        bench.drain()
        #expect(bench.bursts.allSatisfy { Self.clear.contains($0.burst.address) })
        #expect(bench.datagrams(to: Self.clear[0]).count == 88)
    }

    /// A frame in progress is finished, even if all frames behind it are dropped.
    @Test func aFrameInProgressIsNotDropped() {
        var bench = bench(Self.slow)
        bench.send(TestFrame.make(0, bytes: 100_000))
        bench.send(delta(1))
        while bench.bursts.count < 5 { bench.step() }
        bench.now = bench.now + .seconds(1)
        bench.send(delta(2), patience: .milliseconds(500))
        #expect(bench.senders.allSatisfy { $0.cursor.next == .keyframe && $0.cursor.current != nil })
        bench.drain()
        var viewer = SealedReceiver()
        viewer.keys.add(.made(1))
        for part in bench.datagrams(to: Self.sealed[0]) { viewer.receive(part) }
        #expect(viewer.frames.count == 1)
    }

    @Test func aFrameThatCannotBeSealedIsNotSent() {
        var bench = bench()
        var broken = TestFrame.make(0)
        broken.unit.parameterSets = nil
        bench.send(broken)
        bench.drain()
        #expect(bench.unsendable == 1 && bench.bursts.isEmpty)
    }

    /// Keys rotate while frames wait, are in progress, or are dropped: no nonce is used twice.
    @Test func noNonceIsUsedTwice() throws {
        var bench = bench(Self.slow, key: .made(0))
        var random = SeededGenerator(seed: 11)
        var key: UInt16 = 0
        for index: UInt32 in 0..<300 {
            let isKeyframe = random.chance(0.1)
            let frame = TestFrame.make(
                index, reference: isKeyframe ? nil : index &- 1, bytes: Int.random(in: 100...20_000, using: &random))
            bench.send(frame, patience: random.chance(0.9) ? .seconds(60) : .zero)
            for _ in 0..<Int.random(in: 0...20, using: &random) { bench.step() }
            if random.chance(0.1) {
                key += 1
                bench.use(.made(key))
                #expect(bench.sealer.datagramsSealed == 0)
            }
        }
        bench.drain()
        for address in Self.sealed {
            let headers = try headers(bench.datagrams(to: address))
            #expect(Set(headers).count == headers.count)
            // In the order of sealing, no earlier key is used again.
            #expect(zip(headers, headers.dropFirst()).allSatisfy { $0.keyNumber <= $1.keyNumber })
        }
        #expect(key > 10)
    }

    /// A frame in progress keeps its key; the next frame has the new one.
    @Test func aKeyIsReplacedBetweenTwoFrames() throws {
        var bench = bench(Self.slow)
        bench.send(TestFrame.make(0, bytes: 60_000))
        bench.send(delta(1))
        while bench.bursts.count < 5 { bench.step() }
        bench.use(.made(2))
        bench.drain()
        let headers = try headers(bench.datagrams(to: Self.sealed[0]))
        #expect(headers.map(\.keyNumber) == [UInt16](repeating: 1, count: 53) + [2, 2, 2])
        #expect(headers.map(\.counter) == Array(0..<53) + Array(0..<3))
    }

    /// A slow viewer gets an older frame after a newer one was cut for others; its numbers stay in order.
    @Test func aViewerThatLagsGetsAllFramesInOrder() {
        var bench = bench()
        bench.send(TestFrame.make(0, bytes: 3000))
        bench.drain()
        let late = bench.senders.count - 1
        bench.send(delta(1))
        for index in bench.senders.indices where index != late {
            while case .send = bench.senders[index].step(
                &bench.layer, sealer: bench.sealer, parityShare: 0, now: bench.now)
            {}
        }
        bench.send(delta(2))
        #expect(bench.layer.contains(1), "the viewer that lags still needs it")
        bench.drain()
        var viewer = SealedReceiver()
        viewer.keys.add(.made(1))
        for part in bench.datagrams(to: Self.sealed[2]) { viewer.receive(part) }
        #expect(viewer.frames.map(\.number) == [0, 1, 2])
    }
}

/// A viewer's parity share falls while its parity is being sent.
struct ParityShareTests {
    @Test func theParityShareMayFallWhileParityIsSent() throws {
        let address = NetworkAddress(ip: .v4(1), port: 1)
        var bench = LayerBench(Pacing(bucketBytes: 2400, bitsPerSecond: 2_000_000, burstDatagrams: 2))
        bench.add(.version2, at: address)
        bench.senders[0].delivery = Delivery(limit: 8_000_000)
        func plan(loss: Double) {
            bench.senders[0].delivery?.parity.plan(loss: loss, roundTrip: .milliseconds(100))
            bench.parityShare = max(bench.parityShare, bench.senders[0].parityShare)
        }
        for index: UInt32 in 0..<4 {
            plan(loss: 0.3)
            bench.send(TestFrame.make(index, reference: index == 0 ? nil : index - 1, bytes: 40_000))
            let parts = bench.layer.bytes(from: bench.layer.end - 1) / 1144 + 1
            let before = bench.bursts.count
            /// Everything that was sent has arrived.
            func step() -> Bool {
                let now = bench.now
                bench.senders[0].delivery?.path.heard(sentBefore: now, now: now)
                return bench.step()
            }
            while bench.bursts[before...].reduce(0, { $0 + $1.burst.datagramCount }) < parts + 4, step() {}
            #expect(bench.senders[0].cursor.current?.paritySent ?? 0 > 0, "in the middle of its parity")
            // Less parity than was sent already.
            plan(loss: index.isMultiple(of: 2) ? 0 : 0.01)
            while bench.senders[0].cursor.current != nil, step() {}
            #expect(bench.senders[0].cursor.current == nil, "the frame is finished")
        }
        var viewer = SealedReceiver()
        viewer.keys.add(.made(1))
        for part in bench.datagrams(to: address) { viewer.receive(part) }
        #expect(viewer.frames.count == 4)
    }
}
