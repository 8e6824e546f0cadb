import Dispatch
import Synchronization

/// Collects the events of a measurement from the child processes' threads, and cancellation from any thread, for the
/// measuring thread.
final class Mailbox: Sendable {
    enum Message: Sendable {
        /// With the child's number.
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

    /// Makes `take` throw from now on.
    func cancel() {
        state.withLock { $0.isCancelled = true }
        arrival.signal()
    }

    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// The next message; nil at `deadline`.
    ///
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

    /// The next message even after cancellation; used while ending the processes.
    func takeLast(until deadline: DispatchTime) -> Message? {
        while true {
            let message = state.withLock { $0.messages.isEmpty ? nil : $0.messages.removeFirst() }
            if let message { return message }
            guard arrival.wait(timeout: deadline) == .success else { return nil }
        }
    }
}
