import BeamMedia
import Testing

@testable import BeamSession
@testable import BeamWire

/// Addresses, requests and answers.
struct JanusTests {
    private func read(_ text: String) -> JanusMessage? { try? JanusMessage(Array(text.utf8)[...]) }

    @Test(arguments: [
        ("wss://gateway.example", "gateway.example", 443, "/", "wss://gateway.example"),
        ("wss://gateway.example:8989/janus", "gateway.example", 8989, "/janus", "wss://gateway.example:8989/janus"),
        ("WSS://[2001:db8::7]:1", "2001:db8::7", 1, "/", "wss://[2001:db8::7]:1"),
        ("ws://127.0.0.1:8188", "127.0.0.1", 8188, "/", "ws://127.0.0.1:8188"),
        ("ws://localhost:8188/", "localhost", 8188, "/", "ws://localhost:8188"),
        ("ws://[::1]", "::1", 80, "/", "ws://[::1]"),
    ])
    func addresses(text: String, host: String, port: Int, path: String, shown: String) throws {
        let address = try GatewayAddress(text)
        #expect(address.host == host && Int(address.port) == port && address.path == path)
        #expect(address.description == shown)
    }

    @Test(arguments: [
        "gateway.example", "https://gateway.example", "wss://", "wss://:80", "wss://a:0", "wss://a:65536", "wss://a:b",
        "wss://a b", "wss://a;script-src", "wss://user@a", "wss://a/\"", "wss://a?x", "ws://192.0.2.7",
        "ws://127.evil.example",
        "ws://127.0.0.1.example", "wss://[::1", "wss://[abc]", "wss://ä.example", "wss://a/;b", "wss://a\r\nHost: b",
    ])
    func whatIsNoAddress(text: String) { #expect(throws: GatewayAddress.Failure.self) { try GatewayAddress(text) } }

    @Test func aRequestSaysWhatJanusWants() throws {
        var random = SeededGenerator(seed: 1)
        let point = GatewayMountpoint(random: &random)
        let handle = JanusRequest.Handle(session: 12, handle: 34)
        let text = JanusRequest.create(handle, point, GatewayKey(random: &random), hasSound: true, isLocal: true).text(
            transaction: "b1", token: "t\"\\\n", adminKey: "k")
        let members = try #require(try JSONScanner.object(Array(text.utf8)[...]))
        #expect(members["janus"] == .string("message") && members["session_id"] == .number(12))
        #expect(members["handle_id"] == .number(34) && members["token"] == .string("t\"\\\n"))
        let body = try #require(try JSONScanner.texts(Array(text.utf8)[...])?["body"])
        let fields = try #require(try JSONScanner.object(body))
        #expect(fields["id"] == .number(point.id) && fields["pin"] == .string(point.pin))
        #expect(fields["is_private"] == .bool(true) && fields["permanent"] == .bool(false))
        #expect(fields["srtpsuite"] == .number(80) && fields["admin_key"] == .string("k"))
        guard case .string(let key) = fields["srtpcrypto"] else { return }
        #expect(key.utf8.count == 40)
        let media = try #require(try JSONScanner.elements(JSONScanner.texts(body)?["media"] ?? [], atMost: 2))
        #expect(media.count == 2)
        #expect(try JSONScanner.object(media[0])?["iface"] == .string("127.0.0.1"))
        #expect(point.id > 0 && point.id < 1 << 53 && point.pin.utf8.count == 32 && point.secret != point.pin)
    }

    @Test func base64() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            #expect(JSONText.base64(Array(bytes.utf8)) == text)
        }
    }

    @Test func answersAreRead() {
        #expect(
            read(FakeGateway.created)?.content
                == .created(GatewayPorts(video: 41234, videoControl: 41235, sound: 41236, soundControl: 41237)))
        #expect(read(#"{"janus":"success","transaction":"a","data":{"id":7}}"#)?.content == .made(id: 7))
        #expect(
            read(#"{"janus":"success","plugindata":{"data":{"streaming":"info","info":{"viewers":2}}}}"#)?.content
                == .info(viewers: 2))
        #expect(
            read(#"{"janus":"success","plugindata":{"data":{"streaming":"info","info":{"viewers":9e18}}}}"#)?.content
                == .info(viewers: 1_000_000))
        let refusal = read(#"{"janus":"error","error":{"code":-9,"reason":"a\u001b[31m\nb"}}"#)?.content
        guard case .refused(let refused)? = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        #expect(refused.code == 0 && !refused.reason.unicodeScalars.contains { $0.value < 32 })
    }

    @Test(arguments: [
        "", "x", "[]", "{}", #"{"janus":1}"#, #"{"janus":"success","data":{"id":0}}"#,
        #"{"janus":"success","data":{"id":1.5}}"#, #"{"janus":"success","data":{"id":"7"}}"#,
        #"{"janus":"success","plugindata":{}}"#, #"{"janus":"success","plugindata":{"data":{"streaming":"created"}}}"#,
        #"{"janus":"success","plugindata":{"data":{"streaming":"created","stream":{"ports":[]}}}}"#,
        #"{"janus":"success","plugindata":{"data":{"streaming":"created","stream":{"ports":[{"type":"video","port":0,"rtcp_port":1}]}}}}"#,
        #"{"janus":"success","plugindata":{"data":{"streaming":"created","stream":{"ports":[{"type":"video","port":65536,"rtcp_port":1}]}}}}"#,
        #"{"janus":"success","plugindata":{"data":{"streaming":"created","stream":{"ports":[{"type":"video","port":5}]}}}}"#,
        #"{"janus":"success","plugindata":{"data":{"streaming":"created","stream":{"ports":[{"type":"video","port":5,"rtcp_port":6},{"type":"video","port":7,"rtcp_port":8}]}}}}"#,
        #"{"janus":"success","plugindata":{"data":{"streaming":"info","info":{"viewers":"many"}}}}"#,
        #"{"janus":"error"}"#, #"{"janus":"success","data":{"id":1}} x"#,
    ])
    func whatIsNoAnswerIsRefused(text: String) { #expect(read(text) == nil) }

    @Test func longAnswersAndDeepOnesAreRefused() {
        #expect(read(#"{"janus":"ack","x":"\#(String(repeating: "a", count: JanusMessage.longest))"}"#) == nil)
        let deep = String(repeating: "[", count: 30_000) + String(repeating: "]", count: 30_000)
        #expect(read(#"{"janus":"ack","x":\#(deep)}"#) == nil)
        let ports = Array(repeating: #"{"type":"video","port":5,"rtcp_port":6}"#, count: 9).joined(separator: ",")
        #expect(
            read(#"{"janus":"success","plugindata":{"data":{"streaming":"created","stream":{"ports":[\#(ports)]}}}}"#)
                == nil)
    }
}
