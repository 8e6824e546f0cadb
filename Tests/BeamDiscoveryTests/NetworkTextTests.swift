import Foundation
import Testing

@testable import BeamDiscovery

struct NetworkTextTests {
    @Test(arguments: [
        ("Studio", "Studio"), ("  two\t words\r\n", "two words"), ("a\u{202E}b", "a b"), ("👩‍👩‍👧", "👩‍👩‍👧"),
        (String(repeating: "a", count: 62) + "é", String(repeating: "a", count: 62)),
        (String(repeating: "a", count: 62) + " b", String(repeating: "a", count: 62)),
    ])
    func `A name is announced as one line of at most 63 bytes`(name: String, expected: String) {
        #expect(NetworkText.instanceName(name) == expected)
    }

    @Test(arguments: ["", " \n\t", "\u{1B}", "\u{200B}"])
    func `Names without printable characters can't be announced`(name: String) {
        #expect(NetworkText.instanceName(name) == nil)
    }

    @Test func `TXT strings have at most 255 bytes and valid keys`() {
        let entries = NetworkText.entries([
            (key: "deviceName", value: String(repeating: "ü", count: 200)), (key: "a=b", value: "x"),
            (key: "", value: "x"),
            (key: "ключ", value: "x"), (key: String(repeating: "k", count: 255), value: "x"),
            (key: "beam", value: "1\0"),
        ])
        #expect(entries == ["deviceName=" + String(repeating: "ü", count: 122), "beam=1"])
        #expect(entries.allSatisfy { $0.utf8.count <= 255 })
    }

    @Test func `Received TXT pairs are cleaned`() {
        let entries = ["beam=1", "BEAM=2", "flag", "=x", "equation=a=b", "", "bell=\u{07}"].map { Array($0.utf8) }
        #expect(
            NetworkText.pairs(entries) == ["beam": "1", "flag": "", "equation": "a=b", "bell": "\u{FFFD}"])
        #expect(NetworkText.pairs([[0x6B, 0x3D, 0xFF, 0xFE]]) == ["k": "\u{FFFD}\u{FFFD}"])
        #expect(NetworkText.pairs((0..<500).map { Array("k\($0)=".utf8) }).count == NetworkText.maxEntries)
    }

    /// `BEAMROOM_FUZZ_ITERATIONS` sets the number of iterations (default 100,000), `BEAMROOM_FUZZ_SEED` the first seed.
    private static func seeds(_ usual: Int) -> Range<UInt64> {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["BEAMROOM_FUZZ_SEED"].flatMap { UInt64($0) } ?? 1
        let wanted = environment["BEAMROOM_FUZZ_ITERATIONS"].flatMap { Int($0) } ?? 100_000
        return first..<first + UInt64(max(1, wanted * usual / 100_000))
    }

    /// Fuzz body: whatever is received, the results are within limits and printable.
    @Test func `Fuzz: text from the network`() {
        for seed in Self.seeds(500) {
            var random = SplitMix(state: seed)
            let entries = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                (0..<Int.random(in: 0...300, using: &random)).map { _ in
                    // Mostly bytes with a meaning for the parser.
                    [0x00, 0x1B, 0x3D, 0x61, 0xC3, 0xE2, 0xF0, UInt8.random(in: 0...255, using: &random)]
                        .randomElement(using: &random) ?? 0
                }
            }
            for (key, value) in NetworkText.pairs(entries) {
                #expect(key.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "seed \(seed)")
                #expect(value.utf8.count <= NetworkText.maxEntryBytes, "seed \(seed)")
                #expect(
                    value.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }, "seed \(seed)")
            }
            let text = String(decoding: entries.first ?? [], as: UTF8.self)
            if let name = NetworkText.instanceName(text) {
                #expect((1...NetworkText.maxNameBytes).contains(name.utf8.count), "seed \(seed)")
                #expect(NetworkText.instanceName(name) == name, "seed \(seed)")
            }
        }
    }
}

/// SplitMix64, a seeded generator.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
