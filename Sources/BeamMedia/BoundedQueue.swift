import Foundation

/// A queue between two stages that never drops a value silently: `put` says when there is no room.
public final class BoundedQueue<Value: Sendable>: @unchecked Sendable {
    // Sendable: every field below is read and written under `condition`'s lock only.
    private let condition = NSCondition()
    private var values: [Value] = []
    private var isClosed = false
    public let capacity: Int

    public init(capacity: Int) {
        precondition(capacity > 0)
        self.capacity = capacity
    }

    public enum PutResult: Sendable { case queued, full, closed }

    /// Appends `value`, unless the queue is full or closed.
    public func put(_ value: Value) -> PutResult {
        condition.withLock {
            if isClosed { return .closed }
            guard values.count < capacity else { return .full }
            values.append(value)
            condition.signal()
            return .queued
        }
    }

    /// Waits for a value; nil when the queue is closed and empty.
    public func take() -> Value? {
        condition.withLock {
            while values.isEmpty {
                if isClosed { return nil }
                condition.wait()
            }
            return values.removeFirst()
        }
    }

    /// Throws everything queued away, and says how many values that were.
    @discardableResult
    public func flush() -> Int {
        condition.withLock {
            defer { values.removeAll(keepingCapacity: true) }
            return values.count
        }
    }

    public var count: Int { condition.withLock { values.count } }

    /// Nothing goes in any more; the taker gets what is left, then nil.
    public func close() {
        condition.withLock {
            isClosed = true
            condition.broadcast()
        }
    }
}
