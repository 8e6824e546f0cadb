import BeamMedia

/// How much a browser may have sent again: in any second at most as much as the stream itself had in the last one.
/// Whoever asks for everything all the time doubles its own stream, and no more.
struct ResendBudget: Sendable {
    /// Tenths of a second, of which the last ten count.
    private struct Slot: Sendable {
        var number: Int64 = .min
        var sent = 0
        var resent = 0
    }

    private static let slotTime: Int64 = 100_000_000
    private static let count: Int64 = 10
    private var slots = [Slot](repeating: Slot(), count: Int(count))

    mutating func sent(_ bytes: Int, now: MediaTime) { slots[current(now)].sent += bytes }

    /// Takes `bytes` from what may be sent again. False if that is too little.
    mutating func take(_ bytes: Int, now: MediaTime) -> Bool {
        let index = current(now)
        let oldest = slots[index].number - Self.count
        var (sent, resent) = (0, bytes)
        for slot in slots where slot.number > oldest {
            sent += slot.sent
            resent += slot.resent
        }
        guard resent <= sent else { return false }
        slots[index].resent += bytes
        return true
    }

    private mutating func current(_ now: MediaTime) -> Int {
        let number = now.nanoseconds / Self.slotTime
        let index = Int(clamping: number.quotientAndRemainder(dividingBy: Self.count).remainder.magnitude)
        if slots[index].number != number { slots[index] = Slot(number: number) }
        return index
    }
}
