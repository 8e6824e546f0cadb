/// A slot of one between two stages: a newer value replaces one that wasn't taken, and replaced values are counted.
public final class LatestSlot<Value: Sendable>: @unchecked Sendable {
    // Sendable: every field below is read and written under `condition`'s lock only.
    private let condition = MonotonicCondition()
    private var value: Value?
    private var isClosed = false
    private var isNudged = false
    private var replacedCount: UInt64 = 0
    private let replacing: @Sendable (_ newer: Value, _ older: Value) -> Value

    /// - Parameter replacing: combines a new value with the one it replaces.
    public init(replacing: @escaping @Sendable (_ newer: Value, _ older: Value) -> Value = { newer, _ in newer }) {
        self.replacing = replacing
    }

    /// The number of values that were replaced before they were taken.
    public var replaced: UInt64 { condition.withLock { replacedCount } }

    /// Puts `newer` in. False if the slot is closed.
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

    /// The result of `take`.
    public enum Taken {
        case value(Value)
        /// `nudge()` was called or the deadline has passed, and there is no value.
        case nudged
        case closed
    }

    /// Waits for a value, a nudge, `close`, or until `deadline` on the monotonic clock (nil: no deadline).
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

    /// Takes the value if there is one, without waiting.
    public func takeIfPresent() -> Value? {
        condition.withLock {
            defer { value = nil }
            return value
        }
    }

    /// Wakes the taker without a value.
    public func nudge() {
        condition.withLock {
            isNudged = true
            condition.signal()
        }
    }

    /// Rejects further values. `take` returns a remaining value, then `closed`.
    public func close() {
        condition.withLock {
            isClosed = true
            condition.broadcast()
        }
    }
}
