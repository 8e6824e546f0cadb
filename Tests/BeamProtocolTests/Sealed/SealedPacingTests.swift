import BeamMedia
import Testing

@testable import BeamProtocol

/// Frames that go to viewers of both versions, at one pace.
struct SealedPacingTests {
    /// A pacer, and what leaves it.
    struct Bench {
        var pacer: Pacer
        var now = MediaTime.zero
        var bursts: [(time: MediaTime, burst: MediaBurst, begins: Bool)] = []
        var errors: [FragmentationError] = []

        init(_ pacing: Pacing = Pacing(), key: SealingKey? = .made(1)) {
            pacer = Pacer(pacing, firstNumber: SequenceNumber(0))
            if let key { pacer.use(key) }
        }

        mutating func send(_ unit: AccessUnit, _ audience: MediaAudience) {
            _ = pacer.enqueue(unit, to: audience, now: now)
        }

        /// One step; false when there is nothing to do any more.
        @discardableResult
        mutating func step() -> Bool {
            switch pacer.step(now: now) {
            case .send(let burst, _, let begins): bursts.append((now, burst, begins))
            case .unsendable(let error, _): errors.append(error)
            case .blocked: return false
            case .wait(let time): now = time
            case .idle: return false
            }
            return true
        }

        mutating func drain() { while step() {} }

        /// The datagrams that went to an address, in order.
        func datagrams(to address: NetworkAddress) -> [[UInt8]] {
            bursts.filter { $0.burst.addresses.contains(address) }.flatMap { entry in
                let range = entry.burst.range
                return stride(from: range.lowerBound, to: range.upperBound, by: 1200).map {
                    Array(entry.burst.bytes[$0..<min($0 + 1200, range.upperBound)])
                }
            }
        }
    }

    private static let clear = (1...2).map { NetworkAddress(ip: .v4(1), port: $0) }
    private static let sealed = (1...3).map { NetworkAddress(ip: .v4(2), port: $0) }
    private static let both = MediaAudience(version1: clear, version2: sealed)
    private static let slow = Pacing(bucketBytes: 12_000, bitsPerSecond: 8_000_000)

    private func delta(_ index: UInt32, bytes: Int = 3000) -> AccessUnit {
        TestFrame.make(index, reference: index &- 1, bytes: bytes)
    }

    private func headers(_ datagrams: [[UInt8]]) throws -> [SealedHeader] {
        try datagrams.map { try $0.withUnsafeBytes { try SealedDatagram($0, from: .host).header } }
    }

    @Test func eachFormArrivesWhole() throws {
        var bench = Bench()
        bench.send(TestFrame.make(0, bytes: 50_000), Self.both)
        for index: UInt32 in 1..<30 { bench.send(delta(index), Self.both) }
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
        #expect(bench.bursts.count { $0.begins } == 30, "a frame begins once, not once for each form")
    }

    /// However many watch, a frame is sealed once.
    @Test func aFrameIsSealedOnceForAll() {
        var bench = Bench()
        bench.send(TestFrame.make(0, bytes: 11_400), Self.both)
        bench.drain()
        #expect(bench.pacer.datagramsSealed == 10)
        #expect(bench.bursts.map(\.burst.addresses) == [Self.clear, Self.sealed])
    }

