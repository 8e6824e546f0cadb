import BeamMedia

/// A session's deadlines: at most one for each purpose. Those due at the same time come out in the order in which they
/// were first set.
struct Deadlines<Purpose: Hashable & Sendable>: Sendable {
    private var entries: [(purpose: Purpose, time: MediaTime)] = []
    /// The earliest deadline; `.distantFuture` if there are none.
    private(set) var next = MediaTime.distantFuture

    mutating func set(_ purpose: Purpose, at time: MediaTime) {
        if let index = entries.firstIndex(where: { $0.purpose == purpose }) {
            let old = entries[index].time
            entries[index].time = time
            if old == next, time > old { findNext() }
        } else {
            entries.append((purpose, time))
        }
        next = min(next, time)
    }

    mutating func cancel(_ purpose: Purpose) {
        guard let index = entries.firstIndex(where: { $0.purpose == purpose }) else { return }
        let time = entries.remove(at: index).time
        if time == next { findNext() }
    }

    /// Nil: there is none.
    mutating func arm(_ purpose: Purpose, at time: MediaTime?) {
        if let time { set(purpose, at: time) } else { cancel(purpose) }
    }

    mutating func cancelAll() {
        entries.removeAll()
        next = .distantFuture
    }

    /// The purpose of the earliest deadline.
    var first: Purpose? { entries.min { $0.time < $1.time }?.purpose }

    func isSet(_ purpose: Purpose) -> Bool { entries.contains { $0.purpose == purpose } }

    /// Removes and returns a purpose that is due.
    mutating func popDue(_ now: MediaTime) -> Purpose? {
        guard next <= now, let index = entries.firstIndex(where: { $0.time <= now }) else { return nil }
        let purpose = entries.remove(at: index).purpose
        findNext()
        return purpose
    }

    private mutating func findNext() {
        next = entries.reduce(.distantFuture) { min($0, $1.time) }
    }
}
