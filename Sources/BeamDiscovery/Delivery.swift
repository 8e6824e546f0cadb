import Foundation

/// Hands events to a receiver, one at a time, until it is closed.
final class Delivery<Event: Sendable>: @unchecked Sendable {
    // Sendable: `receiver` and `depth` are read and written under `lock` only. It is recursive, and held while an event
    // is delivered, so that closing waits for the delivery, unless it is the receiver who closes.
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

    /// No event is delivered after this. Returns true when it is the receiver who closes, while it gets an event.
    func close() -> Bool {
        lock.withLock {
            receiver = nil
            return depth > 0
        }
    }
}

/// Something that runs on Avahi's thread.
protocol AvahiWork: AnyObject, Sendable {
    /// Called once, on Avahi's thread.
    func begin(_ loop: AvahiLoop)
    /// Called once, with the loop's lock held. Frees everything of Avahi's.
    func end()
}

/// Runs a publisher's or a browser's work, and ends it.
final class AvahiRunner: Sendable {
    /// A daemon that doesn't answer must not keep the program from ending.
    private static let patience = DispatchTimeInterval.seconds(3)

    private let loop: AvahiLoop
    private let work: any AvahiWork

    /// Nil when the system has no memory or no thread for it.
    init?(_ work: any AvahiWork) {
        guard let loop = AvahiLoop() else { return nil }
        self.loop = loop
        self.work = work
        // All of it happens on Avahi's thread: connecting asks the daemon, which can take long.
        let timer = StartTimer()
        loop.withLock {
            timer.start(loop) { [work] in work.begin(loop) }
        }
        guard loop.start() else { return nil }
    }

    /// Ends the work, and waits for that unless `isInside` says that this is Avahi's own thread.
    func stop(isInside: Bool) {
        let ended = DispatchSemaphore(value: 0)
        let thread = Thread { [loop, work] in
            loop.withLock { work.end() }
            loop.stop()
            ended.signal()
        }
        thread.name = "discovery-end"
        thread.start()
        if !isInside { _ = ended.wait(timeout: .now() + Self.patience) }
    }
}

/// Fires once, at once, and goes.
private final class StartTimer {
    private var timer: AvahiTimer?

    func start(_ loop: AvahiLoop, _ body: @escaping () -> Void) {
        // The timer keeps this alive until it has fired.
        timer = AvahiTimer(loop, after: 0) {
            self.timer = nil
            body()
        }
    }
}
