import BeamSockets
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
