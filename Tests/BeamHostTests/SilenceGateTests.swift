import BeamMedia
import Testing

@testable import BeamHost

struct SilenceGateTests {
    private static let length = SoundBlock.length * SoundBlock.channelCount

    private func block(_ index: Int, level: Float, late: Duration = .zero) -> SoundBlock {
        SoundBlock(
            samples: [Float](repeating: level, count: Self.length),
            time: MediaTime(nanoseconds: Int64(index) * 10_000_000) + late)
    }

    @Test func nothingIsSentWhileNothingIsHeard() {
        var gate = SilenceGate()
        for index in 0..<100 {
            // Exact zeros, and what is below the smallest step of 16 bits.
            let verdict = gate.take(block(index, level: index % 2 == 0 ? 0 : 1e-5))
            #expect(verdict == .drop)
        }
    }

    @Test func soundBeginsAtOnceAndEndsAfterAWhileOfSilence() {
        var gate = SilenceGate()
        #expect(gate.take(block(0, level: 0)) == .drop)
        #expect(gate.take(block(1, level: 0.5)) == .send(begins: true, ends: false))
        #expect(gate.take(block(2, level: -0.5)) == .send(begins: false, ends: false))
        for index in 3..<2 + SilenceGate.tail {
            #expect(gate.take(block(index, level: 0)) == .send(begins: false, ends: false))
        }
        #expect(gate.take(block(2 + SilenceGate.tail, level: 0)) == .send(begins: false, ends: true))
        #expect(gate.take(block(3 + SilenceGate.tail, level: 0)) == .drop)
        #expect(gate.take(block(4 + SilenceGate.tail, level: 2e-5)) == .send(begins: true, ends: false))
    }

    @Test func aPauseBetweenWordsIsSent() {
        var gate = SilenceGate()
        _ = gate.take(block(0, level: 0.5))
        for index in 1..<SilenceGate.tail { _ = gate.take(block(index, level: 0)) }
        #expect(gate.take(block(SilenceGate.tail, level: 0.5)) == .send(begins: false, ends: false))
    }

    @Test func aGapInTheTimesIsABeginning() {
        var gate = SilenceGate()
        _ = gate.take(block(0, level: 0.5))
        // A card's clock that drifts is none.
        #expect(gate.take(block(1, level: 0.5, late: .microseconds(10))) == .send(begins: false, ends: false))
        #expect(gate.take(block(5, level: 0.5)) == .send(begins: true, ends: false))
        #expect(gate.take(block(2, level: 0.5)) == .send(begins: true, ends: false))
    }

    @Test func whatIsNoNumberIsNoSound() {
        var gate = SilenceGate()
        #expect(gate.take(block(0, level: .nan)) == .drop)
    }
}
