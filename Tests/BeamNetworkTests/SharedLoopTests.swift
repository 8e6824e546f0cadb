import BeamClock
import BeamIdentity
import BeamMedia
import BeamNetwork
import BeamSockets
import Testing

/// Several viewers on one event loop.
@Suite(.serialized)
struct SharedLoopTests {
    @Test func aViewerThatLeavesASharedLoopDoesNotStopTheOthers() throws {
        let host = try TestHost(allowsUnencrypted: false)
        defer { host.server.shutdown() }
        let endpoint = host.endpoint()
        let loop = NetworkLoop()
        defer { loop.shutdown() }
        let viewers = try ["127.0.0.5", "127.0.0.6"].map { source in
            try TestViewer(
                { [endpoint] }, code: nil, identity: LocalIdentity(),
                options: ViewerClient.Options(loop: loop, source: source, usesSystemTimes: true))
        }
        for viewer in viewers { #expect(viewer.frames.wait { $0.isKeyframe } != nil) }
        let addresses = Set(
            host.events.all.compactMap { event in
                if case .mediaStarted(_, let address) = event { "\(address.ip)" } else { nil }
            })
        #expect(addresses == ["127.0.0.5", "127.0.0.6"], "each viewer uses its own source address")

        viewers[0].client.shutdown()
        let before = MediaTime.now
        host.server.submit(TestFrame.delta(bytes: 3000))
        let frame = try #require(viewers[1].frames.wait { !$0.isKeyframe }, "the loop still runs")
        #expect(frame.lastArrival >= before, "arrival times are of CLOCK_MONOTONIC")
        #expect(frame.lastArrival <= .now)
        viewers[1].client.shutdown()
    }
}
