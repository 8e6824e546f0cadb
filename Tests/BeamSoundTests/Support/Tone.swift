import BeamMedia
import Foundation

/// A sine in both channels, and what tests measure of one.
enum Tone {
    static func stereo(_ frequency: Double, count: Int, level: Double = 0.5, from start: Int = 0) -> [Float] {
        (start..<start + count).flatMap { index in
            let value = Float(level * sin(2 * .pi * frequency * Double(index) / Double(SoundBlock.sampleRate)))
            return [value, value]
        }
    }

    /// A signal in one channel as the sum of a sine of `frequency`, fitted by least squares, and the rest.
    static func fit(_ samples: [Float], _ frequency: Double) -> (level: Double, restToTone: Double) {
        var (real, imaginary, power) = (0.0, 0.0, 0.0)
        for (index, sample) in samples.enumerated() {
            let angle = 2 * .pi * frequency * Double(index) / Double(SoundBlock.sampleRate)
            real += Double(sample) * cos(angle)
            imaginary += Double(sample) * sin(angle)
            power += Double(sample) * Double(sample)
        }
        let count = Double(max(1, samples.count))
        let level = 2 * (real * real + imaginary * imaginary).squareRoot() / count
        let tone = level * level / 2
        return (level, tone > 0 ? max(0, power / count - tone) / tone : .infinity)
    }

    static func left(_ samples: some Sequence<Float>) -> [Float] {
        samples.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
    }

    static func largestStep(_ samples: [Float]) -> Float {
        zip(samples, samples.dropFirst()).reduce(0) { max($0, abs($1.1 - $1.0)) }
    }
}
