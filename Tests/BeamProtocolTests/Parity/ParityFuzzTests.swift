import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

extension FuzzBodies {
    /// A parity datagram is refused, or its parts lie within its bytes and its header can be written again.
    static func parityDatagram(_ bytes: [UInt8]) -> String? {
        bytes.withUnsafeBytes { bytes in
            guard let datagram = try? ParityDatagram(bytes) else { return nil }
            guard datagram.shard.count == ParityCode.shardLength, bytes.count == 28 + datagram.shard.count else {
                return "the parts of the datagram don't add up"
            }
            var header = [UInt8](repeating: 0, count: 28)
            header.withUnsafeMutableBytes { datagram.header.write(to: $0) }
            // Stage times are ignored without a capture time.
            if datagram.header.frame.captureTime == nil { header.replaceSubrange(24..<28, with: bytes[24..<28]) }
            return header == Array(bytes.prefix(28)) ? nil : "a header differs after the round trip"
        }
    }

    /// For any parts and parity, the memory is bounded and counted, and a frame that comes out is in AVCC form; if
    /// nothing was damaged, it is the frame that was sent.
    static func frameParity(_ random: inout SeededGenerator, _ frame: WireFrame, _ parity: [[UInt8]]) -> String? {
        var assembly: FrameAssembly?
        let spoils = random.chance(0.7)
        for _ in 0..<Int.random(in: 1...40, using: &random) {
            let isPart = random.chance(0.5)
            var bytes = (isPart ? frame.parts : parity).randomElement(using: &random) ?? []
            if spoils {
                for _ in 0..<Int.random(in: 0...3, using: &random) {
                    let limit = random.chance(0.5) ? 28 : bytes.count
                    bytes[Int.random(in: 0..<limit, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                }
                if isPart, random.chance(0.1) { bytes.removeLast(min(bytes.count - 29, 5)) }
                if isPart, random.chance(0.1) { bytes += random.bytes(60) }
            }
            guard let insertion = try? (isPart ? Piece.part(bytes) : .parity(bytes)).insert(into: &assembly),
                let present = assembly
            else { continue }
            let parts = Int(present.header.partCount)
            guard present.received + present.reconstructed + present.missing == parts else {
                return "parts don't add up"
            }
            guard present.reservation <= FrameAssembly.reservation(for: present.header) + parts * 4096 + 65_536 else {
                return "too much is held"
            }
            guard insertion != .completed || present.unit != nil, insertion != .inserted || present.unit == nil else {
                return "the insertion's result contradicts the assembled frame"
            }
            if insertion == .malformedFrame {
                if !spoils { return "a frame that was sent whole is malformed" }
                assembly = nil
            }
            if let unit = present.unit {
                let isWellFormed = unit.bytes.withUnsafeBytes {
                    AVCC.isWellFormed(UnsafeRawBufferPointer(rebasing: $0[unit.range]))
                }
                guard isWellFormed else { return "a frame isn't in AVCC form" }
                guard spoils || unit.avcc == frame.unit.avcc else {
                    return "a frame differs from the one that was sent"
                }
            }
        }
        return nil
    }
}

struct ParityFuzzTests {
    @Test func anyParityDatagramIsRefusedOrReadBack() {
        for seed in Fuzzing.seeds(30_000) {
            var mutator = Mutator(seed: seed)
            var input = ParityDatagramTests.golden
            // The length is fixed, so three in four inputs have damage in the header only.
            if mutator.random.chance(0.75) {
                let header = mutator.mutate(ParityDatagramTests.header, with: [ParityDatagramTests.header])
                input.replaceSubrange(0..<28, with: (header + ParityDatagramTests.header).prefix(28))
            } else {
                input = mutator.mutate(input, with: [ParityDatagramTests.header])
            }
            let error = FuzzBodies.parityDatagram(input)
            #expect(error == nil, "seed \(seed)")
        }
    }

    @Test func anyPartsAndParityAreAssembledWithinBounds() throws {
        let frames = try [
            TestFrame.make(0, bytes: 9000), TestFrame.make(1, reference: 0, bytes: 9000),
            TestFrame.make(2, bytes: 500), TestFrame.make(3, reference: 2, bytes: 500),
            TestFrame.make(4, reference: 3, bytes: 140 * 1144),
        ].map { try WireFrame($0) }
        let parity = try frames.map { try $0.parity(rows: 0..<6) }
        for seed in Fuzzing.seeds(1500) {
            var random = SeededGenerator(seed: seed)
            let index = Int.random(in: frames.indices, using: &random)
            let error = FuzzBodies.frameParity(&random, frames[index], parity[index])
            #expect(error == nil, "seed \(seed)")
        }
    }
}
