import Foundation

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// The number of inputs, and the first seed. `BEAMROOM_FUZZ_ITERATIONS` sets the number, `BEAMROOM_FUZZ_SEED` the seed;
/// a failure names the seed that repeats it.
enum Fuzzing {
    /// The seeds of a body whose usual number of inputs is `usual`; `BEAMROOM_FUZZ_ITERATIONS` scales it.
    static func seeds(_ usual: Int) -> Range<UInt64> {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["BEAMROOM_FUZZ_SEED"].flatMap { UInt64($0) } ?? 1
        guard let wanted = environment["BEAMROOM_FUZZ_ITERATIONS"].flatMap({ Int($0) }) else {
            return first..<first + UInt64(usual)
        }
        // Slower bodies keep their smaller share.
        return first..<first + UInt64(max(1, wanted * usual / usualIterations))
    }

    static let usualIterations = 100_000
}

/// Damages inputs.
struct Mutator {
    var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    private static let interesting: [UInt8] = [
        0, 1, 2, 3, 0x0A, 0x0D, 0x20, 0x22, 0x2C, 0x3A, 0x5B, 0x5C, 0x5D, 0x7B, 0x7D, 0x7F, 0x80, 0xC3, 0xFE, 0xFF,
    ]

    mutating func mutate(_ input: [UInt8], with others: [[UInt8]]) -> [UInt8] {
        var bytes = input
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            let position = Int.random(in: 0...bytes.count, using: &random)
            let end = Int.random(in: position...min(bytes.count, position + 40), using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0 where position < bytes.count: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1 where position < bytes.count: bytes[position] = Self.interesting.randomElement(using: &random) ?? 0
            case 2: bytes.insert(Self.interesting.randomElement(using: &random) ?? 0, at: position)
            case 3: bytes.removeSubrange(position..<end)
            case 4: bytes.insert(contentsOf: bytes[position..<end], at: position)
            case 5: bytes.removeSubrange(position...)
            case 6:
                let other = others.randomElement(using: &random) ?? []
                bytes = bytes[..<position] + other.suffix(Int.random(in: 0...other.count, using: &random))
            default: bytes.insert(contentsOf: random.bytes(Int.random(in: 1...8, using: &random)), at: position)
            }
            if bytes.count > 6000 { bytes.removeSubrange(6000...) }
        }
        return bytes
    }
}
