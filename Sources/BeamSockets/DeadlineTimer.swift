import BeamMedia
import NIOCore

/// Calls back once at the next deadline of a session. Confined to its event loop.
package final class DeadlineTimer {
    private let loop: any EventLoop
    private var pending: (deadline: MediaTime, callback: NIOScheduledCallback)?
    private var action: ((MediaTime) -> Void)?

    package init(loop: any EventLoop) { self.loop = loop }

    /// Sets what to call, with the deadline that has passed. `action` mustn't retain the timer's owner.
    package func onDeadline(_ action: @escaping (MediaTime) -> Void) { self.action = action }

    /// Sets the next deadline. An earlier one that is set stays: when it fires, the owner polls its session and sets
    /// the timer anew.
    package func arm(_ deadline: MediaTime) {
        loop.assertInEventLoop()
        if let pending {
            guard deadline < pending.deadline else { return }
            pending.callback.cancel()
            self.pending = nil
        }
        guard deadline < .distantFuture else { return }
        let handler = Handler(timer: NIOLoopBound(self, eventLoop: loop))
        // A callback instead of a scheduled task, because it needs no future: this is set anew for each burst that has
        // to wait. It fails only on a loop that has ended.
        let callback = try? loop.scheduleCallback(
            at: .uptimeNanoseconds(UInt64(max(0, deadline.nanoseconds))), handler: handler)
        pending = callback.map { (deadline, $0) }
    }

    package func cancel() {
        pending?.callback.cancel()
        pending = nil
        action = nil
    }

    private func fire() {
        guard let deadline = pending?.deadline else { return }
        pending = nil
        action?(deadline)
    }

    private struct Handler: NIOScheduledCallbackHandler, Sendable {
        let timer: NIOLoopBound<DeadlineTimer>

        func handleScheduledCallback(eventLoop: some EventLoop) { timer.value.fire() }
    }
}
