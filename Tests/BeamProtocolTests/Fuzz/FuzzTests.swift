import BeamMedia
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Seeded inputs, mostly valid ones that were damaged, for every parser and both sessions.
struct FuzzTests {
    private static let goldenDatagrams: [[UInt8]] = {
        let frames = [
            TestFrame.make(0, bytes: 2500), TestFrame.make(1, reference: 0, bytes: 2500), TestFrame.make(2, bytes: 50),
            TestFrame.make(3, reference: 2, bytes: 50),
        ]
        let parts = frames.enumerated().flatMap { (try? datagrams($1, UInt32($0))) ?? [] }
        return parts + [MediaDatagramTests.smallFrame, MediaDatagramTests.smallKeyframe, Array("BRHI!".utf8)]
    }()

    private static let goldenLines: [[UInt8]] =
        ControlMessageTests.golden.map { Array($0.1.utf8) } + FailCases.lines

    private func check(_ error: String?, seed: UInt64, input: [UInt8] = []) {
        guard let error else { return }
        let hex = input.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        Issue.record("seed \(seed): \(error). Keep it in FailCases: \(hex)")
    }

    @Test func anyDatagramIsRefusedOrReadBack() {
        for seed in Fuzzing.seeds(100_000) {
            var mutator = Mutator(seed: seed)
            let golden = Self.goldenDatagrams.randomElement(using: &mutator.random) ?? []
            let input = mutator.mutate(golden, with: Self.goldenDatagrams)
            check(FuzzBodies.datagram(input), seed: seed, input: input)
        }
    }

    @Test func anyLineIsRefusedOrReadBack() {
        for seed in Fuzzing.seeds(30_000) {
            var mutator = Mutator(seed: seed)
            let golden = Self.goldenLines.randomElement(using: &mutator.random) ?? []
            let input = mutator.mutate(golden, with: Self.goldenLines)
            check(FuzzBodies.line(input), seed: seed, input: input)
            check(FuzzBodies.stream(input, &mutator.random), seed: seed, input: input)
        }
    }

    @Test func anyFragmentsAreReassembledWithinBounds() {
        for seed in Fuzzing.seeds(4000) {
            var random = SeededGenerator(seed: seed)
            let error = FuzzBodies.reassembler(&random) { random in
                let golden = Self.goldenDatagrams.randomElement(using: &random) ?? []
                guard random.chance(0.5) else { return golden }
                // Only headers are damaged: the content is the decoder's business.
                var bytes = golden
                for _ in 0..<Int.random(in: 1...3, using: &random) where bytes.count >= 20 {
                    bytes[Int.random(in: 4..<20, using: &random)] = UInt8.random(in: 0...3, using: &random)
                }
                return bytes
            }
            check(error, seed: seed)
        }
    }

    @Test func aViewerSessionComesToRestAfterAnyInput() {
        for seed in Fuzzing.seeds(3000) {
            var random = SeededGenerator(seed: seed)
            check(FuzzBodies.viewer(&random) { Self.anything(&$0) }, seed: seed)
        }
    }

    @Test func aHostSessionComesToRestAfterAnyInput() {
        for seed in Fuzzing.seeds(3000) {
            var random = SeededGenerator(seed: seed)
            check(FuzzBodies.host(&random) { Self.anything(&$0) }, seed: seed)
        }
    }

    @Test func anyFeedbackIsBoundedAndReadBack() {
        for seed in Fuzzing.seeds(30_000) {
            var mutator = Mutator(seed: seed)
            let golden = FeedbackTests.golden.randomElement(using: &mutator.random) ?? []
            let input = mutator.mutate(golden, with: FeedbackTests.golden)
            check(FuzzBodies.feedback(input), seed: seed, input: input)
            check(FuzzBodies.state(input), seed: seed, input: input)
        }
    }

    @Test func aHostSessionHandlesAnyFeedback() {
        for seed in Fuzzing.seeds(150) {
            var random = SeededGenerator(seed: seed)
            check(FuzzBodies.lyingViewer(&random, FeedbackTests.golden), seed: seed)
        }
    }

    @Test func inputsThatOnceFailedPass() {
        var random = SeededGenerator(seed: 1)
        for input in FailCases.lines {
            check(FuzzBodies.line(input), seed: 0, input: input)
            check(FuzzBodies.stream(input, &random), seed: 0, input: input)
        }
        for input in FailCases.datagrams { check(FuzzBodies.datagram(input), seed: 0, input: input) }
    }

    /// Golden lines and datagrams, some of them damaged.
    private static func anything(_ random: inout SeededGenerator) -> [UInt8] {
        let isLine = random.chance(0.6)
        let golden = (isLine ? goldenLines : goldenDatagrams).randomElement(using: &random) ?? []
        guard random.chance(0.25) else { return golden + (isLine ? [0x0A] : []) }
        var mutator = Mutator(seed: random.next())
        return mutator.mutate(golden, with: goldenDatagrams) + (isLine ? [0x0A] : [])
    }
}
