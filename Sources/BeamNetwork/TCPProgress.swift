import CBeamSockets
import NIOCore
import NIOPosix

/// What the system knows of a TCP connection (TCP_INFO).
struct TCPProgress: Hashable, Sendable {
    /// Segments that were sent and aren't acknowledged.
    var unacknowledged: Int
    /// Bytes received from the peer.
    var receivedBytes: UInt64

    /// Nil if the socket is closed. On its event loop only.
    init?(_ channel: any Channel) {
        let info = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { beam_tcp_progress($0) }
        guard let info, info.is_known != 0 else { return nil }
        unacknowledged = Int(info.unacknowledged)
        receivedBytes = info.received
    }
}
