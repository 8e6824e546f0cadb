import Dispatch
import Synchronization

/// Works on the store on a thread of its own, one job after the other, so that an event loop doesn't wait for a disk, or
/// for a lock that another process holds.
public final class TrustKeeper: Sendable {
    /// Jobs that may wait. A pairing makes one, and a person is behind most pairings.
    static let capacity = 64

    private let store: TrustStore
    private let queue = DispatchQueue(label: "beam-trust-keeper")
    private let waiting = Atomic<Int>(0)

    public init(_ store: TrustStore) { self.store = store }

    /// Does `job` when those before it are done, and returns at once.
    ///
    /// - Returns: false if too many jobs wait; this one is never done then.
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

    /// Remembers a device, and returns at once.
    ///
    /// - Parameter onDone: called on the keeper's thread when the device is remembered, or can't be; at once if too many jobs wait.
    public func remember(
        _ device: RememberedDevice, onDone: @escaping @Sendable (Result<TrustStore.Remembered, TrustStoreError>) -> Void
    ) {
        let isTaken = perform { store in
            onDone(Result { () throws(TrustStoreError) in try store.remember(device) })
        }
        if !isTaken { onDone(.failure(.busy(path: store.path))) }
    }

    /// Waits until all jobs are done, at most 2 s: a lock that somebody holds must not keep the program from ending.
    ///
    /// - Returns: whether they are done.
    public func finish() -> Bool {
        let done = DispatchSemaphore(value: 0)
        queue.async { done.signal() }
        return done.wait(timeout: .now() + .seconds(2)) == .success
    }
}
