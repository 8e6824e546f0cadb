import BeamMedia
import BeamSession
import BeamSockets
import BeamWire
import CBeamSockets
import Foundation
import NIOCore
import NIOPosix
import Testing

@testable import BeamNetwork

/// Bursts over real sockets on loopback, cut into datagrams by the kernel (UDP_SEGMENT) or by us, received with and
/// without UDP_GRO.
@Suite(.serialized)
struct BurstTests {
    /// A UDP socket on loopback; its `deinit` closes it.
    private final class UDPSocket {
        let handle: CInt
        let port: UInt16

        init(putsTogether: Bool = false) throws {
            handle = socket(AF_INET, CInt(SOCK_DGRAM.rawValue), 0)
            try #require(handle >= 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let (handle, size) = (handle, length)
            withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    _ = bind(handle, $0, size)
                    _ = getsockname(handle, $0, &length)
                }
            }
            port = UInt16(bigEndian: address.sin_port)
            var one: CInt = 1
            if putsTogether {
                try #require(setsockopt(handle, CInt(IPPROTO_UDP), 104, &one, socklen_t(4)) == 0, "UDP_GRO")
            }
        }

        deinit { close(handle) }

        var address: NetworkAddress { NetworkAddress(ip: .v4(0x7F00_0001), port: port) }

        /// Receives until `count` datagrams have come, or 10 s have passed.
        func receive(_ count: Int) throws -> [[UInt8]] {
            let receiver = try #require(DatagramReceiver())
            var datagrams: [[UInt8]] = []
            let deadline = Date(timeIntervalSinceNow: 10)
            while datagrams.count < count, Date() < deadline {
                var entry = pollfd(fd: handle, events: Int16(POLLIN), revents: 0)
                poll(&entry, 1, 100)
                #expect(receiver.receive(from: handle) { datagrams.append(Array($0)) } == 0)
            }
            return datagrams
        }
    }

    private static let sizes = [1, 1199, 1200, 1201, 20_000, 48_000, 64_800]

    private func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 + $0 / 1200) } }

    private func datagrams(_ bytes: [UInt8]) -> [[UInt8]] {
        stride(from: 0, to: bytes.count, by: 1200).map { Array(bytes[$0..<min($0 + 1200, bytes.count)]) }
    }

    @Test(arguments: [false, true])
    func aBurstThatTheKernelCutsArrivesAsItsDatagrams(putsTogether: Bool) throws {
        let sender = try UDPSocket()
        let receiver = try UDPSocket(putsTogether: putsTogether)
        for size in Self.sizes {
            let bytes = bytes(size)
            let error = receiver.address.withSocketAddress(onV6Socket: false) { address, length in
                beam_send_burst(sender.handle, address, length, bytes, bytes.count, 1200)
            }
            #expect(error == 0)
            let expected = datagrams(bytes)
            #expect(try receiver.receive(expected.count) == expected)
        }
    }

    @Test func aBurstThatWeCutArrivesAsItsDatagrams() throws {
        let sender = try UDPSocket()
        let receiver = try UDPSocket(putsTogether: true)
        for size in Self.sizes {
            let bytes = bytes(size)
            let sent = receiver.address.withSocketAddress(onV6Socket: false) { address, length in
                beam_send_each(sender.handle, address, length, bytes, bytes.count, 1200)
            }
            #expect(sent == bytes.count)
            let expected = datagrams(bytes)
            #expect(try receiver.receive(expected.count) == expected)
        }
    }

    /// One call sends at most 64 datagrams; the next call sends the rest.
    @Test func aCallSendsAtMost64Datagrams() throws {
        let sender = try UDPSocket()
        let receiver = try UDPSocket()
        let bytes = bytes(100 * 100 + 7)
        let sent = receiver.address.withSocketAddress(onV6Socket: false) { address, length in
            beam_send_each(sender.handle, address, length, bytes, bytes.count, 100)
        }
        #expect(sent == 6400)
        #expect(try receiver.receive(64).count == 64)
    }

    @Test func anErrorIsReturned() throws {
        let sender = try UDPSocket()
        let receiver = try #require(DatagramReceiver())
        #expect(receiver.receive(from: sender.handle) { _ in Issue.record("nothing was sent") } == 0)
        #expect(receiver.receive(from: -1) { _ in } == EBADF)
        let bytes = bytes(70_000)
        sender.address.withSocketAddress(onV6Socket: false) { address, length in
            #expect(beam_send_burst(sender.handle, address, length, bytes, bytes.count, 1200) == EMSGSIZE)
            #expect(beam_send_burst(-1, address, length, bytes, 1200, 1200) == EBADF)
            #expect(beam_send_each(-1, address, length, bytes, 2400, 1200) == Int(-EBADF))
        }
    }

    /// Through the descriptor that the channel lends, bound to one IPv4 address or to all addresses of both families.
    @Test(arguments: [("127.0.0.1", IPAddress.v4(0x7F00_0001)), ("::", .v4(0x7F00_0001))])
    func aSenderBypassesItsChannel(bound: String, to ip: IPAddress) throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { try? group.syncShutdownGracefully() }
        let loop = group.next()
        let receiver = try UDPSocket()
        let bytes = bytes(30_000)
        let address = NetworkAddress(ip: ip, port: receiver.port)
        let failures = Log<NetworkAddress>()
        var bootstrap = SocketOptions.makeMediaBootstrap(on: loop) { _ in }
        if bound == "::" { bootstrap = bootstrap.channelOption(SocketOptions.onlyV6, value: 0) }
        let channel = try bootstrap.bind(host: bound, port: 0).wait()
        try loop.submit {
            let sender = MediaSender(channel) { failures.append($0) }
            for start in [0, 24_000] {
                sender.send(
                    MediaBurst(
                        bytes: bytes, range: start..<min(start + 24_000, 30_000), segmentSize: 1200,
                        address: address))
            }
        }.wait()
        #expect(try receiver.receive(25) == datagrams(bytes))
        try channel.close().wait()
        #expect(failures.all.isEmpty)
    }

    /// The kernel refuses to send to port 0 at once.
    @Test func anUnreachableAddressIsReported() throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        defer { try? group.syncShutdownGracefully() }
        let loop = group.next()
        let failures = Log<NetworkAddress>()
        let channel = try SocketOptions.makeMediaBootstrap(on: loop) { _ in }.bind(host: "127.0.0.1", port: 0).wait()
        let nowhere = NetworkAddress(ip: .v4(0x7F00_0001), port: 0)
        let sender = try loop.submit {
            let sender = MediaSender(channel) { failures.append($0) }
            let bytes = [UInt8](repeating: 1, count: 2400)
            sender.send(MediaBurst(bytes: bytes, range: 0..<2400, segmentSize: 1200, address: nowhere))
            return NIOLoopBound(sender, eventLoop: loop)
        }.wait()
        #expect(failures.wait { $0 == nowhere } != nil)
        try channel.close().wait()
        // A closed socket sends nothing and reports no failure.
        try loop.submit {
            sender.value.send(
                MediaBurst(bytes: [1], range: 0..<1, segmentSize: 1200, address: nowhere))
        }.wait()
        #expect(failures.all.count == 1)
    }
}
