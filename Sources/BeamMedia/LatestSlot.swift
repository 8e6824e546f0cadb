/// A slot of one between two stages: a newer value replaces one that nobody took, and the replaced are counted.
public final class LatestSlot<Value: Sendable>: @unchecked Sendable {
    // Sendable: every field below is read and written under `condition`'s lock only.
    private let condition = MonotonicCondition()
    private var value: Value?
    private var isClosed = false
    private var isNudged = false
    private var replacedCount: UInt64 = 0
    private let replacing: @Sendable (_ newer: Value, _ older: Value) -> Value

    /// `replacing` makes the value that takes the place of both, where an older one was never taken.
    public init(replacing: @escaping @Sendable (_ newer: Value, _ older: Value) -> Value = { newer, _ in newer }) {
        self.replacing = replacing
    }

    /// Values that were put in and replaced before anyone took them.
    public var replaced: UInt64 { condition.withLock { replacedCount } }

    /// Puts `newer` in. Returns false when the slot is closed.
    @discardableResult
    public func put(_ newer: Value) -> Bool {
        condition.withLock {
            guard !isClosed else { return false }
            if let older = value {
                replacedCount += 1
                value = replacing(newer, older)
            } else {
                value = newer
            }
            condition.signal()
            return true
        }
    }

    /// Why `take` returned.
    public enum Taken {
        case value(Value)
        /// `nudge()` was called, or the time is up, and no value is there.
        case nudged
        case closed
    }

    /// Waits for a value, a nudge, closing, or until the monotonic clock shows `deadline` (nil: no end).
    public func take(until deadline: MediaTime? = nil) -> Taken {
        condition.withLock {
            var isTimeUp = false
            while true {
                if let taken = value {
                    value = nil
                    isNudged = false
                    return .value(taken)
                }
                if isClosed { return .closed }
                if isNudged || isTimeUp {
                    isNudged = false
                    return .nudged
                }
                if let deadline { isTimeUp = !condition.wait(until: deadline) } else { condition.wait() }
            }
        }
    }

    /// Takes what is there, without waiting.
    public func takeIfPresent() -> Value? {
        condition.withLock {
            defer { value = nil }
            return value
        }
    }

    /// Wakes the taker though no value has come.
    public func nudge() {
        condition.withLock {
            isNudged = true
            condition.signal()
        }
    }

    /// Nothing goes in any more; the taker gets what is there, then `closed`.
    public func close() {
        condition.withLock {
            isClosed = true
            condition.broadcast()
        }
    }
}
