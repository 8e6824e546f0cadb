import BeamMedia

/// The frames of a layer that were cut last, for retransmission. Their bytes are the encoder's own, shared and not copied.
struct SentFrames: Sendable {
    struct Limits: Sendable {
        /// From when the encoder made a frame. A sender that is `Pacing.queueTime` behind can still send it again for
        /// `DepartureLog.Limits.age`.
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
    /// In the order of their numbers; some may be missing.
    private var entries: [Entry] = []
    private var bytes = 0

    init(_ limits: Limits = Limits()) { self.limits = limits }

    mutating func add(
        _ frame: EncodedFrame, number: SequenceNumber, isAfterDisposable: Bool = false, pushed: MediaTime
    ) {
        // A sender that is behind may cut a frame after a newer one was cut.
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

    /// Nil for a frame that was never cut, or is too old.
    subscript(number: SequenceNumber) -> EncodedFrame? { entry(number)?.frame }

    private func entry(_ number: SequenceNumber) -> Entry? { entries.last { $0.number == number } }

    /// Writes parts of a frame once more at the start of `memory`, sealed afresh: how many bytes those are. Nil for a frame that is too
    /// old.
    func write(
        _ parts: [Int], of number: SequenceNumber, sealedBy sealer: DatagramSealer, to memory: inout [UInt8]
    ) -> Int? {
        guard let entry = entry(number) else { return nil }
        return try? Fragmenter.writeAgain(
            parts, of: entry.frame, sequence: number, isAfterDisposable: entry.isAfterDisposable, sealedBy: sealer,
            to: &memory)
    }
}
