import Glibc
import NIOCore
import NIOPosix

/// What BeamRoom asks of its sockets.
enum SocketOptions {
    /// Room for two large keyframes, so that a burst outlives a busy moment of its reader.
    static let mediaBufferBytes: Int = 4 << 20
    /// For few datagrams from many: how many one system call reads, and the room for each; BeamRoom's are at most 1200
    /// bytes.
    static let datagramsPerRead = 64
    static let bytesPerDatagram = 2048

    /// WIRE-V1: no delay, keep-alive after 20 s idle, every 10 s, three probes.
    static let control: [(ChannelOptions.Types.SocketOption, Int)] = [
        (ChannelOptions.socket(Int(IPPROTO_TCP), TCP_NODELAY), 1),
        (ChannelOptions.socket(Int(SOL_SOCKET), SO_KEEPALIVE), 1),
        (ChannelOptions.socket(Int(IPPROTO_TCP), TCP_KEEPIDLE), 20),
        (ChannelOptions.socket(Int(IPPROTO_TCP), TCP_KEEPINTVL), 10),
        (ChannelOptions.socket(Int(IPPROTO_TCP), TCP_KEEPCNT), 3),
    ]

    /// 0 lets an IPv6 socket serve IPv4 as well.
    static let onlyV6 = ChannelOptions.socket(Int(IPPROTO_IPV6), IPV6_V6ONLY)

    /// What the system puts together from a burst (UDP_GRO) is at most as long as an IP datagram can be.
    static let bytesPerBurst = 65_536

    /// A socket on which bursts come from one sender. The channel reads once when something has come, which may be
    /// several datagrams; its handler reads the rest by itself.
    static func makeBurstBootstrap(
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

    static func makeMediaBootstrap(
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

    /// As large as the system lets this user have them; more than a plain request gets, where the user may.
    static func enlargeBuffers(of channel: any Channel) {
        let directions = [(SO_SNDBUFFORCE, SO_SNDBUF), (SO_RCVBUFFORCE, SO_RCVBUF)]
        for (forced, plain) in directions {
            channel.setOption(ChannelOptions.socket(Int(SOL_SOCKET), forced), value: mediaBufferBytes)
                .flatMapError { _ in
                    channel.setOption(ChannelOptions.socket(Int(SOL_SOCKET), plain), value: mediaBufferBytes)
                }
                // Smaller buffers than asked for cost quality in bad moments, never the stream.
                .whenFailure { _ in }
        }
    }
}
