import BeamProtocol
import CBeamSockets
import Glibc
import NIOCore
import NIOPosix

/// Sends bursts on a media socket: straight from where they lie, in one system call each, without a copy or
/// an allocation. What the system has no room for at the moment waits in NIO's queue. Confined to its event loop.
final class MediaSender {
    private let channel: any Channel
    private let isV6: Bool
    private let onFailure: (NetworkAddress) -> Void
    /// The system cuts bursts (UDP_SEGMENT), and so does the network card or its driver, as far as is known.
    private var cutsBursts = System.supportsUDPSegmentationOffload
    /// Datagrams in NIO's queue: what comes after them has to wait there, too.
    private var queued = 0

    /// `onFailure` is told of addresses that nothing can be sent to; not from within `send`.
    init(_ channel: any Channel, onFailure: @escaping (NetworkAddress) -> Void) {
        self.channel = channel
        self.onFailure = onFailure
        isV6 = channel.localAddress?.isV6 ?? false
    }

    func send(_ burst: MediaBurst) {
        burst.bytes.withUnsafeBytes { bytes in
            let datagrams = UnsafeRawBufferPointer(rebasing: bytes[burst.range])
            send(datagrams, segmentSize: burst.segmentSize, to: burst.address)
        }
    }

    private func send(_ datagrams: UnsafeRawBufferPointer, segmentSize: Int, to address: NetworkAddress) {
        guard queued == 0 else { return enqueue(datagrams, segmentSize: segmentSize, to: address) }
        let outcome = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { socket in
            address.withSocketAddress(onV6Socket: isV6) { to, length in
                send(datagrams, segmentSize: segmentSize, on: socket, to, length)
            }
        }
        // A socket that is closed already sends nothing; its successor will.
        guard let outcome else { return }
        switch outcome.error {
        case 0: break
        case EAGAIN, EWOULDBLOCK:
            let rest = UnsafeRawBufferPointer(rebasing: datagrams[outcome.sent...])
            enqueue(rest, segmentSize: segmentSize, to: address)
        // The card's queue is full: lost, like anything that gets lost on the way.
        case ENOBUFS, ENOMEM: break
        default: failed(address)
        }
    }

    private func send(
        _ datagrams: UnsafeRawBufferPointer, segmentSize: Int, on socket: CInt, _ to: UnsafePointer<sockaddr>,
        _ length: socklen_t
    ) -> (sent: Int, error: CInt) {
        guard let bytes = datagrams.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return (0, 0) }
        if cutsBursts || datagrams.count <= segmentSize {
            let error = beam_send_burst(socket, to, length, bytes, datagrams.count, segmentSize)
            // A card that can't compute the datagrams' checksums, or a path that takes no datagram that long.
            guard error == EIO || error == EINVAL || error == EMSGSIZE, datagrams.count > segmentSize else {
                return (0, error)
            }
            cutsBursts = false
        }
        var sent = 0
        while sent < datagrams.count {
            let count = beam_send_each(socket, to, length, bytes + sent, datagrams.count - sent, segmentSize)
            guard count > 0 else { return (sent, CInt(-count)) }
            sent += count
        }
        return (sent, 0)
    }

    // MARK: When the system has no room

    private func enqueue(_ datagrams: UnsafeRawBufferPointer, segmentSize: Int, to address: NetworkAddress) {
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
        // One flush an address, so that an error is known to be this address's.
        channel.flush()
    }

    private func failed(_ address: NetworkAddress, _ error: any Error) {
        // What was written to a socket that another address's error has closed says nothing of this address.
        if let error = error as? ChannelError, error == .ioOnClosedChannel || error == .alreadyClosed { return }
        failed(address)
    }

    private func failed(_ address: NetworkAddress) {
        let bound = NIOLoopBound(self, eventLoop: channel.eventLoop)
        channel.eventLoop.execute { bound.value.onFailure(address) }
    }
}
