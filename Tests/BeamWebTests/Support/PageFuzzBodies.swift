import BeamWire

@testable import BeamWeb

/// What pages and gateways send over TCP: properties that hold for any input. `Scripts/fuzz` runs them, too.
enum PageFuzzBodies {
    private static let names = OwnNames(hostName: "desk")
    private static let router = WebRouter(
        page: WebPage(hostName: "desk", asksPerson: true, code: .one, hasPackets: true), names: names,
        isHTTPSOnly: false)

    /// A request is refused, waited for, or within its limits; only the own page's origin and one of the machine's names
    /// open a WebSocket.
    static func request(_ bytes: [UInt8]) -> String? {
        guard case .request(let request, let length) = HTTPRequest.read(bytes) else { return nil }
        guard length <= min(bytes.count, HTTPRequest.mostBytes), request.headers.count <= HTTPRequest.mostHeaders else {
            return "a request beyond its limits"
        }
        guard case .webSocket = router.answer(request, isSecure: false) else { return nil }
        let (host, origin) = (request.value("host") ?? "", request.value("origin") ?? "")
        guard origin.lowercased() == "http://\(host)".lowercased() else { return "another origin opens a WebSocket" }
        return names.accept(host) ? nil : "another name opens a WebSocket"
    }

    /// A page's message is refused, or its fields are bounded.
    static func message(_ bytes: [UInt8]) -> String? {
        guard case .success(let message) = Result(catching: { try PageMessage.read(bytes[...]) }) else { return nil }
        switch message {
        case .resume(let token): return token.utf8.count <= 64 ? nil : "a long token"
        case .hello(let code, let forms):
            guard code == nil || code?.description.utf8.count == 6 else { return "a code that isn't one" }
            return forms.count <= 8 ? nil : "\(forms.count) forms"
        case .answer(let sdp): return sdp.utf8.count <= 3 * bytes.count ? nil : "a text longer than its message"
        case .drawn, .sound, .watching, .pong: return nil
        }
    }

    /// A gateway's answer to the request for a WebSocket is refused, waited for, or proves that it has read the key.
    static func upgrade(_ bytes: [UInt8]) -> String? {
        var random = FixedBits()
        let request = WebSocketRequest(
            host: "gateway.example", path: "/", subprotocol: "janus-protocol", random: &random)
        // A proof can't be found by chance: `%` stands for it.
        let proof = Array(WebRouter.accept(request.key).utf8)
        let answer = bytes.flatMap { $0 == UInt8(ascii: "%") ? proof : [$0] }
        switch request.read(answer) {
        case .needsMore: return answer.count < WebSocketRequest.longestAnswer ? nil : "it waits for ever"
        case .refused(let reason): return reason.utf8.count <= 100 ? nil : "a long reason"
        case .accepted(let length):
            guard length <= answer.count, bytes.contains(UInt8(ascii: "%")) else { return "accepted without a proof" }
            return nil
        }
    }

    /// The same key each time.
    private struct FixedBits: RandomNumberGenerator {
        mutating func next() -> UInt64 { 0x0123_4567_89AB_CDEF }
    }
}
