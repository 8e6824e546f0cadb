import Dispatch
import Synchronization

/// What happens while something is measured: told by the processes' threads and by whoever breaks it off, taken by the one
/// that measures.
final class Mailbox: Sendable {
    enum Message: Sendable {
        /// The processes, by their numbers.
        case line(Int, String)
        case words(Int, String)
        case ended(Int, ChildProgram.Ending)
    }

    private struct State {
        var messages: [Message] = []
        var isCancelled = false
    }

    private let state = Mutex(State())
    private let arrival = DispatchSemaphore(value: 0)

    func put(_ message: Message) {
        state.withLock { $0.messages.append(message) }
        arrival.signal()
    }

    /// From now on `take` throws.
    func cancel() {
        state.withLock { $0.isCancelled = true }
        arrival.signal()
    }

    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// The next message; nil at `deadline`.
    ///
    /// - Throws: `cancelled`.
    func take(until deadline: DispatchTime) throws(MeasureError) -> Message? {
        while true {
            let (message, isCancelled) = state.withLock { state in
                (state.messages.isEmpty ? nil : state.messages.removeFirst(), state.isCancelled)
            }
            if isCancelled { throw .cancelled }
            if let message { return message }
            guard arrival.wait(timeout: deadline) == .success else { return nil }
        }
    }

    /// The next message even though it is all broken off: for seeing processes to their end.
    func takeLast(until deadline: DispatchTime) -> Message? {
        while true {
            let message = state.withLock { $0.messages.isEmpty ? nil : $0.messages.removeFirst() }
            if let message { return message }
            guard arrival.wait(timeout: deadline) == .success else { return nil }
        }
    }
}
