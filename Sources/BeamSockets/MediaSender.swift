import BeamSession
import BeamWire
import CBeamSockets
import Glibc
import NIOCore
import NIOPosix

/// Sends bursts on a media socket, each in one system call, without a copy or an allocation. What the system has no
/// room for waits in NIO's queue. Confined to its event loop.
package final class MediaSender {
    private let channel: any Channel
    private let socket: ChannelSocket?
    private let isV6: Bool
    private let onFailure: (NetworkAddress) -> Void
    /// The system cuts bursts into datagrams (UDP_SEGMENT). Cleared if the network card turns out not to allow it.
    private var cutsBursts = System.supportsUDPSegmentationOffload
    /// Addresses that take no segments of that length, because of their path.
    private var uncut: Set<NetworkAddress> = []
    private static let mostUncut = 256
    /// Datagrams in NIO's queue. Later ones have to queue behind them.
    private var queued = 0
    /// The most datagrams in the queue. What exceeds them is dropped, as by a full queue on the path.
    private static let mostQueued = 1024

    /// `onFailure` is called for addresses that nothing can be sent to, but not from within `send`.
    package init(_ channel: any Channel, onFailure: @escaping (NetworkAddress) -> Void) {
        self.channel = channel
        socket = ChannelSocket(channel)
        self.onFailure = onFailure
        isV6 = channel.localAddress?.isV6 ?? false
    }

    package func send(_ burst: MediaBurst) {
        burst.bytes.withUnsafeBytes { bytes in
            let datagrams = UnsafeRawBufferPointer(rebasing: bytes[burst.range])
            send(datagrams, segmentSize: burst.segmentSize, to: burst.address)
        }
    }

    /// Sends datagrams of `segmentSize` bytes, the last of which may be shorter: at most 64, and 65507 bytes.
    package func send(_ datagrams: UnsafeRawBufferPointer, segmentSize: Int, to address: NetworkAddress) {
        guard queued == 0 else { return enqueue(datagrams, segmentSize: segmentSize, to: address) }
        // Nil if the socket is closed; the driver opens another one.
        guard let socket = socket?.handle else { return }
        let outcome = address.withSocketAddress(onV6Socket: isV6) { to, length in
            send(datagrams, segmentSize: segmentSize, on: socket, to, length, address)
        }
        switch outcome.error {
        case 0: break
        case EAGAIN, EWOULDBLOCK:
            let rest = UnsafeRawBufferPointer(rebasing: datagrams[outcome.sent...])
            enqueue(rest, segmentSize: segmentSize, to: address)
        // The network card's queue is full: the datagrams are lost, as on the path.
        case ENOBUFS, ENOMEM: break
        default: failed(address)
        }
    }

    private func send(
        _ datagrams: UnsafeRawBufferPointer, segmentSize: Int, on socket: CInt, _ to: UnsafePointer<sockaddr>,
        _ length: socklen_t, _ address: NetworkAddress
    ) -> (sent: Int, error: CInt) {
        guard let bytes = datagrams.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return (0, 0) }
        if cutsBursts && (uncut.isEmpty || !uncut.contains(address)) || datagrams.count <= segmentSize {
            let error = beam_send_burst(socket, to, length, bytes, datagrams.count, segmentSize)
            guard datagrams.count > segmentSize else { return (0, error) }
            switch error {
            // The card can't compute checksums of segments.
            case EIO: cutsBursts = false
            // The path takes no datagrams of that length: other paths do.
            case EINVAL, EMSGSIZE:
                if uncut.count >= Self.mostUncut { uncut.removeAll() }
                uncut.insert(address)
            default: return (0, error)
            }
        }
        var sent = 0
        while sent < datagrams.count {
            let count = beam_send_each(socket, to, length, bytes + sent, datagrams.count - sent, segmentSize)
            guard count > 0 else { return (sent, CInt(-count)) }
            sent += count
        }
        return (sent, 0)
    }

    // MARK: Queueing

    private func enqueue(_ datagrams: UnsafeRawBufferPointer, segmentSize: Int, to address: NetworkAddress) {
        guard queued < Self.mostQueued else { return }
        let destination = address.ip.socketAddress(port: address.port, onV6Socket: isV6)
        let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
        Segments.forEach(in: datagrams, size: segmentSize) { datagram in
            let sent = channel.eventLoop.makePromise(of: Void.self)
            sent.futureResult.whenComplete { result in
                bound.value.queued -= 1
                if case .failure(let error) = result { bound.value.failed(address, error) }
            }
            queued += 1
            channel.write(
                AddressedEnvelope(remoteAddress: destination, data: channel.allocator.buffer(bytes: datagram)),
                promise: sent)
        }
        // One flush for each address, so that an error can be attributed to it.
        channel.flush()
    }

    private func failed(_ address: NetworkAddress, _ error: any Error) {
        // The socket was closed because of another address's error.
        if let error = error as? ChannelError, error == .ioOnClosedChannel || error == .alreadyClosed { return }
        failed(address)
    }

    private func failed(_ address: NetworkAddress) {
        channel.eventLoop.assumeIsolated().execute { [self] in onFailure(address) }
    }
}
