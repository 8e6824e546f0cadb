import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// An attacker sees every datagram and sends any others. `BEAMROOM_FUZZ_ITERATIONS=1000000` makes a million of them.
struct HostileDatagramTests {
    /// Records datagrams, and makes new ones of them.
    private struct Attacker {
        var random: SeededGenerator
        private var seen: [[UInt8]] = []
        private var seenCount = 0

        init(seed: UInt64) { random = SeededGenerator(seed: seed) }

        mutating func see(_ datagram: [UInt8]) {
            // Keeps the latest datagrams, and some from long ago.
            seenCount += 1
            if seen.count < 4096 { seen.append(datagram) } else { seen[seenCount % 4000] = datagram }
        }

        /// A datagram that the sender didn't seal, or that has arrived before. `next` is in flight.
        mutating func datagram(racing next: [UInt8]) -> [UInt8] {
            switch UInt8.random(in: 0..<10, using: &random) {
            case 0...1: return seen.randomElement(using: &random) ?? [0xB1]
            case 2: return flipped(next, in: 0..<next.count * 8)
            case 3: return flipped(next, in: 0..<12 * 8)
            case 4: return Array(next.prefix(Int.random(in: 0..<next.count, using: &random)))
            case 5: return next + random.bytes(Int.random(in: 1...400, using: &random))
            case 6:
                // A counter far ahead: a window that believed it would shut out all others.
                var bytes = next
                let counter = random.next() >> UInt64.random(in: 0..<40, using: &random)
                guard counter != bytes.counter else { return [] }
                withUnsafeBytes(of: counter.bigEndian) { bytes.replaceSubrange(4..<12, with: $0) }
                return bytes
            case 7:
                var bytes = next
                bytes[2] = UInt8.random(in: 0...255, using: &random)
                bytes[3] ^= UInt8.random(in: 1...255, using: &random)
                return bytes
            case 8:
                // The beginning of one datagram and the end of another.
                let other = seen.randomElement(using: &random) ?? []
                let cut = Int.random(in: 1...40, using: &random)
                let spliced = next.prefix(cut) + other.dropFirst(cut)
                return spliced.elementsEqual(next) || spliced.elementsEqual(other) ? [] : Array(spliced)
            default:
                return random.chance(0.5)
                    ? MediaDatagramTests.smallKeyframe : [0xB1, 0, 0, 1] + random.bytes(1196)
            }
        }

        private mutating func flipped(_ bytes: [UInt8], in bits: Range<Int>) -> [UInt8] {
            let bit = Int.random(in: bits, using: &random)
            var bytes = bytes
            bytes[bit / 8] ^= 1 << UInt8(bit % 8)
            return bytes
        }
    }

    @Test func `Fuzz: hostile datagrams never make a picture stall`() throws {
        let wanted = Fuzzing.seeds(100_000)
        var attacker = Attacker(seed: wanted.lowerBound)
        var receiver = SealedReceiver()
        var bench = LayerBench()
        let address = NetworkAddress(ip: .v4(1), port: 1)
        bench.add(.version2, at: address)
        var keyNumber: UInt16 = 1
        receiver.keys.add(.made(1))
        var decoder = TestFrame.Decoder()
        var hostile = 0
        var index: UInt32 = 0
        var sent = 0
        while hostile < wanted.count {
            receiver.now = receiver.now + .milliseconds(16)
            if index % 50 == 49 {
                keyNumber += 1
                receiver.keys.add(.made(keyNumber))
                bench.use(.made(keyNumber))
            }
            let isKeyframe = index % 200 == 0
            bench.now = receiver.now
            let before = bench.bursts.count
            bench.send(
                TestFrame.make(
                    index, reference: isKeyframe ? nil : index - 1,
                    bytes: Int.random(in: 500...12_000, using: &attacker.random)))
            while bench.bursts.count == before || bench.senders[0].cursor.current != nil { bench.step() }
            var datagrams = bench.datagrams(to: address, from: before)
            bench.forgetBursts()
            // The network reorders datagrams, too.
            if attacker.random.chance(0.2) { datagrams.shuffle(using: &attacker.random) }
            for datagram in datagrams {
                for _ in 0..<20 {
                    let bytes = attacker.datagram(racing: datagram)
                    hostile += 1
                    guard receiver.receive(bytes) == nil else { continue }
                    Issue.record("seed \(wanted.lowerBound), frame \(index): accepted a forged datagram: \(bytes)")
                    return
                }
                if let error = receiver.receive(datagram) {
                    Issue.record("seed \(wanted.lowerBound), frame \(index): \(error) for an authentic datagram")
                    return
                }
                attacker.see(datagram)
                sent += 1
            }
            index += 1
            for frame in receiver.frames { decoder.decode(frame) }
            receiver.frames.removeAll(keepingCapacity: true)
            guard decoder.decoded == index else {
                Issue.record("seed \(wanted.lowerBound): frame \(index - 1) didn't arrive at once")
                return
            }
        }
        #expect(decoder.errors.isEmpty)
        let statistics = receiver.reassembler.statistics
        #expect(statistics.frames == UInt64(index) && statistics.lost == 0 && statistics.dropped == 0)
        #expect(statistics.datagrams == UInt64(hostile + sent))
        #expect(statistics.malformed + statistics.duplicates == UInt64(hostile))
    }

