import Foundation
import Testing

@testable import BeamWeb

/// Requests and messages with damage: each is read or refused, within its limits. `BEAMROOM_FUZZ_SEED` is the first seed,
/// `BEAMROOM_FUZZ_ITERATIONS` the number; a failure names the seed that repeats it.
struct PageFuzzTests {
    private static var seeds: Range<UInt64> {
        let environment = ProcessInfo.processInfo.environment
        let first = environment["BEAMROOM_FUZZ_SEED"].flatMap { UInt64($0) } ?? 1
        return first..<first + max(1, environment["BEAMROOM_FUZZ_ITERATIONS"].flatMap { UInt64($0) } ?? 20_000)
    }

    private static func damaged(_ text: String, _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = Array(text.utf8)
        for _ in 0..<Int.random(in: 1...5, using: &random) {
            let place = Int.random(in: 0...bytes.count, using: &random)
            let end = Int.random(in: place...min(bytes.count, place + 30), using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0 where place < bytes.count: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes.removeSubrange(place..<end)
            case 2: bytes.insert(contentsOf: bytes[place..<end], at: place)
            case 3: bytes.insert("\r\n\0 :,{}[]\"\\9e".utf8.randomElement(using: &random) ?? 0, at: place)
            default: bytes.removeSubrange(end...)
            }
        }
        return bytes
    }

    @Test func requests() {
        let text = TestSocket.request(
            host: "desk.local:52347", origin: "http://desk.local:52347", extra: "User-Agent: Firefox/153.0\r\n")
        check([text], PageFuzzBodies.request)
    }

    @Test func messages() {
        check(
            [
                hello(), hello(code: nil, can: "codecs\",\"webrtc"), #"{"t":"drawn","n":4294967295}"#,
                #"{"t":"answer","sdp":"v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n\u00e4"}"#,
                #"{"t":"resume","token":"abcdefgh"}"#, #"{"t":"watching","on":true}"#,
            ], PageFuzzBodies.message)
    }

    @Test func answersOfGateways() {
        check(
            ["HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %\r\n\r\n"],
            PageFuzzBodies.upgrade)
    }

    private func check(_ texts: [String], _ body: ([UInt8]) -> String?) {
        for seed in Self.seeds {
            var random = SeededGenerator(state: seed)
            let bytes = Self.damaged(texts[Int(seed % UInt64(texts.count))], &random)
            if let error = body(bytes) { Issue.record("seed \(seed): \(error)") }
        }
    }

    /// Where `Scripts/fuzz --sanitize` begins, and what once failed there.
    @Test func theCorpusPasses() throws {
        let corpus = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "BeamProtocolTests/Fuzz/Corpus")
        for (name, body) in [
            ("request", PageFuzzBodies.request), ("message", PageFuzzBodies.message),
            ("upgrade", PageFuzzBodies.upgrade),
        ] {
            let folder = corpus.appending(path: name)
            let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            #expect(!files.isEmpty)
            for file in files {
                if let error = body([UInt8](try Data(contentsOf: file))) { Issue.record("\(file.path): \(error)") }
            }
        }
    }
}
