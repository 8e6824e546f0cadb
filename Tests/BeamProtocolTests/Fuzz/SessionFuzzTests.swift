import Foundation
import Testing

@testable import BeamLog
@testable import BeamSession
@testable import BeamWire

/// Both sessions, fed with authentic messages and datagrams whose fields have any value.
struct SessionFuzzTests {
    enum Target: String, CaseIterable {
        case host, viewer

        func body(_ bytes: [UInt8]) -> String? {
            switch self {
            case .host: FuzzBodies.hostSession(bytes)
            case .viewer: FuzzBodies.viewerSession(bytes)
            }
        }
    }

    private static let corpus = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Corpus")

    /// Inputs that once failed, and some that reach deep states. `Scripts/fuzz --sanitize` begins with them, too.
    @Test(arguments: Target.allCases) func theCorpusPasses(target: Target) throws {
        let folder = Self.corpus.appending(path: target.rawValue)
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(!files.isEmpty)
        for file in files {
            let bytes = [UInt8](try Data(contentsOf: file))
            if let error = target.body(bytes) { Issue.record("\(target.rawValue)/\(file.lastPathComponent): \(error)") }
        }
    }

    /// Some of the runs get into the room, and write there.
    @Test func runsReachTheRoom() {
        var (atHost, atViewer) = (0, 0)
        for seed in 1...40 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            let bytes = random.bytes(1400)
            _ = FuzzBodies.hostSession([192 + UInt8(seed % 3)] + bytes) { session in
                atHost += session.room?.log.authors.contains { $0.author.device == .viewer } == true ? 1 : 0
            }
            _ = FuzzBodies.viewerSession([3] + bytes) { session, _ in
                atViewer += session.room?.log.authors.contains { $0.author.device == .host } == true ? 1 : 0
            }
        }
        #expect(atHost > 10 && atViewer > 10, "\(atHost) and \(atViewer) of 40")
    }

    /// Some of the corpus delivers what goes beside the pictures. Random inputs rarely do.
    @Test func theCorpusDeliversPatchesAndPointers() throws {
        var (patches, pointers) = (0, 0)
        for number in 0..<3 {
            let file = Self.corpus.appending(path: "viewer/beside-\(number)")
            _ = FuzzBodies.viewerSession([UInt8](try Data(contentsOf: file))) { _, delivered in
                patches += delivered.patches
                pointers += delivered.pointers
            }
        }
        #expect(patches > 0 && pointers > 0, "\(patches) and \(pointers)")
    }

    @Test(arguments: Target.allCases) func randomInputsPass(target: Target) {
        for seed in Fuzzing.seeds(60) {
            var random = SeededGenerator(seed: seed)
            let bytes = random.bytes(Int.random(in: 0...1500, using: &random))
            if let error = target.body(bytes) {
                Issue.record("\(target.rawValue), seed \(seed): \(error). Keep it in Corpus")
            }
        }
    }
}
