import BeamMedia
import Glibc

/// Finds the bursts of the test pattern's sound (`PatternTone`) in what was captured, decoded or played of it, at 48
/// kHz.
///
/// A burst is found to within 0.2 ms, also after Opus at 64 kbit/s and with a clock that is wrong by 500 ppm. Needs
/// silence before each burst.
public struct PatternSoundReader {
    public struct Burst: Hashable, Sendable {
        /// The low 24 bits of the number of the frame that was due when the burst began.
        public var number: UInt32
        /// Where the burst begins, in samples of one channel since the first that was added.
        public var onset: Int

        public init(number: UInt32, onset: Int) {
            self.number = number
            self.onset = onset
        }
    }

    /// A burst begins where the mean square of 1 ms is above this (-40 dB), and near there.
    private static let loud: Float = 0.0001
    private static let window = 48
    /// Samples before and after the loud ones in which the chirp may begin: 10 ms.
    private static let search = 480
    /// Of the correlation with the chirp; 1 is the chirp itself.
    private static let leastLikeness: Float = 0.6

    private let channels: Int
    /// What isn't searched yet, of the first channel.
    private var samples: [Float] = []
    /// The index of the first of them since the beginning.
    private var first = 0

    /// - Parameter channels: of interleaved samples, of which the first one is read.
    public init(channels: Int = 1) { self.channels = max(1, channels) }

    /// Adds samples, whole frames of all channels, and returns the bursts that are complete with them.
    public mutating func add(_ added: [Float]) -> [Burst] {
        for index in stride(from: 0, to: added.count, by: channels) {
            samples.append(added[index].isFinite ? added[index] : 0)
        }
        var bursts: [Burst] = []
        var from = min(Self.search, samples.count)
        while from + Self.window <= samples.count {
            guard isLoud(from) else {
                from += Self.window
                continue
            }
            guard from + Self.search + PatternTone.length <= samples.count else { break }
            if let found = burst(near: from) {
                bursts.append(Burst(number: found.number, onset: first + found.onset))
                from = found.onset + PatternTone.length
            } else {
                from += Self.search
            }
        }
        // The chirp may begin a little earlier.
        let searched = max(0, min(from, samples.count) - Self.search)
        samples.removeFirst(searched)
        first += searched
        return bursts
    }

    private func isLoud(_ from: Int) -> Bool {
        samples[from..<from + Self.window].reduce(0) { $0 + $1 * $1 } > Self.loud * Float(Self.window)
    }

    /// The burst that begins within 10 ms of `place`, whose onset is an index of `samples`.
    private func burst(near place: Int) -> (number: UInt32, onset: Int)? {
        var (best, onset) = (Self.leastLikeness, -1)
        samples.withUnsafeBufferPointer { samples in
            PatternTone.chirp.withUnsafeBufferPointer { chirp in
                for start in max(0, place - Self.search)..<place + Self.search {
                    let likeness = Self.likeness(samples, start, chirp)
                    if likeness > best { (best, onset) = (likeness, start) }
                }
            }
        }
        guard onset >= 0 else { return nil }
        let symbols = (0..<PatternTone.symbolCount).map { index in
            symbol(onset + PatternTone.chirpLength + PatternTone.pause + index * PatternTone.symbolLength)
        }
        return PatternTone.number(of: symbols).map { ($0, onset) }
    }

    /// The normalised correlation of `chirp` with `samples` from `start` on.
    private static func likeness(
        _ samples: UnsafeBufferPointer<Float>, _ start: Int, _ chirp: UnsafeBufferPointer<Float>
    ) -> Float {
        var (product, power, own): (Float, Float, Float) = (0, 0, 0)
        for index in 0..<chirp.count {
            let sample = samples[start + index]
            product += sample * chirp[index]
            power += sample * sample
            own += chirp[index] * chirp[index]
        }
        return power > 0 ? product / (power * own).squareRoot() : 0
    }

    /// The loudest tone in the middle 16 ms of the symbol at `start` (Goertzel's algorithm).
    private func symbol(_ start: Int) -> Int {
        let edge = PatternTone.symbolLength / 10
        let part = samples[start + edge..<start + PatternTone.symbolLength - edge]
        var (best, loudest) = (0, -Double.infinity)
        for symbol in 0..<16 {
            let factor = 2 * cos(2 * .pi * PatternTone.frequency(symbol) / Double(SoundBlock.sampleRate))
            var (a, b) = (0.0, 0.0)
            for sample in part { (a, b) = (Double(sample) + factor * a - b, a) }
            let power = a * a + b * b - factor * a * b
            if power > loudest { (best, loudest) = (symbol, power) }
        }
        return best
    }
}
