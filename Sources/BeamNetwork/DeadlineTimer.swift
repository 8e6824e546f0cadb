import BeamMedia
import NIOCore

/// Calls back once at the next deadline of a session. Confined to its event loop.
final class DeadlineTimer {
    private let loop: any EventLoop
    private var pending: (deadline: MediaTime, callback: NIOScheduledCallback)?
    private var action: (() -> Void)?

    init(loop: any EventLoop) { self.loop = loop }

    /// What to call; weakly bound by its owner.
    func onDeadline(_ action: @escaping () -> Void) { self.action = action }

    /// The next deadline is `deadline`. A timer that is set for earlier stays: its owner will look, and set it anew.
    func arm(_ deadline: MediaTime) {
        loop.assertInEventLoop()
        if let pending {
            guard deadline < pending.deadline else { return }
            pending.callback.cancel()
            self.pending = nil
        }
        guard deadline < .distantFuture else { return }
        let handler = Handler(timer: NIOLoopBound(self, eventLoop: loop))
        // No task with its future: this is set anew with each burst that has to wait for its turn. It fails only on a loop
        // that has ended, where there is nothing to be done any more.
        let callback = try? loop.scheduleCallback(
            at: .uptimeNanoseconds(UInt64(max(0, deadline.nanoseconds))), handler: handler)
        pending = callback.map { (deadline, $0) }
    }

    func cancel() {
        pending?.callback.cancel()
        pending = nil
        action = nil
    }

    private func fire() {
        pending = nil
        action?()
    }

    private struct Handler: NIOScheduledCallbackHandler, Sendable {
        let timer: NIOLoopBound<DeadlineTimer>

        func handleScheduledCallback(eventLoop: some EventLoop) { timer.value.fire() }
    }
}
