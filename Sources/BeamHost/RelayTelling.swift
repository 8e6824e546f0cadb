import BeamSession
import Dispatch
import Synchronization

/// Tells a relay's viewers what becomes of its host, in the order in which it was learnt. Several threads learn of it, and
/// what serves the viewers is there later only: told by each thread itself, the older word could come last, and stay.
public final class RelayTelling: Sendable {
    private struct State {
        var condition = RelayCondition()
        /// Nil: nobody is served yet.
        var tell: (@Sendable (RelayCondition.Change) -> Void)?
    }

    private let state = Mutex(State())
    private let queue: DispatchQueue

    /// - Parameter queue: on which viewers are told; a serial one.
    public init(on queue: DispatchQueue) { self.queue = queue }

    /// Through how many relays the host's picture comes.
    public var relays: Int { state.withLock(\.condition.relays) }

    /// Whether the host may send exact patches.
    public var hasPatches: Bool { state.withLock(\.condition.hasPatches) }

    /// The relay's viewer of the host has learnt something.
    public func handle(_ event: ViewerEvent) { change { $0.handle(event) } }

    /// A frame has come from the host.
    public func frameArrived() { change { $0.frameArrived() } }

    /// Viewers are served from now on: `tell` is called with what is so at present, and with all that changes.
    public func begin(_ tell: @escaping @Sendable (RelayCondition.Change) -> Void) {
        state.withLock { state in
            state.tell = tell
            enqueue(state.condition.present, tell)
        }
    }

    private func change(_ change: (inout RelayCondition) -> [RelayCondition.Change]) {
        state.withLock { state in
            let changes = change(&state.condition)
            if let tell = state.tell { enqueue(changes, tell) }
        }
    }

    /// Under the lock, so that the queue has the order of the changes.
    private func enqueue(
        _ changes: [RelayCondition.Change], _ tell: @escaping @Sendable (RelayCondition.Change) -> Void
    ) {
        guard !changes.isEmpty else { return }
        queue.async { for change in changes { tell(change) } }
    }
}
