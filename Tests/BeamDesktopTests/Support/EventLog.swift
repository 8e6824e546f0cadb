import Foundation
import Testing

/// Events in the order of arrival.
final class EventLog<Event: Sendable & Equatable>: @unchecked Sendable {
    // Sendable: `events` is accessed under `condition`'s lock only.
    private let condition = NSCondition()
    private var events: [Event] = []

    func add(_ event: Event) {
        condition.withLock {
            events.append(event)
            condition.broadcast()
        }
    }

    var all: [Event] { condition.withLock { events } }

    /// Waits until exactly these events have come; records an issue with the actual ones if they don't.
    func wait(for expected: [Event], sourceLocation: SourceLocation = #_sourceLocation) {
        wait("\(expected)", sourceLocation: sourceLocation) { $0.count >= expected.count }
        #expect(all == expected, sourceLocation: sourceLocation)
    }

    /// Waits until the events fit; records an issue with the actual ones if they don't.
    func wait(
        _ what: String, sourceLocation: SourceLocation = #_sourceLocation, _ fits: ([Event]) -> Bool
    ) {
        // Much longer than any of these takes even on a slow machine.
        let deadline = Date(timeIntervalSinceNow: 60)
        condition.withLock {
            while !fits(events) {
                guard condition.wait(until: deadline) else {
                    Issue.record("\(what) hasn't come; what has: \(events)", sourceLocation: sourceLocation)
                    return
                }
            }
        }
    }
}
