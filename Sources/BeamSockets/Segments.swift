/// Datagrams that the system has merged (UDP_GRO): all of the same length but the last, which may be shorter.
package enum Segments {
    /// Calls `body` for each datagram. If `size` is 0, `bytes` is one datagram, which may be empty.
    package static func forEach(in bytes: UnsafeRawBufferPointer, size: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
        guard size > 0, size < bytes.count else { return body(bytes) }
        var start = 0
        while start < bytes.count {
            let end = min(start + size, bytes.count)
            body(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
            start = end
        }
    }
}
