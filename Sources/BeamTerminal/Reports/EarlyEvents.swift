import Synchronization

/// Holds back what happens before an event that has to be the first one.
public final class EarlyEvents<Event: Sendable>: Sendable {
    /// Nil: nothing is held back any more.
    private let held = Mutex<[Event]?>([])

    public init() {}

    /// Whether the event has to wait; it is kept then.
    public func hold(_ event: Event) -> Bool { held.withLock { $0?.append(event) } != nil }

    /// Passes on what has waited, in order. What comes meanwhile waits behind it.
    public func release(_ handle: (Event) -> Void) {
        while let events = takeSome() { events.forEach(handle) }
    }

    /// Holds back again.
    public func restart() { held.withLock { $0 = [] } }

    private func takeSome() -> [Event]? {
        held.withLock { held in
            guard let events = held, !events.isEmpty else {
                held = nil
                return nil
            }
            held = []
            return events
        }
    }
}
