import BeamMedia
import Foundation
import Testing

@testable import BeamSession
@testable import BeamWire

/// What browsers send, mostly valid and damaged, for every parser and for the stream.
struct BrowserFuzzTests {
    enum Target: String, CaseIterable {
        case control, check, answer, picture, gateway

        func body(_ bytes: [UInt8]) -> String? {
            switch self {
            case .control: FuzzBodies.browserControl(bytes)
            case .check: FuzzBodies.connectivityCheck(bytes)
            case .answer: FuzzBodies.sessionAnswer(bytes)
            case .picture: FuzzBodies.browserPicture(bytes)
            case .gateway: FuzzBodies.gatewayMessage(bytes)
            }
        }

        var golden: [[UInt8]] {
            switch self {
            case .control: [RTCPTests.golden, Array(RTCPTests.golden.prefix(32)), Array(RTCPTests.golden.suffix(12))]
            case .check: [STUNTests.request]
            case .answer: [Array(SessionDescriptionTests.answer.utf8)]
            case .gateway: FuzzBodies.gatewayAnswers.map { Array($0.utf8) }
            case .picture: [TestFrame.make(1, bytes: 3000), TestFrame.make(2, bytes: 40)].map(\.unit.bytes)
            }
        }
    }

    @Test(arguments: Target.allCases) func anyInputIsRefusedOrBounded(target: Target) {
        let golden = target.golden
        for seed in Fuzzing.seeds(10_000) {
            var mutator = Mutator(seed: seed)
            let input = mutator.mutate(golden.randomElement(using: &mutator.random) ?? [], with: golden)
            if let error = target.body(input) {
                let hex = input.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
                Issue.record("\(target.rawValue), seed \(seed): \(error). Keep it in FailCases: \(hex)")
            }
        }
    }

    /// Where `Scripts/fuzz --sanitize` begins, and what once failed there.
    @Test(arguments: Target.allCases) func theCorpusPasses(target: Target) throws {
        try checkCorpus(target.rawValue, target.body)
    }

    @Test func theStreamsCorpusPasses() throws { try checkCorpus("stream", FuzzBodies.browserStream) }

    private func checkCorpus(_ name: String, _ body: ([UInt8]) -> String?) throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Corpus/\(name)")
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(!files.isEmpty)
        for file in files {
            let bytes = [UInt8](try Data(contentsOf: file))
            if let error = body(bytes) { Issue.record("\(name)/\(file.lastPathComponent): \(error)") }
        }
    }

    @Test func aStreamComesToRestAfterAnyInput() {
        for seed in Fuzzing.seeds(400) {
            var random = SeededGenerator(seed: seed)
            let bytes = random.bytes(Int.random(in: 0...1500, using: &random))
            if let error = FuzzBodies.browserStream(bytes) { Issue.record("stream, seed \(seed): \(error)") }
        }
    }
}
