import CBeamSockets

/// Receives datagrams from a media socket, several in one system call, into memory that is reused.
final class DatagramReceiver {
    private let handle: OpaquePointer

    /// Nil if memory can't be allocated.
    init?() {
        guard let handle = beam_receiver_create() else { return nil }
        self.handle = handle
    }

    deinit { beam_receiver_free(handle) }

    /// Receives without waiting, and calls `body` for each datagram; its bytes are valid during the call only. Returns
    /// 0, or the system's `errno`.
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

/// Datagrams that the system has merged (UDP_GRO): all of the same length but the last, which may be shorter.
enum Segments {
    /// Calls `body` for each datagram. If `size` is 0, `bytes` is one datagram, which may be empty.
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