    /// A stream moves only with an authentic hello that is newer than all before.
    @Test func `Fuzz: hostile hellos move nothing`() throws {
        let wanted = Fuzzing.seeds(30_000)
        var attacker = Attacker(seed: wanted.lowerBound)
        let sealer = DatagramSealer(key: .made(1))
        var opener = DatagramOpener(key: .made(1))
        for index in 0..<wanted.count / 20 {
            let hello = try sealer.seal(.hello, SealedHello(time: .at(Double(index))).plaintext)
            let other = try sealer.seal(.feedback, [1, 2, 3])
            for _ in 0..<20 {
                var bytes = attacker.datagram(racing: hello)
                if bytes.first == 0xB1 { bytes[0] = 0xB2 }
                let isTaken = (try? opener.open(bytes, from: .viewer)) != nil
                guard !isTaken else {
                    Issue.record("seed \(wanted.lowerBound): accepted a forged hello: \(bytes)")
                    return
                }
            }
            // Feedback and hellos share a counter, so feedback may make a hello that comes later an old one.
            if index.isMultiple(of: 3) {
                #expect(try opener.open(other, from: .viewer).opened.isNewest)
                #expect(try !opener.open(hello, from: .viewer).opened.isNewest)
            } else {
                #expect(try opener.open(hello, from: .viewer).opened.isNewest)
                #expect(try opener.open(other, from: .viewer).opened.isNewest)
            }
            attacker.see(hello)
            attacker.see(other)
        }
    }

    /// A peer with a key may seal any plaintext: it is refused, or its parts lie within its bytes and it can be written
    /// again.
    @Test func `Fuzz: sealed plaintexts of any kind`() {
        for seed in Fuzzing.seeds(40_000) {
            var mutator = Mutator(seed: seed)
            let input = mutator.mutate(SealedDatagramTests.mediaPlaintext, with: [SealedDatagramTests.mediaPlaintext])
            guard let error = FuzzBodies.sealedPlaintext(input) else { continue }
            let hex = input.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            Issue.record("seed \(seed): \(error). Keep it in FailCases: \(hex)")
        }
    }

    /// Any bytes, for a ring in any state: no trap, nothing opened that wasn't sealed, and few keys held.
    @Test func `Fuzz: key rings that are told anything`() {
        for seed in Fuzzing.seeds(1500) {
            var random = SeededGenerator(seed: seed)
            if let error = FuzzBodies.keyRing(&random) { Issue.record("seed \(seed): \(error)") }
        }
    }
}

extension [UInt8] {
    /// The counter of a sealed datagram.
    fileprivate var counter: UInt64 { self[4..<12].reduce(0) { $0 << 8 | UInt64($1) } }
}
