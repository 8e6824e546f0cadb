import BeamMedia
import BeamSockets
import Foundation
import Glibc
import Testing

@testable import BeamNetwork

/// Host and viewer over real sockets on loopback.
@Suite(.serialized)
struct LoopbackTests {
    @Test func framesArriveUnchanged() throws {
        let host = try TestHost()
        defer { host.server.shutdown() }
        let endpoint = host.endpoint()
        let viewer = try TestViewer { [endpoint] }
        defer { viewer.client.shutdown() }

        let first = try #require(viewer.frames.wait { $0.isKeyframe })
        #expect(Array(first.unit.avcc) == Array(TestFrame.keyframe(bytes: 50_000).unit.avcc))
        #expect(first.unit.size == PixelSize(width: 640, height: 360))
        let delta = TestFrame.delta(bytes: 3000)
        host.server.submit(delta)
        let second = try #require(viewer.frames.wait { !$0.isKeyframe })
        #expect(Array(second.unit.avcc) == Array(delta.unit.avcc))
        #expect(second.number == first.number &+ 1)
        #expect(host.server.statistics.watching == 1)
        #expect(viewer.client.statistics.frames >= 2)
    }

    @Test func aHostThatListensEverywhereIsReachedByIPv4AndIPv6() throws {
        let host = try TestHost(bind: nil)
        defer { host.server.shutdown() }
        for address in ["127.0.0.1", "::1"] {
            let endpoint = host.endpoint(address)
            let viewer = try TestViewer { [endpoint] }
            #expect(viewer.frames.wait { $0.isKeyframe } != nil, "over \(address)")
            viewer.client.shutdown()
        }
    }

    @Test func theViewerUsesTheFirstEndpointThatAnswers() throws {
        let host = try TestHost()
        defer { host.server.shutdown() }
        let endpoints = [Endpoint(host: "127.0.0.1", port: 1), host.endpoint()]
        let viewer = try TestViewer { endpoints }
        defer { viewer.client.shutdown() }
        #expect(viewer.frames.wait { $0.isKeyframe } != nil)
    }

