import BeamMedia
import Foundation
import Testing

@testable import BeamSound

struct OpusTests {
    private let size = SoundBlock.length * SoundBlock.channelCount

    private func block(_ frequency: Double, _ number: Int) -> SoundBlock {
        let samples = Tone.stereo(frequency, count: SoundBlock.length, from: number * SoundBlock.length)
        return SoundBlock(samples: samples, time: .zero)
    }

    private func decoded(_ packets: [[UInt8]], with decoder: SoundDecoder) -> [Float] {
        var result: [Float] = []
        var output = [Float](repeating: 9, count: size)
        for packet in packets {
            #expect(decoder.decode(packet, into: &output))
            result += output
        }
        return result
    }

    @Test(arguments: [64_000, 128_000, 256_000])
    func `A tone comes out as it went in, later by the lookahead`(bitRate: Int) throws {
        let encoder = try SoundEncoder(bitRate: bitRate)
        let packets = (0..<50).map { encoder.encode(block(1000, $0)) }
        let output = Tone.left(decoded(packets, with: try SoundDecoder()))
        #expect(encoder.lookahead == 120)
        let original = Tone.left(Tone.stereo(1000, count: output.count))
        // A difference rather than a fit: the delay counts, too.
        let settled = 4800..<output.count
        let (noise, signal) = settled.reduce((0.0, 0.0)) { sums, index in
            let wanted = Double(original[index - encoder.lookahead])
            let difference = Double(output[index]) - wanted
            return (sums.0 + difference * difference, sums.1 + wanted * wanted)
        }
        #expect(noise / signal < 0.001)
    }

    @Test func `Every packet of a rate has the same size, whatever is in it`() throws {
        var random = SystemRandomNumberGenerator()
        for bitRate in [16_000, 24_000, 64_000, 128_000, 256_000] {
            let encoder = try SoundEncoder(bitRate: bitRate)
            let noise = (0..<size).map { _ in Float.random(in: -1...1, using: &random) }
            let silence = [Float](repeating: 0, count: size)
            let sizes = Set(
                [noise, silence, noise, block(440, 0).samples, silence].map {
                    encoder.encode(SoundBlock(samples: $0, time: .zero)).count
                })
            #expect(sizes == [SoundEncoder.bytes(ofBitRate: bitRate)])
        }
        #expect(SoundEncoder.mostBytes == 320)
    }

    @Test func `The rate changes from one packet to the next, within its range`() throws {
        let encoder = try SoundEncoder(bitRate: 128_000)
        #expect(encoder.encode(block(440, 0)).count == 160)
        encoder.bitRate = 64_000
        #expect(encoder.encode(block(440, 1)).count == 80)
        encoder.bitRate = 1
        #expect(encoder.bitRate == 16_000)
        #expect(encoder.encode(block(440, 2)).count == 20)
        encoder.bitRate = .max
        #expect(encoder.encode(block(440, 3)).count == SoundEncoder.mostBytes)
        #expect(encoder.encode(SoundBlock(samples: [0], time: .zero)).isEmpty)
    }

    @Test func `After a reset both ends are as new`() throws {
        let (used, new) = (try SoundEncoder(bitRate: 128_000), try SoundEncoder(bitRate: 128_000))
        let decoder = try SoundDecoder()
        let before = decoded((0..<20).map { used.encode(block(3000, $0)) }, with: decoder)
        used.reset()
        decoder.reset()
        let packets = (0..<20).map { used.encode(block(500, $0)) }
        #expect(packets == (0..<20).map { new.encode(block(500, $0)) })
        #expect(decoded(packets, with: decoder) == decoded(packets, with: try SoundDecoder()))
        #expect(before.contains { $0 != 0 })
    }

    @Test func `What is missing is concealed`() throws {
        let encoder = try SoundEncoder(bitRate: 128_000)
        let decoder = try SoundDecoder()
        let played = Tone.left(decoded((0..<30).map { encoder.encode(block(1000, $0)) }, with: decoder))
        var output = [Float](repeating: 9, count: size)
        decoder.conceal(into: &output)
        let first = Tone.left(output)
        #expect(Tone.fit(first, 1000).level > 0.3)
        #expect(abs(first[0] - played[played.count - 1]) < 0.1)
        // A decoder that has decoded nothing has nothing to go by.
        try SoundDecoder().conceal(into: &output)
        #expect(output.allSatisfy { $0 == 0 })
    }

    @Test func `A piece is concealed, and another one`() throws {
        let encoder = try SoundEncoder(bitRate: 128_000)
        let decoder = try SoundDecoder()
        var last = try #require(decoded((0..<30).map { encoder.encode(block(1000, $0)) }, with: decoder).last)
        for (piece, samples) in [120, 120, 240, 360].enumerated() {
            var output = [Float](repeating: 9, count: size)
            decoder.conceal(samples: samples, into: &output)
            #expect(output[(2 * samples)...].allSatisfy { $0 == 9 })
            #expect(abs(output[1] - last) < 0.1, "no click at the beginning of piece \(piece)")
            #expect(output[..<(2 * samples)].contains { abs($0) > 0.1 })
            last = output[2 * samples - 1]
        }
    }

    @Test func `A packet of another length is refused and leaves the output alone`() throws {
        let decoder = try SoundDecoder()
        // RFC 6716, 3.1: CELT, fullband, of 2.5, 5, 10 and 20 ms, one frame; then 10 ms as two frames of 5.
        var output = [Float](repeating: 9, count: size)
        for toc: UInt8 in [28 << 3, 29 << 3, 31 << 3] {
            #expect(!decoder.decode([toc, 1, 2, 3], into: &output))
        }
        for packet: [UInt8] in [[], [30 << 3 | 3], [30 << 3 | 3, 0], [UInt8](repeating: 30 << 3, count: 1276)] {
            #expect(!decoder.decode(packet, into: &output))
        }
        #expect(output.allSatisfy { $0 == 9 })
        #expect(decoder.decode([30 << 3, 1, 2, 3], into: &output))
        #expect(decoder.decode([29 << 3 | 1, 1, 2, 3, 4], into: &output))
    }

    @Test func `Nothing that comes from the network breaks the decoder`() throws {
        var random = SeededGenerator(seed: 17)
        let encoder = try SoundEncoder(bitRate: 64_000)
        let decoder = try SoundDecoder()
        let guardValue: Float = 123
        var output = [Float](repeating: guardValue, count: size + 64)
        var valid = 0
        for number in 0..<20_000 {
            var packet: [UInt8]
            if number % 2 == 0 {
                packet = (0..<Int.random(in: 0...200, using: &random)).map { _ in .random(in: 0...255, using: &random) }
            } else {
                packet = encoder.encode(block(Double(number % 997), number))
                for _ in 0..<Int.random(in: 0...8, using: &random) {
                    packet[.random(in: packet.indices, using: &random)] = .random(in: 0...255, using: &random)
                }
                packet.removeLast(.random(in: 0...packet.count, using: &random) / 3)
            }
            if decoder.decode(packet, into: &output) { valid += 1 } else { decoder.conceal(into: &output) }
            let bounded = output[..<size].allSatisfy { $0 >= -1 && $0 <= 1 }
            let untouched = output[size...].allSatisfy { $0 == guardValue }
            if !bounded || !untouched {
                Issue.record("packet \(number): \(packet)")
                return
            }
        }
        #expect(valid > 5000)
    }
}

/// SplitMix64 (G. L. Steele, D. Lea and C. H. Flood, OOPSLA 2014): the same numbers in every run.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
