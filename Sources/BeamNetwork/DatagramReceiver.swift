import CBeamSockets

/// Memory for what one system call brings from a media socket, used again for each call.
final class DatagramReceiver {
    private let handle: OpaquePointer

    /// Nil if there is no memory.
    init?() {
        guard let handle = beam_receiver_create() else { return nil }
        self.handle = handle
    }

    deinit { beam_receiver_free(handle) }

    /// Receives what is there, without waiting, and calls `body` for each datagram, whose bytes are good during the
    /// call only. Returns 0, or the system's error.
    func receive(from socket: CInt, _ body: (UnsafeRawBufferPointer) -> Void) -> CInt {
        let count = beam_receive(handle, socket)
        guard count >= 0 else { return -count }
        for index in 0..<count {
            let message = beam_receiver_message(handle, index)
            Segments.forEach(
                in: UnsafeRawBufferPointer(start: message.bytes, count: message.length),
                size: message.segment_size, body)
        }
        return 0
    }
}

/// Datagrams that the system has put together (UDP_GRO): all as long as the first, but the last, which may be shorter.
enum Segments {
    /// Calls `body` for each of them. `size` 0 says that `bytes` are one datagram, which may be empty.
    static func forEach(in bytes: UnsafeRawBufferPointer, size: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
        guard size > 0, size < bytes.count else { return body(bytes) }
        var start = 0
        while start < bytes.count {
            let end = min(start + size, bytes.count)
            body(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
            start = end
        }
    }
}
