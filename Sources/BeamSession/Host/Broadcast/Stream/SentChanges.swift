import BeamMedia
import BeamWire

/// The patches of the last changes, kept because they may be requested again. A pure value.
struct SentChanges: Sendable {
    /// The most patches, bytes of content, and time: later, frames have shown what they have.
    private static let most = 64
    private static let mostBytes = 1 << 20
    private static let time = Duration.milliseconds(1200)

    struct Change: Sendable {
        var number: UInt32
        var patch: ExactPatch
        /// The length of the datagrams that it was cut to.
        var size: DatagramSize
        var sent: MediaTime
    }

    private var changes: [Change] = []
    private var bytes = 0
    private(set) var next: UInt32 = 0

    /// The number of the newest one; nil before the first.
    var newest: UInt32? { next == 0 && changes.isEmpty ? nil : next &- 1 }

    /// The number of the newest one that was captured at `time`, in µs, or before; of those that aren't kept any more all
    /// were. Nil before the first; the number before 0 if that is later.
    func newest(capturedBy time: UInt64) -> UInt32? {
        let later = changes.reversed().prefix { $0.patch.captureTime.microseconds > time }.count
        return newest.map { $0 &- UInt32(later) }
    }

    /// Keeps a patch that is being sent by the number `next`.
    mutating func append(_ patch: ExactPatch, size: DatagramSize, now: MediaTime) {
        changes.append(Change(number: next, patch: patch, size: size, sent: now))
        next &+= 1
        bytes += patch.content.count
        while let first = changes.first,
            changes.count > Self.most || bytes > Self.mostBytes || now - first.sent > Self.time
        {
            bytes -= first.patch.content.count
            changes.removeFirst()
        }
    }

    /// Nil: it isn't kept any more, or never was.
    subscript(number: UInt32, now now: MediaTime) -> Change? {
        guard let first = changes.first else { return nil }
        let index = Int(truncatingIfNeeded: number &- first.number)
        guard index < changes.count, now - changes[index].sent <= Self.time else { return nil }
        return changes[index]
    }
}
