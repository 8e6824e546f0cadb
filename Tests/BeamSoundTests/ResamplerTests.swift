import BeamMedia
import Foundation
import Testing

@testable import BeamSound

struct ResamplerTests {
    private let resampler: SoundResampler

    init() throws { resampler = try SoundResampler() }

    /// Resamples `input` in blocks of 480, with a ratio for each.
    private func resampled(_ input: [Float], ratio: (Int) -> Double) -> [Float] {
        var output: [Float] = []
        var room = [Float](repeating: 0, count: 2 * 600)
        for block in 0..<input.count / 960 {
            let result = input[(block * 960)..<(block + 1) * 960].withUnsafeBufferPointer {
                resampler.process($0.baseAddress!, 480, &room, capacity: 600, ratio: ratio(block))
            }
            #expect(result.read == 480)
            output += room[..<(2 * result.written)]
        }
        return output
    }

    @Test(arguments: [100.0, 1000, 10_000])
    func `A tone keeps its level and gets no noise`(frequency: Double) {
        for ratio in [0.997, 0.9997, 1, 1.000_001, 1.0003, 1.003] {
            resampler.reset()
            let output = Tone.left(resampled(Tone.stereo(frequency, count: 48_000), ratio: { _ in ratio }))
            let (level, rest) = Tone.fit(Array(output.dropFirst(480)), frequency * ratio)
            // What is left over is the fit's own: the span isn't a whole number of periods.
            #expect(abs(level - 0.5) < 0.002, "\(ratio)")
            #expect(rest < 1e-4, "\(ratio)")
        }
    }

    @Test func `A ratio of 1 only delays, by the latency`() {
        let input = Tone.stereo(1000, count: 4800)
        let output = Tone.left(resampled(input) { _ in 1 })
        let original = Tone.left(input)
        #expect(output.count == 4800)
        let errors = (480..<4800).map { abs(output[$0] - original[$0 - SoundResampler.latency]) }
        #expect((errors.max() ?? 1) < 1e-4)
    }

    @Test func `The ratio moves without a click`() {
        let frequency = 1000.0
        let input = Tone.stereo(frequency, count: 10 * 48_000)
        // From -1000 to 1000 ppm, through 1, by 2 ppm a block and by 1 ppm back and forth.
        let output = Tone.left(resampled(input) { 1 + (Double($0) * 2 - 1000 + Double($0 % 2)) * 1e-6 })
        let steepest = Float(0.5 * 2 * .pi * frequency * 1.001 / 48_000)
        #expect(Tone.largestStep(Array(output.dropFirst(480))) < steepest * 1.001)
        // The second difference shows a jump of the position that the first one would hide: a sine's own is at most
        // its level times the square of its angle a sample.
        let steps = zip(output.dropFirst(), output).map { $0 - $1 }
        let angle = Float(2 * .pi * frequency * 1.001 / 48_000)
        #expect(Tone.largestStep(Array(steps.dropFirst(480))) < 0.5 * angle * angle * 1.01)
    }

    @Test func `A step of 1 ppm counts`() {
        let count = 100 * 480
        for ppm in [-3.0, -1, 0, 1, 3, 14] {
            resampler.reset()
            let input = Tone.stereo(440, count: count)
            let output = Tone.left(resampled(input) { _ in 1 + ppm * 1e-6 })
            // After n samples the position is ahead by n × ppm: compare with the sine at that place.
            let index = 47_000
            let place = Double(index) * (1 + ppm * 1e-6) - Double(SoundResampler.latency)
            let wanted = Float(0.5 * sin(2 * .pi * 440 * place / 48_000))
            #expect(abs(output[index] - wanted) < 1e-4, "\(ppm) ppm")
        }
    }

    @Test func `The channels stay apart`() {
        let input = (0..<4800).flatMap { index -> [Float] in [Float(sin(Double(index) * 0.1)), 0] }
        let output = resampled(input) { _ in 1.0005 }
        #expect(output.enumerated().allSatisfy { $0.offset % 2 == 0 || $0.element == 0 })
        #expect(output.contains { $0 > 0.9 })
    }

    @Test func `Any sizes and any ratio are right`() {
        var random = SeededGenerator(seed: 3)
        var input = [Float](repeating: 0.25, count: 2 * 5000)
        var output = [Float](repeating: 9, count: 2 * 5000)
        var (read, written) = (0, 0)
        for _ in 0..<2000 {
            let ratio = [0.99, 1.01, .nan, .infinity, -1, 1e300].randomElement(using: &random)!
            let size = Int.random(in: -1...3000, using: &random)
            let capacity = Int.random(in: 0...3000, using: &random)
            let result = resampler.process(&input, size, &output, capacity: capacity, ratio: ratio)
            #expect((0...max(0, size)).contains(result.read) && (0...capacity).contains(result.written))
            // One of both is always the limit.
            #expect(result.read == max(0, size) || result.written == capacity)
            read += result.read
            written += result.written
        }
        let range = SoundResampler.ratios
        #expect(Double(read) >= Double(written) * range.lowerBound && read > 100_000)
        #expect(Double(read) <= Double(written) * range.upperBound + 1100)
        #expect(output[..<100].allSatisfy { abs($0 - 0.25) < 1e-5 })
    }
}
