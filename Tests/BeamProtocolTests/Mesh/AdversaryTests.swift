import Foundation
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Up to three of eight members mean harm. `BEAMROOM_SEEDS` sets how many rooms are played, `BEAMROOM_FUZZ_SEED` the first
/// one; a failure names the seed that repeats it. `Scripts/fuzz --room` plays 10,000 of them, optimised.
struct AdversaryTests {
    private static let seeds: [UInt64] = {
        let environment = ProcessInfo.processInfo.environment
        let count = environment["BEAMROOM_SEEDS"].flatMap { UInt64($0) } ?? 2
        let first = environment["BEAMROOM_FUZZ_SEED"].flatMap { UInt64($0) } ?? 1
        return Array(first..<first + count)
    }()

    @Test(arguments: AdversaryTests.seeds)
    func `Honest members agree, whatever some members send`(seed: UInt64) {
        if let fault = RoomUnderAttack.play(seed: seed) { Issue.record("\(fault)") }
    }

    /// What libFuzzer is given (`Scripts/fuzz --sanitize room`), with random bytes.
    @Test func anythingThatAMemberSigns() {
        for seed in Fuzzing.seeds(6) {
            var random = SeededGenerator(seed: seed)
            let bytes = random.bytes(Int.random(in: 100...1500, using: &random))
            if let fault = FuzzBodies.roomWithAdversary(bytes) { Issue.record("seed \(seed): \(fault)") }
        }
    }
}