    @Test func aControlPortInUseIsReported() throws {
        let host = try TestHost()
        defer { host.server.shutdown() }
        let port = host.server.controlPort
        #expect(throws: NetworkError.portInUse(port: Int(port), address: "127.0.0.1")) {
            _ = try TestHost(port: port)
        }
    }

    @Test func aMediaPortInUseIsReplaced() throws {
        let first = try TestHost()
        defer { first.server.shutdown() }
        let second = try TestHost(mediaPort: first.server.mediaPort)
        defer { second.server.shutdown() }
        #expect(second.server.mediaPort != first.server.mediaPort)
        let endpoint = second.endpoint()
        let viewer = try TestViewer { [endpoint] }
        defer { viewer.client.shutdown() }
        #expect(viewer.frames.wait { $0.isKeyframe } != nil)
    }

    @Test func aLostListeningSocketIsOpenedAgain() throws {
        let host = try TestHost()
        defer { host.server.shutdown() }
        let endpoint = host.endpoint()
        let watching = try TestViewer { [endpoint] }
        defer { watching.client.shutdown() }
        #expect(watching.frames.wait { $0.isKeyframe } != nil)
        // As after an error that the system reports on it: it accepts nothing any more.
        let socket = try #require(Self.listeningSocket(port: host.server.controlPort))
        #expect(Glibc.shutdown(socket, Int32(SHUT_RDWR)) == 0)
        #expect(host.events.wait { if case .listeningFailed = $0 { true } else { false } } != nil)
        #expect(host.events.wait { $0 == .listeningAgain } != nil)
        // With another code, so that it doesn't count as the first one, come back.
        let late = try TestViewer({ [endpoint] }, code: "593024")
        defer { late.client.shutdown() }
        #expect(late.frames.wait { $0.isKeyframe } != nil, "at the same port")
        #expect(host.server.viewers.count == 2, "viewers that watched go on")
    }

    /// This process's listening socket at `port`.
    private static func listeningSocket(port: UInt16) -> Int32? {
        (3..<4096).first { descriptor in
            var (isListening, length) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
            var address = sockaddr_in()
            var size = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isSocket =
                getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &length) == 0
                && withUnsafeMutablePointer(to: &address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
                } == 0
            return isSocket && isListening != 0 && UInt16(bigEndian: address.sin_port) == port
        }
    }

    @Test func aDriverThatEndsAnswersEveryCall() throws {
        for _ in 0..<20 {
            let server = try TestHost().server
            let callers = DispatchGroup()
            for _ in 0..<4 {
                DispatchQueue.global().async(group: callers) {
                    for _ in 0..<200 {
                        _ = server.viewers
                        server.setBroadcast(true)
                    }
                }
            }
            server.shutdown()
            #expect(callers.wait(timeout: .now() + 60) == .success)
        }
    }

    @Test func anAddressOfAnotherMachineIsReported() {
        #expect {
            _ = try TestHost(bind: "192.0.2.1")
        } throws: { error in
            guard case .cannotBind(let address, _, let reason)? = error as? NetworkError else { return false }
            return address == "192.0.2.1" && !reason.isEmpty
        }
    }

    @Test func aRefusedViewerLearnsTheReasonAndGetsNoFrames() throws {
        let host = try TestHost(acceptance: .none)
        defer { host.server.shutdown() }
        let endpoint = host.endpoint()
        let viewer = try TestViewer { [endpoint] }
        defer { viewer.client.shutdown() }
        #expect(viewer.events.wait { $0 == .refused(.other(says: "Declined")) } != nil)
        #expect(host.server.statistics.datagrams == 0)
    }

    @Test func aPositiveDecisionAdmitsTheViewer() throws {
        let host = try TestHost(acceptance: .ask)
        defer { host.server.shutdown() }
        let endpoint = host.endpoint()
        let viewer = try TestViewer({ [endpoint] }, code: "135790")
        defer { viewer.client.shutdown() }
        let asked = host.events.wait { if case .viewerAsks = $0 { true } else { false } }
        guard case .viewerAsks(let connection, let code, _)? = asked else {
            Issue.record("the host didn't ask")
            return
        }
        #expect(code.description == "135790")
        #expect(viewer.frames.all.isEmpty)
        host.server.decide(connection, accept: true)
        #expect(viewer.frames.wait { $0.isKeyframe } != nil)
    }

    @Test func shutdownNotifiesTheViewers() throws {
        let host = try TestHost()
        let endpoint = host.endpoint()
        let viewer = try TestViewer { [endpoint] }
        defer { viewer.client.shutdown() }
        #expect(viewer.frames.wait { $0.isKeyframe } != nil)
        host.server.shutdown()
        #expect(viewer.events.wait { $0 == .broadcast(false) } != nil)
        #expect(host.server.statistics.frames > 0, "totals can be read after the shutdown")
    }

    @Test func aHostThatRestartsOnAnotherPortIsFoundAgain() throws {
        let first = try TestHost()
        let port = first.server.controlPort
        let endpoint = first.endpoint()
        let viewer = try TestViewer { [endpoint] }
        defer { viewer.client.shutdown() }
        #expect(viewer.frames.wait { $0.isKeyframe } != nil)
        first.server.shutdown()
        let framesBefore = viewer.frames.all.count
        let second = try TestHost(port: port)
        defer { second.server.shutdown() }
        #expect(second.server.mediaPort != 0)
        #expect(second.events.wait { if case .mediaStarted = $0 { true } else { false } } != nil)
        let deadline = Date(timeIntervalSinceNow: 20)
        while viewer.frames.all.count <= framesBefore, Date() < deadline { Thread.sleep(forTimeInterval: 0.01) }
        #expect(viewer.frames.all.count > framesBefore)
    }

    @Test func aFloodOfConnectionsDoesNotDisturbThePairedViewer() throws {
        let host = try TestHost()
        defer { host.server.shutdown() }
        let endpoint = host.endpoint()
        let viewer = try TestViewer { [endpoint] }
        defer { viewer.client.shutdown() }
        #expect(viewer.frames.wait { $0.isKeyframe } != nil)
        let flood = (0..<200).map { _ in RawConnection(port: host.server.controlPort) }
        #expect(host.events.wait { if case .connectionRefused = $0 { true } else { false } } != nil)
        host.server.submit(TestFrame.delta(bytes: 100))
        #expect(viewer.frames.wait { !$0.isKeyframe } != nil)
        for connection in flood { connection.close() }
    }
}
