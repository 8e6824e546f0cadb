import BeamSession
import BeamSockets
import BeamWire
import Testing

@testable import BeamWeb

/// Gateways that break the rules, and where browsers are sent on to.
struct HostileGatewayTests {
    private static let floods: [String: [UInt8]] = [
        "pings": WebSocketBytes.frame(0x89, []),
        "long pings": WebSocketBytes.frame(0x89, Array(repeating: 7, count: 125)),
        "pongs": WebSocketBytes.frame(0x8A, []),
        "texts": WebSocketBytes.frame(0x81, Array(#"{"janus":"ack"}"#.utf8)),
        "long texts": WebSocketBytes.frame(
            0x81, Array(#"{"janus":"ack","x":""#.utf8) + Array(repeating: 0x61, count: 60_000) + Array("\"}".utf8)),
        "one text without end": WebSocketBytes.frame(0x01, [0x7B]) + WebSocketBytes.frame(0x00, [0x20]),
    ]

    /// Whatever it sends without end, the connection is closed soon, and is made again after a pause.
    @Test(arguments: floods.keys.sorted())
    func aFloodEndsTheConnection(name: String) throws {
        let hostile = try HostileGateway(try #require(Self.floods[name]))
        defer { hostile.end() }
        let gateway = try TestGateway(hostile.address)
        // Within a text only parts of it may come.
        #expect(gateway.problem == (name == "one text without end" ? .badAnswer : .flood))
        gateway.gateway.beginShutdown()
        gateway.gateway.shutdown()
        // What was taken, and what the system's buffers hold: far less than without a bound.
        #expect(hostile.bytesSent < 64 << 20, "\(hostile.bytesSent)")
        #expect(gateway.cleared.all == [gateway.point])
    }

    @Test func aGatewayOnLoopbackIsForThisMachinesBrowsersOnly() throws {
        var random = SystemRandomNumberGenerator()
        let point = GatewayMountpoint(random: &random)
        func door(_ address: String) throws -> GatewayDoor {
            GatewayDoor(try GatewayAddress(address), point, GatewayCredentials())
        }
        let (near, far) = (try door("ws://localhost:8989"), try door("wss://gateway.example"))
        for browser in [IPAddress.v4(0x7F00_0001), .v4(0xC000_0207)] {
            #expect(near.isReached(from: browser) == browser.isLoopback && far.isReached(from: browser))
        }

        let web = try TestWeb(bind: nil)
        web.server.setGateways([near, near])
        let own = try TestSocket(web.server.port)
        own.send(hello())
        #expect(own.message()?["t"] == .string("in"))
        let entry = try #require(own.message())
        #expect(entry["t"] == .string("gateway") && entry["pin"] == .string(point.pin))
        // As from another machine: neither number nor PIN is told.
        guard case .v4(let address)? = OwnAddresses.all().first(where: { $0.isV4 && !$0.isLoopback }) else { return }
        let other = try TestSocket(web.server.port, at: address)
        other.send(hello())
        #expect(other.message()?["t"] == .string("in"))
        #expect(other.message()?["t"] == .string("offer"))
        web.server.setGateways([near, far])
        for _ in 0..<3 {
            let third = try TestSocket(web.server.port, at: address)
            third.send(hello())
            #expect(third.message()?["t"] == .string("in"))
            #expect(third.message()?["url"] == .string("wss://gateway.example"))
        }
    }
}

extension IPAddress {
    fileprivate var isV4: Bool { if case .v4 = self { true } else { false } }
}
