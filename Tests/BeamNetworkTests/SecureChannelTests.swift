import BeamIdentity
import BeamSockets
import Foundation
import NIOCore
import NIOPosix
import Testing

@testable import BeamNetwork

struct SecureChannelTests {
    @Test func `Both ends learn the other's key and exchange messages`() async throws {
        let (hostIdentity, viewerIdentity) = (try LocalIdentity(), try LocalIdentity())
        let host = try await SecureEnd.host(hostIdentity)
        let viewer = try await SecureEnd.viewer(viewerIdentity, port: host.port)
        #expect(viewer.events.wait { $0 == .secured(hostIdentity.deviceKey) } != nil)
        #expect(host.events.wait { $0 == .secured(viewerIdentity.deviceKey) } != nil)
        let large = (0..<MessageFraming.usualLimit).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        try await viewer.send([1], [2, 3], large)
        try await host.send([4], large)
        #expect(host.events.wait { $0 == .message(large) } != nil)
        #expect(viewer.events.wait { $0 == .message(large) } != nil)
        #expect(host.events.messages == [[1], [2, 3], large])
        #expect(viewer.events.messages == [[4], large])
        #expect(host.events.all.first == .firstByte(.tls))
    }

    @Test func `A message can be sent as soon as the peer is known`() async throws {
        let host = try await SecureEnd.host(LocalIdentity(), greeting: [1])
        let viewer = try await SecureEnd.viewer(LocalIdentity(), port: host.port, greeting: [2])
        #expect(viewer.events.wait { $0 == .message([1]) } != nil)
        #expect(host.events.wait { $0 == .message([2]) } != nil)
    }

    @Test(arguments: [true, false])
    func `Either side may end it, and both are told once`(isHost: Bool) async throws {
        let host = try await SecureEnd.host(LocalIdentity())
        let viewer = try await SecureEnd.viewer(LocalIdentity(), port: host.port)
        #expect(viewer.events.wait { if case .secured = $0 { true } else { false } } != nil)
        #expect(host.events.wait { if case .secured = $0 { true } else { false } } != nil)
        if isHost {
            // As the drivers do: what was sent before the close still arrives.
            try await host.send([9])
            let channels = try await host.connections()
            for channel in channels { channel.closeAfterFlushing() }
            #expect(viewer.events.waitForEnd() == TLSFailure.closed)
            #expect(viewer.events.messages == [[9]])
        } else {
            try await viewer.send([9])
            viewer.channel.closeAfterFlushing()
            #expect(host.events.waitForEnd() == TLSFailure.closed)
            #expect(host.events.messages == [[9]])
        }
        #expect(viewer.events.waitForEnd() != nil)
        #expect(host.events.waitForEnd() != nil)
    }

    @Test func `Messages of 10 MiB go through once the limit is raised`() async throws {
        let host = try await SecureEnd.host(LocalIdentity(), limit: MessageFraming.longest)
        let viewer = try await SecureEnd.viewer(LocalIdentity(), port: host.port)
        #expect(viewer.events.wait { if case .secured = $0 { true } else { false } } != nil)
        let message = [UInt8](repeating: 0x5A, count: MessageFraming.longest)
        try await viewer.send(message, [1])
        #expect(host.events.wait { $0 == .message([1]) } != nil)
        #expect(host.events.messages == [message, [1]])
    }

    @Test func `Nothing is sent before the peer is authenticated`() async throws {
        let host = try await SecureEnd.host(LocalIdentity())
        let viewer = try await SecureEnd.viewer(LocalIdentity(), port: host.port)
        try await viewer.send([1])
        let early = viewer.events.keys.isEmpty
        #expect(viewer.events.wait { if case .secured = $0 { true } else { false } } != nil)
        try await viewer.send([2])
        #expect(host.events.wait { $0 == .message([2]) } != nil)
        if early { #expect(host.events.messages == [[2]]) }
    }

    @Test func `A host tells 20 viewers apart by their keys`() async throws {
        let host = try await SecureEnd.host(LocalIdentity())
        let identities = try (0..<20).map { _ in try LocalIdentity() }
        let viewers = try await withThrowingTaskGroup { group in
            for identity in identities {
                group.addTask { try await SecureEnd.viewer(identity, port: host.port) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for identity in identities { _ = try #require(host.events.wait { $0 == .secured(identity.deviceKey) }) }
        #expect(viewers.count == 20)
    }

    // MARK: The first byte

    @Test(arguments: [1, 3, 1000])
    func `Version 1's bytes come whole to its handler`(piece: Int) async throws {
        let host = try await SecureEnd.host(LocalIdentity())
        let line = Array(#"{"type":"hello","name":"iPhone"}"#.utf8) + [0x0A]
        let channel = try await ClientBootstrap(group: SecureEnd.loop).connect(host: "127.0.0.1", port: host.port).get()
        // On the event loop: on a busy machine a wait after each piece could exceed the host's timeout.
        try await channel.eventLoop.submit {
            for start in stride(from: 0, to: line.count, by: piece) {
                let bytes = ByteBuffer(bytes: line[start..<min(start + piece, line.count)])
                channel.writeAndFlush(bytes, promise: nil)
            }
            channel.close(promise: nil)
        }.get()
        #expect(host.events.waitForEnd() == "the other side has closed the connection")
        #expect(host.events.all.first == .firstByte(.plain))
        let bytes = host.events.all.flatMap { if case .plain(let bytes) = $0 { bytes } else { [UInt8]() } }
        #expect(bytes == line)
    }

    @Test func `A silent connection is closed after the timeout`() async throws {
        let host = try await SecureEnd.host(LocalIdentity(), timeout: .milliseconds(100))
        let silent = RawConnection(port: UInt16(host.port))
        defer { silent.close() }
        #expect(host.events.waitForEnd() == "the other side has sent nothing for 0 s")
        #expect(host.events.all.count == 1)
    }

    @Test func `A connection that closes at once is reported`() async throws {
        let host = try await SecureEnd.host(LocalIdentity())
        RawConnection(port: UInt16(host.port)).close()
        #expect(host.events.waitForEnd() == "the other side has closed the connection")
        #expect(host.events.all.count == 1)
    }
}
