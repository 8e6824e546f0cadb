import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Frames that would cost a viewer far more than their sender.
struct FloodTests {
    /// A frame's version 1 datagrams with parts of any length.
    private func datagrams(_ unit: AccessUnit, _ number: UInt32, partLength: Int) throws -> [[UInt8]] {
        let config = unit.isKeyframe ? try #require(ParameterSetBlock.encode(TestFrame.parameterSets)) : []
        let bytes = Array(unit.avcc)
        let first = partLength - config.count
        let cuts =
            [0..<min(first, bytes.count)]
            + stride(from: first, to: bytes.count, by: partLength).map {
                $0..<min($0 + partLength, bytes.count)
            }
        return cuts.enumerated().map { part, range in
            let frame = MediaHeader.Frame(
                partCount: UInt16(cuts.count), flags: unit.isKeyframe ? [.keyframe, .parameterSets] : [], width: 1366,
                height: 767)
            let ownConfig = part == 0 ? config : []
            var header = [UInt8](repeating: 0, count: MediaForm.version1.headerLength)
            header.withUnsafeMutableBytes {
                MediaHeader(
                    sequence: SequenceNumber(number), part: UInt16(part), frame: frame,
                    configLength: UInt16(ownConfig.count)
                ).write(to: $0, as: .version1)
            }
            return header + ownConfig + bytes[range]
        }
    }

    /// Parts far behind a gap are held outside the frame's memory, and still end up in their places.
    @Test(arguments: [1180, 1144, 1400, 900]) func longFramesCanComeInAnyOrder(partLength: Int) throws {
        let unit = TestFrame.make(3, bytes: 400_000).unit
        let parts = try datagrams(unit, 5, partLength: partLength)
        var orders: [[[UInt8]]] = [parts, parts.reversed(), Array(parts.suffix(200) + parts.dropLast(200))]
        for seed in 1...8 {
            var random = SeededGenerator(seed: UInt64(seed))
            orders.append(parts.shuffled(using: &random))
        }
        for (index, order) in orders.enumerated() {
            var bench = ReassemblerTests.Bench()
            bench.insert(order)
            #expect(bench.frames.map { Array($0.unit.avcc) } == [unit.bytes], "order \(index)")
        }
    }

    /// Memory of the parts before the first one that arrived isn't touched.
    @Test func aDatagramTouchesMemoryInProportionToItself() throws {
        let most = Int(MediaForm.version1.partLimit)
        var bench = ReassemblerTests.Bench()
        for number in UInt32(0)..<200 {
            let frame = MediaHeader.Frame(partCount: UInt16(most), flags: [], width: 640, height: 480)
            var header = [UInt8](repeating: 0, count: MediaForm.version1.headerLength)
            header.withUnsafeMutableBytes {
                MediaHeader(
                    sequence: SequenceNumber(number * 3), part: UInt16(most - 1), frame: frame, configLength: 0
                ).write(to: $0, as: .version1)
            }
            bench.insert(header + [UInt8](repeating: 1, count: 1000))
            for assembly in bench.reassembler.frames { #expect(assembly.touched <= 1000) }
        }
        // Also after many parts have arrived.
        var parts = try datagrams(TestFrame.make(0, bytes: 4_000_000).unit, 5000, partLength: 1180)
        parts.reverse()
        bench = ReassemblerTests.Bench()
        for (index, part) in parts.enumerated() {
            bench.insert(part)
            guard let assembly = bench.reassembler.frames.first else { continue }
            #expect(assembly.touched <= (index + 2) * 17 * 1500)
        }
        #expect(bench.frames.count == 1)
    }

    /// A host whose frame numbers leap, with a keyframe of many parts each time: the viewer requests only what can be
    /// of use.
    @Test func leapingKeyframesAreForgotten() throws {
        var bench = ViewerBench(.secure(knows: true))
        let key = SealingKey.made(1)
        let sealer = DatagramSealer(key: key)
        bench.handle(.controlSecured(.host))
        let nonce = [UInt8](repeating: 1, count: 32)
        bench.say(
            .welcome(SecureMessage.Welcome(isTrusted: true, methods: [], nonce: nonce, name: "host")),
            .session(
                SecureMessage.Session(
                    id: [UInt8](repeating: 2, count: 16), mediaPort: 7, isBroadcasting: true, viewerKey: .made(2),
                    mediaKey: key)))
        bench.handle(.mediaOpened(localPort: 40000))
        let keyframe = TestFrame.make(1, bytes: 6000)
        for leap: UInt32 in [1, 2, 257, 1000, 1 << 30] {
            var number: UInt32 = 1
            for _ in 0..<400 {
                let parts = try sealedDatagrams(keyframe, number, sealer)
                bench.datagram(parts[0])
                bench.datagram(parts[3])
                bench.advance(by: .milliseconds(3))
                number &+= leap
                #expect(bench.session.receiver.reassembler.requests.entries.count <= PartRequests.mostEntries)
                #expect(bench.session.receiver.reassembler.framesInFlight <= 64)
            }
        }
        // When the numbers are in order again, frames are delivered again.
        let delivered = bench.delivered.count
        for number in UInt32(3_000_000_000)..<3_000_000_020 {
            let isFirst = number == 3_000_000_000
            let frame = TestFrame.make(number, reference: isFirst ? nil : number - 1, bytes: 3000)
            for datagram in try sealedDatagrams(frame, number, sealer) { bench.datagram(datagram) }
            bench.advance(by: .milliseconds(100))
        }
        #expect(bench.delivered.count >= delivered + 20)
    }

    /// A request that names the same part in many ranges is ignored: handling it would take as long as hundreds of
    /// others.
    @Test func overlappingRangesAreIgnored() {
        var bytes: [UInt8] = [2, 5 + 48 * 4, 0, 0, 0, 1, 0]
        for _ in 0..<48 { bytes += [0, 0, 0x1F, 0xFF] }
        let feedback = bytes.withUnsafeBytes { Feedback($0) }
        #expect(feedback.missing.isEmpty)
    }
}
