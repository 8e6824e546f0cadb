import Dispatch
import Glibc
import Synchronization

/// Tells when the terminal's size has changed and settled: a window that is drawn larger or smaller sends a signal for each
/// step.
final class ResizeWatch: @unchecked Sendable {
    // Sendable: the field is immutable, and Dispatch's objects may be used by any thread.
    private let source: any DispatchSourceSignal

    private static let rest = DispatchTimeInterval.milliseconds(100)

    /// `onResize` is called on a thread of its own, one call at a time.
    init(_ onResize: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "beam-resize")
        let steps = Mutex(0)
        source = DispatchSource.makeSignalSource(signal: SIGWINCH, queue: queue)
        source.setEventHandler {
            let step = steps.withLock { steps in
                steps += 1
                return steps
            }
            queue.asyncAfter(deadline: .now() + Self.rest) {
                if steps.withLock({ $0 }) == step { onResize() }
            }
        }
        source.resume()
    }

    func cancel() { source.cancel() }
}
