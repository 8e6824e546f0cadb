/// A queue of what a session has decided and the driver hasn't fetched yet.
public struct OutputQueue<Output: Sendable>: Sendable {
    @usableFromInline var items: [Output?] = []
    @usableFromInline var head = 0

    @inlinable public init() {}

    @inlinable public mutating func append(_ output: Output) { items.append(output) }

    @inlinable public mutating func popFirst() -> Output? {
        guard head < items.count else { return nil }
        var output: Output?
        swap(&output, &items[head])
        head += 1
        if head == items.count {
            items.removeAll(keepingCapacity: true)
            head = 0
        }
        return output
    }

    @inlinable public mutating func removeAll() {
        items.removeAll()
        head = 0
    }
}
