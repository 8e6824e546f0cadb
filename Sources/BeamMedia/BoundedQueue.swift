/// A bounded queue between two stages. It never drops values by itself: `put` reports when it is full.
public final class BoundedQueue<Value: Sendable>: @unchecked Sendable {
    // Sendable: every field below is read and written under `condition`'s lock only.
    private let condition = MonotonicCondition()
    private var values: [Value] = []
    private var weight = 0
    private var isClosed = false
    public let capacity: Int
    private let weigh: @Sendable (Value) -> Int
    private let maxWeight: Int

    /// Holds at most `capacity` values, and at most a total weight of `maxWeight`, as measured by `weigh`. A single
    /// value always fits.
    public init(
        capacity: Int, weighing weigh: @escaping @Sendable (Value) -> Int = { _ in 0 }, atMost maxWeight: Int = .max
    ) {
        precondition(capacity > 0)
        self.capacity = capacity
        self.weigh = weigh
        self.maxWeight = maxWeight
    }

    public enum PutResult: Sendable { case queued, full, closed }

    /// Appends `value`, unless the queue is full or closed.
    public func put(_ value: Value) -> PutResult {
        condition.withLock {
            if isClosed { return .closed }
            let added = weigh(value)
            guard values.count < capacity, values.isEmpty || weight + added <= maxWeight else { return .full }
            weight += added
            values.append(value)
            condition.signal()
            return .queued
        }
    }

    /// Waits for a value; nil once the queue is closed and empty.
    public func take() -> Value? {
        condition.withLock {
            while values.isEmpty {
                if isClosed { return nil }
                condition.wait()
            }
            return removeFirst()
        }
    }

    /// The result of `take(until:)`.
    public enum Taken {
        case value(Value)
        /// The deadline has passed.
        case nothing
        /// The queue is closed and empty.
        case closed
    }

    /// Waits for a value, or until `deadline` on the monotonic clock (nil: no deadline).
    public func take(until deadline: MediaTime?) -> Taken {
        condition.withLock {
            while values.isEmpty {
                if isClosed { return .closed }
                if let deadline {
                    guard condition.wait(until: deadline) else { return .nothing }
                } else {
                    condition.wait()
                }
            }
            return .value(removeFirst())
        }
    }

    /// Takes a value if there is one, without waiting.
    public func takeIfPresent() -> Value? { condition.withLock { values.isEmpty ? nil : removeFirst() } }

    private func removeFirst() -> Value {
        let value = values.removeFirst()
        weight -= weigh(value)
        return value
    }

    /// Discards all queued values. Returns their number.
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

    /// Rejects further values. `take` returns the remaining values, then nil.
    public func close() {
        condition.withLock {
            isClosed = true
            condition.broadcast()
        }
    }
}
