import BeamMedia
import NIOCore

/// Calls back once at the next deadline of a session. Confined to its event loop.
final class DeadlineTimer {
    private let loop: any EventLoop
    private var pending: (deadline: MediaTime, task: Scheduled<Void>)?
    private var action: (() -> Void)?

    init(loop: any EventLoop) { self.loop = loop }

    /// What to call; weakly bound by its owner.
    func onDeadline(_ action: @escaping () -> Void) { self.action = action }

    /// The next deadline is `deadline`. A timer that is set for earlier stays: its owner will look, and set it anew.
    func arm(_ deadline: MediaTime) {
        loop.assertInEventLoop()
        if let pending {
            guard deadline < pending.deadline else { return }
            pending.task.cancel()
            self.pending = nil
        }
        guard deadline < .distantFuture else { return }
        let bound = NIOLoopBound(self, eventLoop: loop)
        let task = loop.scheduleTask(
            deadline: .uptimeNanoseconds(UInt64(max(0, deadline.nanoseconds)))
        ) {
            bound.value.fire()
        }
        pending = (deadline, task)
    }

    func cancel() {
        pending?.task.cancel()
        pending = nil
        action = nil
    }

    private func fire() {
        pending = nil
        action?()
    }
}
