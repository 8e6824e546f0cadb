import BeamMedia
import Foundation
import Testing

@testable import BeamSession
@testable import BeamWire

/// Hashes from a host that tells anything.
struct HashFuzzTests {
    private static let corpus = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Corpus/hashes")

    private static func state(
        time: UInt64 = 100, since: UInt64 = 100, width: Int = 100, height: Int = 70, first: Int = 0,
        rows: [UInt32] = [0, 1, 2, 3, 4]
    ) -> [UInt8] {
        var state = StreamState(newest: nil)
        state.hashes = [
            PictureHashes(
                size: PixelSize(width: width, height: height), time: time, since: since, firstRow: first, rows: rows)
        ]
        return state.plaintext
    }

    /// Right ones, wrong ones, in pieces, of other times, sizes and rows.
    private static var golden: [[UInt8]] {
        [
            state(), state(rows: [0, 1, 7, 3, 4]), state(rows: [0, 1]), state(first: 2, rows: [2, 3, 4]),
            state(first: 4, rows: [9]), state(time: 110, since: 110), state(time: 110, since: 100),
            state(time: 99, since: 99),
            state(time: .max, since: 0, rows: [8, 8, 8, 8, 8]), state(width: 640, height: 900, rows: Array(0..<57)),
            state(time: 120, since: 90, rows: [5, 5, 5, 5, 5]), state() + state(first: 1, rows: [3]),
        ]
    }

    private static func joined(_ states: [[UInt8]]) -> [UInt8] {
        states.flatMap { [UInt8(clamping: $0.count)] + $0.prefix(255) }
    }

    @Test func anyHashesAreTakenWithinBounds() {
        // Lengths are also times: an empty item of any kind is a pause.
        let pause: [UInt8] = [0, 2, 0, 0]
        let wrong = (0..<40).flatMap { _ in [pause, Self.state(rows: [9, 9, 9, 9, 9])] }
        #expect(FuzzBodies.hashes(Self.joined(Self.golden + wrong)) == nil)
        for seed in Fuzzing.seeds(4000) {
            var mutator = Mutator(seed: seed)
            let states = (0..<Int.random(in: 1...60, using: &mutator.random)).map { _ -> [UInt8] in
                if mutator.random.chance(0.1) { return [] }
                let state = Self.golden.randomElement(using: &mutator.random) ?? []
                return mutator.random.chance(0.3) ? mutator.mutate(state, with: Self.golden) : state
            }
            if let error = FuzzBodies.hashes(Self.joined(states)) { Issue.record("seed \(seed): \(error)") }
        }
    }

    /// Where `Scripts/fuzz --sanitize` begins, and what once failed there.
    @Test func theCorpusPasses() throws {
        let files = try FileManager.default.contentsOfDirectory(at: Self.corpus, includingPropertiesForKeys: nil)
        #expect(!files.isEmpty)
        for file in files {
            if let error = FuzzBodies.hashes([UInt8](try Data(contentsOf: file))) {
                Issue.record("\(file.path): \(error)")
            }
        }
    }
}
