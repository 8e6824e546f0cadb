/// A token bucket: passes bytes at a rate, with a burst.
public struct TokenBucket: Sendable {
    private var capacity: Int64
    private var nanosecondsPerByte: Double
    /// In bytes. Negative after `charge`, or while a burst larger than the bucket is paid off.
    private var tokens: Int64
    private var filledAt: MediaTime?

    public init(capacity: Int, bitsPerSecond: Int) {
        self.capacity = Int64(max(1, capacity))
        nanosecondsPerByte = 8e9 / Double(max(1, bitsPerSecond))
        tokens = self.capacity
    }

    /// Changes capacity and rate from now on. Tokens in the bucket stay.
    public mutating func change(capacity: Int, bitsPerSecond: Int, now: MediaTime) {
        fill(now)
        self.capacity = Int64(max(1, capacity))
        nanosecondsPerByte = 8e9 / Double(max(1, bitsPerSecond))
    }

    /// Takes `count` bytes and returns nil; if there are too few, takes none and returns when there will be enough.
    public mutating func take(_ count: Int, now: MediaTime) -> MediaTime? {
        fill(now)
        let missing = min(Int64(count), capacity) - tokens
        guard missing > 0 else {
            tokens -= Int64(count)
            return nil
        }
        return now + .nanoseconds(Int64(clamping: (Double(missing) * nanosecondsPerByte).rounded(.up)))
    }

    /// Takes bytes even if there are too few; later ones wait for them.
    public mutating func charge(_ count: Int, now: MediaTime) {
        fill(now)
        tokens -= Int64(count)
    }

    /// Returns bytes that were taken and not used.
    public mutating func putBack(_ count: Int) { tokens = min(max(tokens, capacity), tokens + Int64(count)) }

    /// Bytes that may leave now.
    public mutating func level(now: MediaTime) -> Int {
        fill(now)
        return Int(max(0, tokens))
    }

    private mutating func fill(_ now: MediaTime) {
        guard let last = filledAt, last < now else {
            filledAt = filledAt ?? now
            return
        }
        let gained = (Double((now - last).inNanoseconds) / nanosecondsPerByte).rounded(.down)
        if gained >= Double(capacity - tokens) {
            // There may be more than `capacity`, from before it was lowered.
            tokens = max(tokens, capacity)
            filledAt = now
        } else {
            // Adds whole bytes only; the time of the rest counts next time.
            tokens += Int64(clamping: gained)
            filledAt = min(now, last + .nanoseconds(Int64(clamping: (gained * nanosecondsPerByte).rounded(.up))))
        }
    }
}
