/// A queue between two stages that never drops a value silently: `put` says when there is no room.
public final class BoundedQueue<Value: Sendable>: @unchecked Sendable {
    // Sendable: every field below is read and written under `condition`'s lock only.
    private let condition = MonotonicCondition()
    private var values: [Value] = []
    private var weight = 0
    private var isClosed = false
    public let capacity: Int
    private let weigh: @Sendable (Value) -> Int
    private let mostWeight: Int

    /// Holds `capacity` values, and values of `mostWeight` in all by what `weigh` says of each; a single one always has room.
    public init(
        capacity: Int, weighing weigh: @escaping @Sendable (Value) -> Int = { _ in 0 }, atMost mostWeight: Int = .max
    ) {
        precondition(capacity > 0)
        self.capacity = capacity
        self.weigh = weigh
        self.mostWeight = mostWeight
    }

    public enum PutResult: Sendable { case queued, full, closed }

    /// Appends `value`, unless the queue is full or closed.
    public func put(_ value: Value) -> PutResult {
        condition.withLock {
            if isClosed { return .closed }
            let added = weigh(value)
            guard values.count < capacity, values.isEmpty || weight + added <= mostWeight else { return .full }
            weight += added
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
            let value = values.removeFirst()
            weight -= weigh(value)
            return value
        }
    }

    /// Throws everything queued away, and says how many values that were.
    @discardableResult
    public func flush() -> Int {
        condition.withLock {
            defer {
                values.removeAll(keepingCapacity: true)
                weight = 0
            }
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
