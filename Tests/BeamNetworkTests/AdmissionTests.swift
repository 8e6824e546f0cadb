import BeamIdentity
import Foundation
import Glibc
import Testing

@testable import BeamNetwork

/// Floods of connections to a host with real sockets.
@Suite(.timeLimit(.minutes(3)))
struct AdmissionTests {
    /// A host that knows one viewer, and a closure that starts this viewer.
    private func pair() throws -> (host: TestHost, watch: () throws -> TestViewer) {
        let (host, viewer) = (try LocalIdentity(), try LocalIdentity())
        let server = try TestHost(
            acceptance: .none, identity: host, remembered: [viewer.deviceKey: "viewer"], allowsUnencrypted: false)
        let endpoint = server.endpoint()
        return (
            server,
            { try TestViewer({ [endpoint] }, code: nil, identity: viewer, knowing: [host.deviceKey: "host"]) }
        )
    }

    @Test func aRefusedConnectionIsResetAtOnce() throws {
        let (host, _) = try pair()
        defer { host.server.shutdown() }
        let connections = (0..<20).map { _ in RawConnection(port: host.server.controlPort, from: 2) }
        defer { for connection in connections { connection.close() } }
        #expect(connections.last?.waitForEnd() == ECONNRESET)
    }

    @Test func idleConnectionsDoNotKeepOutAKnownViewer() throws {
        let (host, watch) = try pair()
        defer { host.server.shutdown() }
        let idle = (0..<120).map { RawConnection(port: host.server.controlPort, from: UInt8(2 + $0 % 6)) }
        defer { for connection in idle { connection.close() } }
        let viewer = try watch()
        defer { viewer.client.shutdown() }
        #expect(viewer.frames.wait { $0.isKeyframe } != nil)
    }

    @Test func aFloodOfConnectionsDoesNotKeepOutAKnownViewer() throws {
        let (host, watch) = try pair()
        defer { host.server.shutdown() }
        let flood = Thread { [port = host.server.controlPort] in
            while !Thread.current.isCancelled { RawConnection(port: port, from: 2).close() }
        }
        flood.start()
        defer { flood.cancel() }
        #expect(host.events.wait { if case .connectionRefused = $0 { true } else { false } } != nil)
        let viewer = try watch()
        defer { viewer.client.shutdown() }
        #expect(viewer.frames.wait { $0.isKeyframe } != nil)
        let single = host.events.all.count { if case .connectionRefused = $0 { true } else { false } }
        #expect(single <= 4)
    }

    /// Each connection completes TLS with an unknown key, and closes.
    @Test func aFloodOfHandshakesDoesNotKeepOutAKnownViewer() async throws {
        let (host, watch) = try pair()
        defer { host.server.shutdown() }
        let port = Int(host.server.controlPort)
        let flood = Task {
            let unknown = try UnknownPeer()
            while !Task.isCancelled {
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<8 {
                        group.addTask {
                            guard let connection = try? await unknown.connect(port: port) else { return }
                            _ = connection.log.wait(seconds: 1) {
                                if case .bytes = $0 { false } else { true }
                            }
                            try? await connection.cut()
                        }
                    }
                }
            }
        }
        defer { flood.cancel() }
        let viewer = try watch()
        defer { viewer.client.shutdown() }
        #expect(viewer.frames.wait { $0.isKeyframe } != nil)
    }

    /// An admitted viewer must not make the host hold more bytes than an unauthenticated peer can.
    @Test func anAdmittedViewerCannotAnnounceLongMessages() async throws {
        let viewer = try UnknownPeer()
        let device = try PeerCertificate.check([viewer.certificates[0]])
        let host = try TestHost(acceptance: .none, remembered: [device: "viewer"], allowsUnencrypted: false)
        defer { host.server.shutdown() }
        let connection = try await viewer.connect(port: Int(host.server.controlPort))
        #expect(connection.isSecured)
        let hello: [UInt8] = [0x01, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x76]
        try await connection.write([0, 0, 0, UInt8(hello.count)] + hello + [0, 0, 0, 1, 0x03])
        #expect(host.events.wait { if case .viewerPaired = $0 { true } else { false } } != nil)
        try await connection.write([0, 2, 0x80, 0] + [UInt8](repeating: 0x7F, count: 163840))
        // The host may have closed before this is known to be sent.
        try? await connection.write([0, 2, 0x80, 1])
        let left = host.events.wait { if case .viewerLeft = $0 { true } else { false } }
        guard case .viewerLeft(_, _, let reason) = try #require(left) else { return }
        #expect(reason == "it was sent away: it announced a message of 163841 bytes, more than the 163840 allowed")
        #expect(connection.hasEnded)
    }
}
