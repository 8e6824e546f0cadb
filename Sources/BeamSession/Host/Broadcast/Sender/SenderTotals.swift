/// Totals of one viewer's stream.
struct SenderTotals: Hashable, Sendable {
    /// Frames begun, keyframes among them, and disposable frames skipped because they were late.
    var frames: UInt64 = 0
    var keyframes: UInt64 = 0
    var skipped: UInt64 = 0
    var datagrams: UInt64 = 0
    var bytes: UInt64 = 0
    /// Of the datagrams, retransmissions.
    var retransmissions: UInt64 = 0
}
