import BeamMedia
import Glibc

/// The sound of the test pattern: a burst that carries a number, and is found again to within a fraction of a
/// millisecond.
///
/// It begins with a chirp of 20 ms, from 500 Hz to 6 kHz. After 5 ms of silence there are eight symbols of 20 ms, each
/// one of 16 tones from 1 kHz to 4 kHz: the low 24 bits of the number, most significant first, and the low 8 bits of
/// the checksum of `PatternCode` for that number. The tones lie in the band that codecs keep at any rate, and farther
/// apart than any clock drifts.
enum PatternTone {
    /// In samples at 48 kHz.
    static let chirpLength = 960
    static let pause = 240
    static let symbolLength = 960
    static let symbolCount = 8
    static let length = chirpLength + pause + symbolCount * symbolLength
    /// Numbers are carried modulo this.
    static let modulus: UInt32 = 1 << 24

    private static let rate = Double(SoundBlock.sampleRate)
    private static let amplitude = 0.5

    static let chirp: [Float] = (0..<chirpLength).map { index in
        let (time, whole) = (Double(index) / rate, Double(chirpLength) / rate)
        let phase = 2 * Double.pi * (500 * time + (6000 - 500) / (2 * whole) * time * time)
        return Float(amplitude * sin(phase) * ramp(index, of: chirpLength, over: 48))
    }

    /// The frequency of a symbol, in Hz.
    static func frequency(_ symbol: Int) -> Double { 1000 + 200 * Double(symbol) }

    /// The symbols of `number`, 0…15.
    static func symbols(of number: UInt32) -> [Int] {
        let bits = (number % modulus) << 8 | UInt32(PatternCode.checksum(number % modulus, 0) & 0xFF)
        return (0..<symbolCount).map { Int(bits >> UInt32(4 * (symbolCount - 1 - $0)) & 15) }
    }

    /// The number that `symbols` carry; nil if the checksum doesn't match.
    static func number(of symbols: [Int]) -> UInt32? {
        let bits = symbols.reduce(0 as UInt32) { $0 << 4 | UInt32($1 & 15) }
        let number = bits >> 8
        return self.symbols(of: number) == symbols ? number : nil
    }

    /// The burst's samples, of one channel.
    static func burst(_ number: UInt32) -> [Float] {
        var samples = chirp + [Float](repeating: 0, count: pause)
        samples.reserveCapacity(length)
        for symbol in symbols(of: number) {
            let step = 2 * Double.pi * frequency(symbol) / rate
            for index in 0..<symbolLength {
                samples.append(
                    Float(amplitude * sin(step * Double(index)) * ramp(index, of: symbolLength, over: 96)))
            }
        }
        return samples
    }

    /// From 0 to 1 and back within `edge` samples at both ends, without the clicks of a sudden beginning.
    private static func ramp(_ index: Int, of count: Int, over edge: Int) -> Double {
        let place = min(index, count - 1 - index)
        guard place < edge else { return 1 }
        return (1 - cos(.pi * (Double(place) + 0.5) / Double(edge))) / 2
    }
}
