import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

struct SoundDatagramTests {
    private func entries(_ bytes: [UInt8]) -> (isValid: Bool, entries: [(UInt32, Int64, UInt8, [UInt8])]) {
        var entries: [(UInt32, Int64, UInt8, [UInt8])] = []
        let isValid = bytes.withUnsafeBytes {
            SoundDatagram.read($0) {
                entries.append(($0.number, $0.time.nanoseconds, $0.flags.rawValue, Array($0.opus)))
            }
        }
        return (isValid, entries)
    }

    /// Number 0x01020304 at 1 s, then the packet before it.
    private static let golden: [UInt8] =
        [1, 2, 3, 4, 0, 0, 0, 0, 0, 0x0F, 0x42, 0x40] + [2, 0, 3, 0xAA, 0xBB, 0xCC] + [5, 0, 1, 0xDD]

    @Test func goldenBytes() {
        var bytes: [UInt8] = []
        SoundDatagram.appendHead(number: 0x0102_0304, time: .at(1), to: &bytes)
        SoundDatagram.append([0xAA, 0xBB, 0xCC], .ends, to: &bytes)
        SoundDatagram.append([0xDD], [.begins, .reduced], to: &bytes)
        #expect(bytes == Self.golden)
        let (isValid, read) = entries(bytes)
        #expect(isValid && read.count == 2)
        #expect(read[0] == (0x0102_0304, 1_000_000_000, 2, [0xAA, 0xBB, 0xCC]))
        #expect(read[1] == (0x0102_0303, 990_000_000, 5, [0xDD]))
    }

    @Test func whatIsCutShortEndsTheReading() {
        for length in 0..<Self.golden.count {
            let (isValid, read) = entries(Array(Self.golden.prefix(length)))
            #expect(isValid == (length >= 18), "\(length) bytes")
            #expect(read.count == (length >= 18 ? 1 : 0))
        }
        // An empty packet, one that is too long, and a time out of range.
        #expect(!entries(Array(Self.golden.prefix(12)) + [0, 0, 0]).isValid)
        #expect(!entries(Array(Self.golden.prefix(12)) + [0, 0x04, 0xFC] + [UInt8](repeating: 0, count: 1276)).isValid)
        #expect(!entries([0, 0, 0, 0] + [UInt8](repeating: 0xFF, count: 8) + [0, 0, 1, 0]).isValid)
        // Numbers wrap around, and so many packets are read.
        let many = [UInt8](repeating: 0, count: 12) + [[UInt8]](repeating: [0, 0, 1, 7], count: 20).flatMap { $0 }
        #expect(entries(many).entries.map(\.0) == [0] + (1..<8).map { UInt32(0) &- UInt32($0) })
    }

    @Test func theReportOfTheSoundIsReadAsItWasWritten() {
        let feedback = Feedback(
            sound: Feedback.Sound(expected: 0x0102_0304, missed: 5, lost: .max, missing: [7, .max]))
        let bytes = feedback.plaintext
        #expect(bytes == [6, 20, 1, 2, 3, 4, 0, 0, 0, 5, 255, 255, 255, 255, 0, 0, 0, 7, 255, 255, 255, 255])
        #expect(bytes.count == feedback.encodedLength)
        #expect(bytes.withUnsafeBytes { Feedback($0) } == feedback)
        let long = [6, 12 + 4 * 20] + [UInt8](repeating: 0, count: 12 + 80)
        #expect(long.withUnsafeBytes { Feedback($0) }.sound?.missing.count == Feedback.Sound.mostMissing)
        #expect([6, 11].withUnsafeBytes { Feedback($0) }.sound == nil)
    }

    @Test func theSoundsKeyIsDerivedFromTheMediaKey() {
        // HKDF-SHA-256 without salt of the golden key's 20 bytes, "BeamRoom 2 sound", 20 bytes; computed with Python.
        let key = SealingKey.golden.forSound
        #expect(key.number == SealingKey.golden.number)
        #expect(key.key + key.salt != SealingKey.golden.key + SealingKey.golden.salt)
        #expect(key.key.map { Int($0) } + key.salt.map { Int($0) } == Self.derived)
    }

    private static let derived: [Int] = [
        125, 44, 155, 214, 178, 250, 110, 239, 153, 215, 176, 69, 46, 93, 119, 155, 157, 239, 164, 82,
    ]
}
