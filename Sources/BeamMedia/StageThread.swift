import Foundation

/// The one thread that owns a stage. Runs its body once; `join` waits for its end.
public final class StageThread: Sendable {
    private let completion = Completion()

    /// Starts a thread named `name` (the system shows its first 15 bytes) that runs `body`.
    public init(_ name: String, body: @escaping @Sendable () -> Void) {
        let completion = self.completion
        let thread = Thread {
            body()
            completion.finish()
        }
        thread.name = name
        thread.stackSize = 1 << 20
        thread.start()
    }

    /// Waits until the body has returned. Not to be called by the stage itself.
    public func join() { completion.wait() }
}

/// Something that happens once, and can be waited for.
private final class Completion: @unchecked Sendable {
    // Sendable: `isDone` is read and written under `condition`'s lock only.
    private let condition = MonotonicCondition()
    private var isDone = false

    func finish() {
        condition.withLock {
            isDone = true
            condition.broadcast()
        }
    }

    func wait() {
        condition.withLock {
            while !isDone { condition.wait() }
        }
    }
}
