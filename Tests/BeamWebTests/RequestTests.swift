import BeamWire
import Testing

@testable import BeamWeb

struct RequestTests {
    private func read(_ text: String) -> HTTPRequest.Reading { HTTPRequest.read(Array(text.utf8)) }

    @Test func aRequestIsRead() throws {
        let text = "GET /ws?x=1 HTTP/1.1\r\nHost: desk:52347\r\nConnection: keep-alive,  Upgrade \r\n\r\nrest"
        guard case .request(let request, let length) = read(text) else { throw Failed() }
        #expect(request.method == "GET" && request.target == "/ws?x=1" && length == text.utf8.count - 4)
        #expect(request.value("host") == "desk:52347" && request.value("origin") == nil)
        #expect(request.list("connection", contains: "upgrade") && !request.list("connection", contains: "close"))
    }

    private struct Failed: Error {}

    @Test(arguments: [
        "GET / HTTP/1.1\nHost: a\n\n",  // Lines end with CR LF.
        "GET / HTTP/1.0\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/1.1 \r\n\r\n", "\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "GET / HTTP/1.1\r\n folded: a\r\n\r\n",
        "GET / HTTP/1.1\r\nNo colon\r\n\r\n",
        "GET / HTTP/1.1\r\n: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\u{1}b\r\n\r\n", "GET /\u{80} HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "\u{0}", "{\"a\":1}", "get / HTTP/1.1",
    ])
    func whatIsNoRequestIsRefused(_ text: String) {
        #expect(read(text) == .refused(.badRequest))
    }

    @Test func lengthsAreBounded() {
        let long = "GET / HTTP/1.1\r\nA: " + String(repeating: "a", count: HTTPRequest.mostBytes)
        #expect(read(long) == .refused(.headersTooLarge) && read(long + "\r\n\r\n") == .refused(.headersTooLarge))
        let many = "GET / HTTP/1.1\r\n" + String(repeating: "A: a\r\n", count: HTTPRequest.mostHeaders + 1)
        #expect(read(many + "\r\n") == .refused(.headersTooLarge))
        let most = "GET / HTTP/1.1\r\n" + String(repeating: "A: a\r\n", count: HTTPRequest.mostHeaders) + "\r\n"
        guard case .request(let request, _) = read(most) else {
            Issue.record("\(HTTPRequest.mostHeaders) headers are too many")
            return
        }
        // Of several with the same name none counts.
        #expect(request.value("a") == nil)
    }

    /// Whatever arrives first, and however much of it, is waited for, taken or refused.
    @Test func everyBeginningIsWaitedFor() {
        let text = Array("GET / HTTP/1.1\r\nHost: desk\r\n\r\n".utf8)
        for count in 0..<text.count { #expect(HTTPRequest.read(text[..<count]) == .needsMore, "\(count)") }
    }

    @Test(arguments: [
        ("desk:52347", true), ("DESK.local", true), ("desk.", true), ("localhost:1", true), ("192.0.2.7:52347", true),
        ("[2001:db8::7]:52347", true), ("127.9.9.9", true), ("[::1]", true), ("web.example.org", true),
        ("a.web.example.net:443", true), ("evil.example", false), ("desk.evil.example", false), ("192.0.2.8", false),
        ("[2001:db8::8]", false), ("", false), (":52347", false), ("desk:http", false), ("desk:52347:1", false),
        ("[::1", false), ("web.example.net", false), ("a.b.web.example.net", false), ("desk:123456", false),
        ("0x7f.1", false), ("127.1", false),
    ])
    func onlyThisMachinesNamesAreAccepted(_ host: String, _ isOwn: Bool) {
        let names = OwnNames(hostName: "Desk", others: ["web.example.org", "*.web.example.net"])
        let own: [IPAddress] = [.v4(0xC000_0207), .v6(high: 0x2001_0db8_0000_0000, low: 7, scope: 0)]
        #expect(names.accept(host, addresses: { own }) == isOwn)
    }
}
