import BeamWire
import Foundation
import Testing

@testable import BeamWeb

/// Credentials, the WebSocket's beginning, and the page.
struct GatewayFormTests {
    /// As Janus' own `janus_auth_check_signature` reads it: expiry, realm, plugin, and HMAC-SHA1.
    @Test func aTokenIsSignedAndEnds() throws {
        let signing = try GatewayCredentials("token_auth_secret = janus\nadmin_key=k")
        // printf 1000600,janus,janus.plugin.streaming | openssl dgst -sha1 -hmac janus -binary | base64
        let token = "1000600,janus,janus.plugin.streaming:V/S/NpQhDj92RnWFSEvvpvUO+AM="
        #expect(signing.token(at: 1_000_000, lasting: 600) == token)
        #expect(try GatewayCredentials("# a comment\n\ntoken = abc").token(at: 5, lasting: 600) == "abc")
        #expect(GatewayCredentials().token(at: 5, lasting: 600) == nil)
    }

    /// Minutes for who was let in, who gets the next one before the half is over; longer than shares last in a link.
    @Test func onlyALinksTokenLastsLong() throws {
        var random = SystemRandomNumberGenerator()
        let credentials = try GatewayCredentials("token_auth_secret = janus")
        let door = GatewayDoor(try GatewayAddress("wss://a"), GatewayMountpoint(random: &random), credentials)
        func left(_ token: Substring?) throws -> Double {
            try #require(token?.split(separator: ",").first.flatMap { Double($0) }) - Date().timeIntervalSince1970
        }
        let entry = try left(try #require(door.entry().token)[...])
        #expect((500...601).contains(entry))
        let renewal = try #require(door.renewal)
        #expect(renewal < .seconds(entry / 2))
        let start = try #require(door.fragment.firstRange(of: "token=")).upperBound
        // The comma is escaped.
        let link = try left(door.fragment[start...].split(separator: "%").first)
        #expect((600_000...604_801).contains(link))
        let stored = GatewayDoor(
            try GatewayAddress("wss://a"), GatewayMountpoint(random: &random), try GatewayCredentials("token = abc"))
        #expect(stored.renewal == nil && stored.entry().token == "abc")
    }

    /// As coturn reads it with `use-auth-secret`.
    @Test func eachBrowserHasANameOfItsOwnAtTheRelays() throws {
        var random = SystemRandomNumberGenerator()
        let urls = ["turns:turn.example:443?transport=tcp", "turn:[2001:db8::7]"]
        let credentials = try GatewayCredentials(
            "token = abc\nturn_secret = relay\nturn_url = \(urls[0])\nturn_url = \(urls[1])")
        let relays = try #require(credentials.relays?.entry(at: 1_000_000, lasting: 600, number: 42))
        #expect(relays.urls == urls && relays.username == "1000600:2a")
        // printf 1000600:2a | openssl dgst -sha1 -hmac relay -binary | base64
        #expect(relays.credential == "pW3UP0OEROovOlNW0nqqi36jFVE=")
        // It ends, though the gateway's token doesn't.
        let door = GatewayDoor(try GatewayAddress("wss://a"), GatewayMountpoint(random: &random), credentials)
        #expect(door.renewal != nil)
        #expect(door.fragment.contains("&turn=turns%3Aturn%2Eexample%3A443%3Ftransport%3Dtcp&turn="))
    }

    @Test(arguments: [
        "abc", "token =", "api_secret = a", "token = a b", "token = ä", "token = a\ntoken_auth_secret = b",
        "token = \(String(repeating: "a", count: 257))", "turn_url = turn:a", "turn_secret = a",
        "turn_secret = a\nturn_url = http://a", "turn_secret = a\nturn_url = turn:a:0",
        "turn_secret = a\nturn_url = turn:a:65536", "turn_secret = a\nturn_url = turn:a?transport=sctp",
        "turn_secret = a\nturn_url = turn:a\",", "turn_secret = a" + String(repeating: "\nturn_url = turn:a", count: 5),
    ])
    func whatIsNoFileOfCredentialsIsRefused(text: String) {
        #expect(throws: GatewayCredentials.Failure.self) { try GatewayCredentials(text) }
    }

    @Test func aWebSocketBeginsAsAClientsDoes() throws {
        var random = SystemRandomNumberGenerator()
        let request = WebSocketRequest(host: "a:1", path: "/p", subprotocol: "janus-protocol", random: &random)
        let accept = WebRouter.accept(request.key)
        func answer(_ head: String) -> WebSocketRequest.Reading { request.read(Array(head.utf8)) }
        let right = "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: \(accept)\r\n\r\n"
        #expect(answer(right) == .accepted(length: right.utf8.count))
        #expect(answer(right + "rest") == .accepted(length: right.utf8.count))
        #expect(answer(String(right.dropLast())) == .needsMore && answer("") == .needsMore)
        for wrong in [
            "HTTP/1.1 404 Not Found\r\n\r\n", "HTTP/1.1 101\r\n\r\n", "SSH-2.0-OpenSSH\r\n", "\r\n\r\n",
            "HTTP/1.1 101 S\r\nSec-WebSocket-Accept: x\r\n\r\n", "HTTP/1.1 \u{1b}[3\r\n\r\n",
            "HTTP/1.1 101 S\r\nSec-WebSocket-Accept: \(accept)\r\nSec-WebSocket-Accept: \(accept)\r\n\r\n",
            "HTTP/1.1 200 \(String(repeating: "a", count: 20_000))",
        ] {
            guard case .refused(let reason) = answer(wrong) else {
                Issue.record("\(wrong.prefix(40)) was taken")
                continue
            }
            #expect(reason.unicodeScalars.allSatisfy { (32...126).contains($0.value) }, "\(reason)")
        }
    }

    @Test func damagedBeginningsAreReadOrRefused() {
        for seed in 1...2000 as ClosedRange<UInt64> {
            var random = SeededGenerator(state: seed)
            let request = WebSocketRequest(host: "a", path: "/", subprotocol: "p", random: &random)
            var bytes = Array(
                "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: \(WebRouter.accept(request.key))\r\n\r\n"
                    .utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                bytes[place] = UInt8.random(in: 0...255, using: &random)
            }
            if case .accepted(let length) = request.read(bytes) { #expect(length <= bytes.count, "seed \(seed)") }
        }
    }

    /// The page speaks with the gateways that it was made for, and with nobody else.
    @Test func thePagesPolicyNamesTheGateways() throws {
        let page = WebPage(
            hostName: "desk", asksPerson: false, code: .one, hasPackets: true,
            gateways: ["wss://gateway.example:8989"])
        #expect(String(decoding: page.response.body, as: UTF8.self).contains("data-gateways=\"yes\""))
        let policy = try #require(page.response.headers.first { $0.name == "Content-Security-Policy" }?.value)
        #expect(policy.contains("connect-src 'self' wss://gateway.example:8989;"))
        let alone = WebPage.alone(gateway: try GatewayAddress("wss://gateway.example/x"), host: "http://a\"><b>")
        #expect(alone.contains("connect-src wss://gateway.example;"))
        #expect(alone.contains("data-gateway=\"wss://gateway.example/x\"") && !alone.contains("<b>"))
        #expect(alone.contains("data-code=\"no\"") && alone.contains("<title>BeamRoom</title>"))
        #expect(!alone.contains("{policy}") && !alone.contains("{script}") && !alone.contains("/favicon"))
    }
}
