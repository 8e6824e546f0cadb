/// A ring buffer of the newest values of a series, allocated once.
struct Ring<Element: Sendable>: Sendable {
    private var storage: [Element]
    private var next = 0
    private(set) var count = 0

    /// Room for `capacity` values; `filler` fills unused places.
    init(capacity: Int, filler: Element) {
        storage = Array(repeating: filler, count: max(1, capacity))
    }

    var isEmpty: Bool { count == 0 }

    /// Replaces the oldest value if the ring is full.
    mutating func append(_ element: Element) {
        storage[next] = element
        next = (next + 1) % storage.count
        count = min(count + 1, storage.count)
    }

    mutating func removeAll() { count = 0 }

    /// The value `back` places before the newest; `back` is less than `count`.
    subscript(back back: Int) -> Element {
        get { storage[index(back)] }
        set { storage[index(back)] = newValue }
    }

    private func index(_ back: Int) -> Int {
        precondition(back >= 0 && back < count)
        let index = next - 1 - back
        return index < 0 ? index + storage.count : index
    }
}
