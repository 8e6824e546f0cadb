import BeamSession
import Testing

@testable import BeamWeb

/// Where a mountpoint's packets go, and from which socket.
struct GatewayPathTests {
    private static let addresses: [UInt32] = [0x7F00_0002, 0x7F00_0003]

    /// The gateway's name means another address by now, and it still has the mountpoint.
    @Test func aMountpointIsFollowedToAnotherAddress() throws {
        let gateway = try AnsweringGateway(Self.addresses)
        defer { gateway.end() }
        let resolver = ChangingResolver("127.0.0.2")
        let host = try TestGateway("ws://localhost:\(gateway.port)", resolver: resolver)
        try #require(host.isReady())
        // A report, which is sent while nobody watches, too.
        #expect(gateway.datagrams.wait { $0 == 0 } != nil)
        resolver.set("127.0.0.3")
        gateway.lose()
        try #require(host.isReady(again: true))
        #expect(gateway.datagrams.wait { $0 == 1 } != nil)
        // The same one, with the same key.
        #expect(gateway.points.made == 1)
    }

    /// Nothing else would tell that nothing arrives there any more.
    @Test func aSocketThatWasClosedIsReplaced() throws {
        let gateway = try AnsweringGateway([0x7F00_0001])
        defer { gateway.end() }
        let host = try TestGateway("ws://127.0.0.1:\(gateway.port)")
        try #require(host.isReady())
        host.gateway.handle.perform { $0.media?.channel.close(promise: nil) }
        #expect(host.problem == .unreachable(reason: "the system has closed the socket to it"))
        let before = gateway.datagrams.all.count
        try #require(host.isReady(again: true))
        #expect(gateway.points.made == 2)
        // The first report to the new mountpoint.
        #expect(gateway.datagrams.wait(forCount: before + 1))
        host.gateway.shutdown()
        #expect(gateway.points.0.isEmpty)
    }

    /// Whoever stops just when the gateway can't be reached leaves nothing there if it is back at once.
    @Test func theEndMakesOneMoreConnectionToRemoveTheMountpoint() throws {
        let gateway = try AnsweringGateway([0x7F00_0001])
        defer { gateway.end() }
        let host = try TestGateway("ws://127.0.0.1:\(gateway.port)")
        try #require(host.isReady())
        gateway.lose()
        #expect(host.problem == .lost)
        // It would try again after a second only.
        host.gateway.shutdown()
        #expect(gateway.points.0.isEmpty && gateway.points.made == 1 && host.cleared.all == [host.point])
    }
}
