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
        let router = WebRouter(
            page: WebPage(hostName: "desk", asksPerson: true, hasCode: true, hasPackets: true),
            names: OwnNames(hostName: "desk"), isHTTPSOnly: false)
        for seed in Self.seeds {
            var random = SeededGenerator(state: seed)
            let bytes = Self.damaged(text, &random)
            guard case .request(let request, let length) = HTTPRequest.read(bytes) else { continue }
            #expect(length <= bytes.count && request.headers.count <= HTTPRequest.mostHeaders, "seed \(seed)")
            guard case .webSocket = router.answer(request, isSecure: false) else { continue }
            // Whatever was damaged: only the own page's origin and one of the machine's names open one.
            let (host, origin) = (request.value("host") ?? "", request.value("origin") ?? "")
            #expect(origin.lowercased() == "http://\(host)".lowercased(), "seed \(seed)")
            #expect(OwnNames(hostName: "desk").accept(host), "seed \(seed)")
        }
    }

    @Test func messages() {
        let texts = [
            hello(), hello(code: nil, can: "codecs\",\"webrtc"), #"{"t":"drawn","n":4294967295}"#,
            #"{"t":"answer","sdp":"v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n\u00e4"}"#, #"{"t":"resume","token":"abcdefgh"}"#,
        ]
        for seed in Self.seeds {
            var random = SeededGenerator(state: seed)
            let bytes = Self.damaged(texts[Int(seed % UInt64(texts.count))], &random)
            guard case .success(let message) = Result(catching: { try PageMessage.read(bytes[...]) }) else { continue }
            if case .resume(let token) = message { #expect(token.utf8.count <= 64, "seed \(seed)") }
            if case .hello(let code?, _) = message { #expect(code.description.utf8.count == 6, "seed \(seed)") }
        }
    }
}
