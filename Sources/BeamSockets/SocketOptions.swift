import Glibc
import NIOCore
import NIOPosix

/// The options of BeamRoom's sockets.
package enum SocketOptions {
    /// The size of a media socket's buffers: two large keyframes, so that a burst survives while the reader is busy.
    package static let mediaBufferBytes: Int = 4 << 20
    /// At a host, which receives few datagrams from many viewers: datagrams read in one system call, and bytes for
    /// each; BeamRoom's are at most 1200 bytes long.
    package static let datagramsPerRead = 64
    package static let bytesPerDatagram = 2048

    /// The longest TCP segment of a control connection, in bytes, options included: the one that every network carries
    /// (RFC 9293, 3.7.1), so that a connection can be made wherever the smallest datagrams pass. A VPN or tunnel that
    /// drops larger packets without a word stops TLS otherwise.
    package static let segmentLength = ChannelOptions.socket(Int(IPPROTO_TCP), TCP_MAXSEG)
    package static let segmentBytes = 536

    /// WIRE-V1: TCP_NODELAY; keep-alive after 20 s idle, every 10 s, three probes. Retransmission timers aren't doubled
    /// while few segments are in flight (RFC 9293 allows it; Linux: TCP_THIN_LINEAR_TIMEOUTS), because a connection
    /// with so little to send causes no congestion.
    package static let control: [(ChannelOptions.Types.SocketOption, Int)] = [
        (segmentLength, segmentBytes),
        (ChannelOptions.socket(Int(IPPROTO_TCP), TCP_THIN_LINEAR_TIMEOUTS), 1),
        (ChannelOptions.socket(Int(IPPROTO_TCP), TCP_NODELAY), 1),
        (ChannelOptions.socket(Int(SOL_SOCKET), SO_KEEPALIVE), 1),
        (ChannelOptions.socket(Int(IPPROTO_TCP), TCP_KEEPIDLE), 20),
        (ChannelOptions.socket(Int(IPPROTO_TCP), TCP_KEEPINTVL), 10),
        (ChannelOptions.socket(Int(IPPROTO_TCP), TCP_KEEPCNT), 3),
    ]

    /// At a host, while the person is asked about the peer: one that has vanished without closing its connection is
    /// noticed within 9 s, so that the next one doesn't wait long. Keep-alive after 3 s idle, every 2 s, three probes.
    package static let asking: [(ChannelOptions.Types.SocketOption, Int)] = [
        (ChannelOptions.socket(Int(IPPROTO_TCP), TCP_KEEPIDLE), 3),
        (ChannelOptions.socket(Int(IPPROTO_TCP), TCP_KEEPINTVL), 2),
        (ChannelOptions.socket(Int(IPPROTO_TCP), TCP_KEEPCNT), 3),
    ]

    /// 0 lets an IPv6 socket serve IPv4 as well.
    package static let onlyV6 = ChannelOptions.socket(Int(IPPROTO_IPV6), IPV6_V6ONLY)

    /// The most bytes that the system merges from a burst (UDP_GRO): those of an IP datagram.
    package static let bytesPerBurst = 65_536

    /// A viewer's socket, which receives bursts from one sender. The channel reads once when datagrams have arrived,
    /// which may bring several; its handler reads the rest.
    package static func makeBurstBootstrap(
        on loop: any EventLoop, initializer: @escaping @Sendable (any Channel) throws -> Void
    ) -> DatagramBootstrap {
        let bootstrap = DatagramBootstrap(group: loop)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: bytesPerBurst))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try initializer(channel) }
            }
        guard System.supportsUDPReceiveOffload else { return bootstrap }
        return
            bootstrap
            .channelOption(.datagramReceiveOffload, value: true)
            .channelOption(.datagramReceiveSegmentSize, value: true)
    }

    package static func makeMediaBootstrap(
        on loop: any EventLoop, initializer: @escaping @Sendable (any Channel) throws -> Void
    ) -> DatagramBootstrap {
        DatagramBootstrap(group: loop)
            .channelOption(.datagramVectorReadMessageCount, value: datagramsPerRead)
            .channelOption(
                .recvAllocator,
                value: FixedSizeRecvByteBufferAllocator(capacity: datagramsPerRead * bytesPerDatagram)
            )
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try initializer(channel) }
            }
    }

    /// Enlarges the socket's buffers: beyond the system's limit if the user may (SO_SNDBUFFORCE), else up to it.
    package static func enlargeBuffers(of channel: any Channel) {
        let directions = [(SO_SNDBUFFORCE, SO_SNDBUF), (SO_RCVBUFFORCE, SO_RCVBUF)]
        for (forced, plain) in directions {
            channel.setOption(ChannelOptions.socket(Int(SOL_SOCKET), forced), value: mediaBufferBytes)
                .flatMapError { _ in
                    channel.setOption(ChannelOptions.socket(Int(SOL_SOCKET), plain), value: mediaBufferBytes)
                }
                // With smaller buffers more datagrams are lost while the reader is busy, which recovery handles.
                .whenFailure { _ in }
        }
    }
}
