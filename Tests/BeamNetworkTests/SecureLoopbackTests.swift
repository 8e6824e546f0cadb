import BeamIdentity
import BeamMedia
import BeamSockets
import BeamWire
import Testing

@testable import BeamNetwork

/// Host and viewer in version 2, over real sockets.
struct SecureLoopbackTests {
    private static let code = PairingCode("482913")!

    @Test func aTypedCodePairsAndStartsTheStream() throws {
        let identity = try LocalIdentity()
        let host = try TestHost(acceptance: .none, identity: identity, code: Self.code, allowsUnencrypted: false)
        defer { host.server.shutdown() }
        let viewerIdentity = try LocalIdentity()
        let endpoint = host.endpoint()
        let viewer = try TestViewer({ [endpoint] }, identity: viewerIdentity)
        defer { viewer.client.shutdown() }
        let frame = try #require(viewer.frames.wait { $0.isKeyframe })
        #expect(frame.captureTime != nil)
        #expect(viewer.events.all.contains(.hostPaired(identity.deviceKey, name: "host", isToBeRemembered: true)))
        #expect(
            host.events.all.contains(.devicePaired(viewerIdentity.deviceKey, name: "viewer", isToBeRemembered: true)))
        #expect(
            viewer.events.all.contains {
                if case .paired(_, "host", true, true) = $0 { true } else { false }
            })
    }

    @Test func aSharedLoopOutlivesItsViewers() throws {
        let hostIdentity = try LocalIdentity()
        let identities = try (0..<3).map { _ in try LocalIdentity() }
        let host = try TestHost(
            acceptance: .none, identity: hostIdentity,
            remembered: Dictionary(uniqueKeysWithValues: identities.map { ($0.deviceKey, "viewer") }),
            allowsUnencrypted: false)
        defer { host.server.shutdown() }
        let endpoint = host.endpoint()
        let loop = NetworkLoop()
        defer { loop.shutdown() }
        func join(_ number: Int) throws -> TestViewer {
            let viewer = try TestViewer(
                { [endpoint] }, code: nil, identity: identities[number], knowing: [hostIdentity.deviceKey: "host"],
                options: ViewerClient.Options(loop: loop))
            _ = try #require(viewer.frames.wait { $0.isKeyframe }, "viewer \(number) got no frame")
            return viewer
        }
        let first = try join(0)
        let second = try join(1)
        defer { second.client.shutdown() }

        first.client.shutdown()
        #expect(first.client.statistics.frames > 0, "totals can be read after the end")
        let received = first.frames.all.count
        // The loop still serves the remaining viewer and a new one.
        let third = try join(2)
        defer { third.client.shutdown() }
        host.server.submit(TestFrame.delta(bytes: 3000))
        for viewer in [second, third] { #expect(viewer.frames.wait { !$0.isKeyframe } != nil) }
        #expect(first.frames.all.count == received)
    }

    @Test func aWrongCodeIsRefused() throws {
        let host = try TestHost(acceptance: .none, code: Self.code, allowsUnencrypted: false)
        defer { host.server.shutdown() }
        let endpoint = host.endpoint()
        let viewer = try TestViewer({ [endpoint] }, code: "111111", identity: LocalIdentity())
        defer { viewer.client.shutdown() }
        guard case .refused(let refusal)? = viewer.events.wait(for: { if case .refused = $0 { true } else { false } })
        else {
            Issue.record("it wasn't refused: \(viewer.events.all)")
            return
        }
        #expect(refusal.reason.contains("code"))
        #expect(host.server.statistics.datagrams == 0)
    }

    @Test func aVersion1ViewerLearnsWhyItIsRefused() throws {
        let host = try TestHost(acceptance: .all, allowsUnencrypted: false)
        defer { host.server.shutdown() }
        let endpoint = host.endpoint()
        let viewer = try TestViewer { [endpoint] }
        defer { viewer.client.shutdown() }
        guard case .refused(let refusal)? = viewer.events.wait(for: { if case .refused = $0 { true } else { false } })
        else {
            Issue.record("it wasn't refused: \(viewer.events.all)")
            return
        }
        #expect(refusal.reason.contains("--allow-unencrypted"))
        #expect(host.server.statistics.datagrams == 0)
    }
}
