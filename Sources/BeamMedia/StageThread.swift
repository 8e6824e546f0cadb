import Foundation

/// A thread for one stage. Runs its body once; `join` waits for its end.
public final class StageThread: Sendable {
    private let completion = Completion()

    /// Starts a thread that runs `body`. The system shows the first 15 bytes of `name`.
    public init(_ name: String, body: @escaping @Sendable () -> Void) {
        let completion = self.completion
        let thread = Thread {
            // Not through Foundation: that tells the system the name only if the thread that started this one has gone on
            // already.
            Self.nameThisThread(name)
            body()
            completion.finish()
        }
        thread.stackSize = 1 << 20
        thread.start()
    }

    /// See proc_pid_comm(5). Without /proc the thread keeps its creator's name.
    private static func nameThisThread(_ name: String) {
        let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        _ = Array(name.utf8.prefix(15)).withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
        close(file)
    }

    /// Waits until the body has returned. Must not be called on the thread itself.
    public func join() { completion.wait() }

    /// Waits like `join`, at most until `time`. False if the body is still running then.
    public func join(until time: MediaTime) -> Bool { completion.wait(until: time) }
}

/// A one-time event that can be waited for.
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

    func wait(until time: MediaTime) -> Bool {
        condition.withLock {
            while !isDone {
                guard condition.wait(until: time) else { break }
            }
            return isDone
        }
    }
}
