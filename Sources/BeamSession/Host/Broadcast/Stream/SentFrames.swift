import BeamMedia
import BeamWire

/// The frames of a layer that were cut last, kept for retransmission. Their bytes are the encoder's own, shared, not
/// copied.
struct SentFrames: Sendable {
    struct Limits: Sendable {
        /// From when the encoder made a frame: `Pacing.queueTime` for a sender that is behind, and
        /// `DepartureLog.Limits.age` in which it may retransmit.
        var age = Duration.milliseconds(1300)
        var bytes = 16 << 20
        var frames = 128
    }

    private struct Entry: Sendable {
        let number: SequenceNumber
        let frame: EncodedFrame
        let isAfterDisposable: Bool
        let pushed: MediaTime
    }

    private let limits: Limits
    /// In ascending order of their numbers, with gaps.
    private var entries: [Entry] = []
    private var bytes = 0

    init(_ limits: Limits = Limits()) { self.limits = limits }

    mutating func add(
        _ frame: EncodedFrame, number: SequenceNumber, isAfterDisposable: Bool = false, pushed: MediaTime
    ) {
        // A sender that is behind may cut an older frame after a newer one was cut.
        var index = entries.endIndex
        while index > 0, entries[index - 1].number.distance(from: number) > 0 { index -= 1 }
        entries.insert(
            Entry(number: number, frame: frame, isAfterDisposable: isAfterDisposable, pushed: pushed), at: index)
        bytes += frame.unit.range.count
        var gone = 0
        while gone < entries.count - 1,
            bytes > limits.bytes || entries.count - gone > limits.frames
                || pushed - entries[gone].pushed > limits.age
        {
            bytes -= entries[gone].frame.unit.range.count
            gone += 1
        }
        entries.removeFirst(gone)
    }

    /// Nil if the frame was never cut, or is too old.
    subscript(number: SequenceNumber) -> EncodedFrame? { entry(number)?.frame }

    /// From the end, where nearly all that are asked for are, and by index: a closure would get a copy of each frame.
    private func entry(_ number: SequenceNumber) -> Entry? {
        var index = entries.endIndex
        while index > 0 {
            index -= 1
            let distance = entries[index].number.distance(from: number)
            if distance <= 0 { return distance == 0 ? entries[index] : nil }
        }
        return nil
    }

    /// Seals parts of a frame that was cut to datagrams of that length again, and writes them to the start of `memory`.
    /// Returns their length in bytes; nil if the frame is too old.
    func write(
        _ parts: [Int], of number: SequenceNumber, size: DatagramSize, sealedBy sealer: DatagramSealer,
        to memory: inout [UInt8]
    ) -> Int? {
        guard let entry = entry(number) else { return nil }
        return try? Fragmenter.writeAgain(
            parts, of: entry.frame, sequence: number, size: size, isAfterDisposable: entry.isAfterDisposable,
            sealedBy: sealer, to: &memory)
    }
}
