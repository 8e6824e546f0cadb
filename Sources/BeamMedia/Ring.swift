/// A ring buffer of the newest values of a series, allocated once.
public struct Ring<Element: Sendable>: Sendable {
    @usableFromInline var storage: [Element]
    @usableFromInline var next = 0
    @usableFromInline var stored = 0

    /// Room for `capacity` values; `filler` fills unused places.
    @inlinable public init(capacity: Int, filler: Element) {
        storage = Array(repeating: filler, count: max(1, capacity))
    }

    @inlinable public var count: Int { stored }

    @inlinable public var isEmpty: Bool { count == 0 }

    /// Replaces the oldest value if the ring is full.
    @inlinable public mutating func append(_ element: Element) {
        storage[next] = element
        next = (next + 1) % storage.count
        stored = min(stored + 1, storage.count)
    }

    @inlinable public mutating func removeAll() { stored = 0 }

    /// The value `back` places before the newest; `back` is less than `count`.
    @inlinable public subscript(back back: Int) -> Element {
        get { storage[index(back)] }
        set { storage[index(back)] = newValue }
    }

    @inlinable func index(_ back: Int) -> Int {
        precondition(back >= 0 && back < count)
        let index = next - 1 - back
        return index < 0 ? index + storage.count : index
    }
}
