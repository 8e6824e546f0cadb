import NIOCore

/// The socket of a channel, for calls that NIO has no functions for. Used on the channel's event loop.
///
/// NIO's own access casts to a protocol with an associated type each time, which is a tenth of the time that it takes to send
/// a packet of sound.
package struct ChannelSocket {
    private let channel: any Channel
    private let socket: NIOBSDSocket.Handle

    /// Nil if the channel has no socket, or is closed.
    package init?(_ channel: any Channel) {
        let socket = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { $0 }
        guard let socket else { return nil }
        self.channel = channel
        self.socket = socket
    }

    /// Nil once the channel is closed: then the number may be another file's. NIO calls nobody between closing the socket
    /// and being inactive.
    package var handle: NIOBSDSocket.Handle? { channel.isActive ? socket : nil }
}
