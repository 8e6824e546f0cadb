import Dispatch
import Synchronization

/// Runs jobs on the store one after another on its own thread, so that the event loop never waits for the disk or for
/// another process's lock.
public final class TrustQueue: Sendable {
    /// Jobs that may be queued. A pairing adds one, and most pairings need a person's action, so the queue is normally
    /// almost empty.
    static let capacity = 64

    private let store: TrustStore
    private let queue = DispatchQueue(label: "beam-trust-keeper")
    private let waiting = Atomic<Int>(0)

    public init(_ store: TrustStore) { self.store = store }

    /// Queues `job` and returns at once.
    ///
    /// - Returns: false if too many jobs are queued; then `job` is never run.
    public func perform(_ job: @escaping @Sendable (TrustStore) -> Void) -> Bool {
        guard waiting.add(1, ordering: .relaxed).newValue <= Self.capacity else {
            waiting.subtract(1, ordering: .relaxed)
            return false
        }
        queue.async { [self] in
            job(store)
            waiting.subtract(1, ordering: .relaxed)
        }
        return true
    }

    /// Remembers a device. Returns at once.
    ///
    /// - Parameter onDone: called on the keeper's thread with the result; called at once, with `busy`, if too many jobs
    ///   are queued.
    public func remember(
        _ device: RememberedDevice, onDone: @escaping @Sendable (Result<TrustStore.Remembered, TrustStoreError>) -> Void
    ) {
        let isTaken = perform { store in
            onDone(Result { () throws(TrustStoreError) in try store.remember(device) })
        }
        if !isTaken { onDone(.failure(.busy(path: store.path))) }
    }

    /// Waits until all jobs are done, at most 2 s, so that a lock held by another process doesn't keep the program from
    /// ending.
    ///
    /// - Returns: whether all jobs are done.
    public func finish() -> Bool {
        let done = DispatchSemaphore(value: 0)
        queue.async { done.signal() }
        return done.wait(timeout: .now() + .seconds(2)) == .success
    }
}
