import Foundation

/// Delivers events to a receiver, one at a time, until it is closed.
final class Delivery<Event: Sendable>: @unchecked Sendable {
    // Sendable: `receiver` and `depth` are accessed under `lock` only. The lock is held during delivery, so that
    // `close` waits for a delivery on another thread; it is recursive, so that the receiver itself may close.
    private let lock = NSRecursiveLock()
    private var receiver: (@Sendable (Event) -> Void)?
    private var depth = 0

    init(_ receiver: @escaping @Sendable (Event) -> Void) { self.receiver = receiver }

    func send(_ event: Event) {
        lock.withLock {
            guard let receiver else { return }
            depth += 1
            receiver(event)
            depth -= 1
        }
    }

    /// Ends delivery. Returns true if called by the receiver while it handles an event.
    func close() -> Bool {
        lock.withLock {
            receiver = nil
            return depth > 0
        }
    }
}

/// Work that runs on Avahi's thread.
protocol AvahiWork: AnyObject, Sendable {
    /// Called once, on Avahi's thread.
    func begin(_ loop: AvahiLoop)
    /// Called once, with the loop's lock held. Must free all Avahi objects.
    func end()
}

/// Runs a publisher's or browser's work, and ends it.
final class AvahiRunner: Sendable {
    /// How long to wait for a daemon that doesn't answer when the program ends.
    private static let stopTimeout = DispatchTimeInterval.seconds(3)

    private let loop: AvahiLoop
    private let work: any AvahiWork

    /// Nil if the system has no memory or thread left.
    init?(_ work: any AvahiWork) {
        guard let loop = AvahiLoop() else { return nil }
        self.loop = loop
        self.work = work
        // Start on Avahi's thread, because connecting waits for the daemon, which can take long.
        let timer = StartTimer()
        loop.withLock {
            timer.start(loop) { [work] in work.begin(loop) }
        }
        guard loop.start() else { return nil }
    }

    /// Runs `body` with the loop's lock held. Not on Avahi's thread.
    func perform(_ body: () -> Void) { loop.withLock(body) }

    /// Ends the work. Waits for that, unless `isInside`: the caller is on Avahi's own thread.
    func stop(isInside: Bool) {
        let ended = DispatchSemaphore(value: 0)
        let thread = Thread { [loop, work] in
            Thread.current.name = "discovery-end"
            loop.withLock { work.end() }
            loop.stop()
            ended.signal()
        }
        thread.start()
        if !isInside { _ = ended.wait(timeout: .now() + Self.stopTimeout) }
    }
}

/// Runs a closure once on Avahi's thread, as soon as that has started.
private final class StartTimer {
    private var timer: AvahiTimer?

    func start(_ loop: AvahiLoop, _ body: @escaping () -> Void) {
        // The closure keeps this object alive until it has run.
        timer = AvahiTimer(loop, after: 0) {
            self.timer = nil
            body()
        }
    }
}
