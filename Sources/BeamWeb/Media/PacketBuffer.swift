import BeamSession

/// Protected packets on their way to the system, several of the same length in one call. Its memory is reused.
struct PacketBuffer: ~Copyable {
    /// As many as the system takes in one call, and as one IP datagram would hold.
    private static let mostPackets = 40
    private static let bytesPerPacket = BrowserBurst.longestPacket + SRTPSession.overhead

    private let memory = UnsafeMutableRawBufferPointer.allocate(
        byteCount: mostPackets * bytesPerPacket, alignment: 16)
    private var used = 0
    private var segment = 0
    /// A packet that is shorter than those before ends the burst.
    private var isFull = false

    deinit { memory.deallocate() }

    /// Adds a packet that `write` puts into the memory, and protects it. Calls `send` before if it doesn't fit to those that
    /// wait.
    mutating func add(
        write: (UnsafeMutableRawBufferPointer) -> Int, _ session: SRTPSession,
        send: (UnsafeRawBufferPointer, _ segmentSize: Int) -> Void
    ) {
        if isFull || memory.count - used < Self.bytesPerPacket { flush(send) }
        let place = UnsafeMutableRawBufferPointer(rebasing: memory[used...])
        guard let length = session.protect(.media, place, count: write(place)) else { return }
        if used == 0 {
            segment = length
        } else if length > segment {
            // The longer one begins the next burst.
            let start = used
            flush(send)
            memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[start..<(start + length)]))
            segment = length
        }
        used += length
        isFull = length < segment
    }

    mutating func flush(_ send: (UnsafeRawBufferPointer, _ segmentSize: Int) -> Void) {
        guard used > 0 else { return }
        send(UnsafeRawBufferPointer(rebasing: memory[..<used]), segment)
        used = 0
        isFull = false
    }
}
