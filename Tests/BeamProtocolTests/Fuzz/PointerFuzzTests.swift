import Foundation
import Testing

@testable import BeamSession
@testable import BeamWire

/// Pointers from a host that says anything.
struct PointerFuzzTests {
    private static let corpus = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Corpus/pointer")

    /// Places and looks, whole and in parts, that fit into a length of one byte.
    private static func golden() throws -> [[UInt8]] {
        var datagrams = [
            PointerTests.place(0), PointerTests.place(1, look: 2, x: -5), PointerTests.place(2, .hidden),
            PointerTests.place(3, .inPicture), PointerTests.place(.max, look: 3),
        ]
        for (number, (width, height)) in [(3, 2), (7, 7), (1, 50)].enumerated() {
            datagrams += try PointerTests.parts(PointerTests.look(width, height), number: UInt32(number + 1))
        }
        // The second half of a look that is 8 × 8: the first one is the 7 × 7 look's with another size.
        var half = try PointerTests.parts(PointerTests.look(4, 8), number: 4)[0]
        (half[6], half[14]) = (8, 32)
        return (datagrams + [half]).filter { $0.count < 256 }
    }

    private static func joined(_ datagrams: [[UInt8]]) -> [UInt8] {
        datagrams.flatMap { [UInt8(clamping: $0.count)] + $0.prefix(255) }
    }

    @Test func anyDatagramsAreTakenWithinBounds() throws {
        let golden = try Self.golden()
        #expect(FuzzBodies.pointer(Self.joined(golden)) == nil)
        for seed in Fuzzing.seeds(3000) {
            var mutator = Mutator(seed: seed)
            let datagrams = (0..<Int.random(in: 1...40, using: &mutator.random)).map { _ -> [UInt8] in
                var datagram = golden.randomElement(using: &mutator.random) ?? []
                // Another sequence number, another look.
                if datagram.count > 4 { datagram[4] = UInt8.random(in: 0...5, using: &mutator.random) }
                return mutator.random.chance(0.3) ? mutator.mutate(datagram, with: golden) : datagram
            }
            if let error = FuzzBodies.pointer(Self.joined(datagrams)) { Issue.record("seed \(seed): \(error)") }
        }
    }

    /// Where `Scripts/fuzz --sanitize` begins, and what once failed there.
    @Test func theCorpusPasses() throws {
        let files = try FileManager.default.contentsOfDirectory(at: Self.corpus, includingPropertiesForKeys: nil)
        #expect(!files.isEmpty)
        for file in files {
            if let error = FuzzBodies.pointer([UInt8](try Data(contentsOf: file))) {
                Issue.record("\(file.path): \(error)")
            }
        }
    }
}