    @Test func theFormsLeaveInStep() {
        var bench = Bench(Pacing(bucketBytes: 12_000, bitsPerSecond: 8_000_000, burstDatagrams: 4))
        // 50 datagrams in the clear, and 52 sealed, the first ten at once: one burst more.
        bench.send(TestFrame.make(0, bytes: 58_900), Self.both)
        bench.drain()
        let clear = bench.bursts.filter { $0.burst.addresses == Self.clear }
        let sealed = bench.bursts.filter { $0.burst.addresses == Self.sealed }
        #expect(clear.count == 11 && sealed.count == 12)
        #expect(zip(clear, sealed).allSatisfy { $0.time == $1.time })
        #expect(
            bench.bursts.dropLast().enumerated().allSatisfy { index, entry in
                entry.burst.addresses == (index.isMultiple(of: 2) ? Self.clear : Self.sealed)
            })
    }

    /// The bucket is a viewer's, so that two forms take no longer than the one that is sealed would by itself.
    @Test func theBucketCountsWhatOneViewerGets() {
        func times(_ audience: MediaAudience) -> [MediaTime] {
            var bench = Bench(Self.slow)
            bench.send(TestFrame.make(0, bytes: 100_000), audience)
            bench.drain()
            return bench.bursts.filter { $0.burst.addresses == Self.sealed }.map(\.time)
        }
        let both = times(Self.both)
        #expect(both == times(MediaAudience(version2: Self.sealed)))
        #expect(both.count == 9)

        var bench = Bench(Self.slow)
        bench.send(TestFrame.make(0, bytes: 100_000), Self.both)
        bench.drain()
        for addresses in [Self.clear, Self.sealed] {
            let mine = bench.bursts.filter { $0.burst.addresses == addresses }
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

    /// Who watches in one form sees no gap where frames went out in the other alone.
    @Test func eachFormNumbersItsOwnFrames() {
        var bench = Bench()
        let audiences = [
            Self.both, MediaAudience(version1: Self.clear), MediaAudience(version2: Self.sealed), Self.both,
            MediaAudience(version1: Self.clear), Self.both,
        ]
        for (index, audience) in audiences.enumerated() { bench.send(delta(UInt32(index), bytes: 50), audience) }
        bench.drain()
        var keys = MediaKeyRing()
        keys.add(.made(1))
        var plaintext: [UInt8] = []
        var numbers: [[UInt32]] = [[], []]
        for part in bench.datagrams(to: Self.clear[0]) {
            part.withUnsafeBytes { if let it = try? MediaDatagram($0) { numbers[0].append(it.header.sequence.value) } }
        }
        for part in bench.datagrams(to: Self.sealed[0]) {
            _ = try? part.withUnsafeBytes { try keys.open($0, into: &plaintext, now: .zero) }
            plaintext.withUnsafeBytes {
                if let it = try? MediaDatagram(version2: $0) { numbers[1].append(it.header.sequence.value) }
            }
        }
        #expect(numbers == [[0, 1, 2, 3, 4], [0, 1, 2, 3]])
    }

    @Test func whoLeavesGetsNothingMore() {
        var bench = Bench(Self.slow)
        bench.send(TestFrame.make(0, bytes: 100_000), Self.both)
        bench.send(delta(1), Self.both)
        bench.step()  // a burst in the clear; the sealed one is due
        for address in Self.sealed { bench.pacer.remove(address) }
        let before = bench.bursts.count
        bench.drain()
        #expect(bench.bursts[before...].allSatisfy { $0.burst.addresses == Self.clear })
        #expect(bench.datagrams(to: Self.clear[0]).count == 88)

        bench.send(TestFrame.make(2, bytes: 100_000), Self.both)
        bench.step()
        for address in Self.clear + Self.sealed { bench.pacer.remove(address) }
        #expect(bench.step() == false)
    }

    /// The forms that are left go on where they are, and the pace is theirs.
    @Test func theRestOfAFrameGoesOnWithoutTheOtherForm() {
        var bench = Bench(Self.slow)
        bench.send(TestFrame.make(0, bytes: 60_000), Self.both)
        bench.send(delta(1), Self.both)
        while bench.bursts.count < 4 { bench.step() }
        for address in Self.clear { bench.pacer.remove(address) }
        bench.drain()
        var viewer = SealedReceiver()
        viewer.keys.add(.made(1))
        for part in bench.datagrams(to: Self.sealed[0]) { viewer.receive(part) }
        #expect(viewer.frames.count == 2)
    }

    /// A frame that has begun in one form is finished in both.
    @Test func whatHasBegunIsNotDropped() {
        var bench = Bench(Self.slow)
        bench.send(TestFrame.make(0, bytes: 100_000), Self.both)
        bench.send(delta(1), Self.both)
        bench.step()
        #expect(bench.pacer.dropWaiting() == 1)
        bench.drain()
        var viewer = SealedReceiver()
        viewer.keys.add(.made(1))
        for part in bench.datagrams(to: Self.sealed[0]) { viewer.receive(part) }
        #expect(viewer.frames.count == 1)
    }

    @Test func withoutAKeyNothingIsSentToTheSealedAudience() {
        var bench = Bench(key: nil)
        bench.send(TestFrame.make(0), MediaAudience(version2: Self.sealed))
        bench.drain()
        #expect(bench.errors == [.noSealingKey] && bench.bursts.isEmpty)
        bench.send(TestFrame.make(0), MediaAudience(version1: Self.clear))
        bench.drain()
        #expect(bench.bursts.count == 1)
    }

    /// Keys change while frames wait, are under way, are dropped: no nonce comes twice, and the numbers go on.
    @Test func noNonceComesTwice() throws {
        var bench = Bench(Self.slow, key: .made(0))
        var random = SeededGenerator(seed: 11)
        var key: UInt16 = 0
        for index: UInt32 in 0..<300 {
            let isKeyframe = random.chance(0.1)
            let unit = TestFrame.make(
                index, reference: isKeyframe ? nil : index &- 1, bytes: Int.random(in: 100...20_000, using: &random))
            bench.send(unit, random.chance(0.5) ? Self.both : MediaAudience(version2: Self.sealed))
            for _ in 0..<Int.random(in: 0...4, using: &random) { bench.step() }
            if random.chance(0.1) { _ = bench.pacer.dropWaiting() }
            if random.chance(0.1) {
                key += 1
                bench.pacer.use(.made(key))
                #expect(bench.pacer.datagramsSealed == 0)
            }
        }
        bench.drain()
        let headers = try headers(bench.datagrams(to: Self.sealed[0]))
        #expect(Set(headers).count == headers.count)
        #expect(Set((0...key).map { SealingKey.made($0) }).count == Int(key) + 1)
        // In the order of their sealing, a key is never taken up again.
        #expect(zip(headers, headers.dropFirst()).allSatisfy { $0.keyNumber <= $1.keyNumber })
        #expect(key > 10)
    }

    /// A frame that is under way keeps the key that it was sealed with; the next has the new one.
    @Test func aKeyIsReplacedBetweenTwoFrames() throws {
        var bench = Bench(Self.slow)
        bench.send(TestFrame.make(0, bytes: 60_000), Self.both)
        bench.send(delta(1), Self.both)
        bench.step()
        bench.pacer.use(.made(2))
        bench.drain()
        let headers = try headers(bench.datagrams(to: Self.sealed[0]))
        #expect(headers.map(\.keyNumber) == [UInt16](repeating: 1, count: 53) + [2, 2, 2])
        #expect(headers.map(\.counter) == Array(0..<53) + Array(0..<3))
    }
}
