import Dispatch
import Foundation
import Glibc
import Synchronization

/// Why the program ends; the first reason counts.
public enum Ending: Sendable, Equatable {
    /// Ctrl-C, or the window's closing.
    case done
    case timeLimit
    case failed(String)
    /// Nil: the reason has been printed.
    case peerLost(String?)
}

/// Waits for the end of the program, which any thread may cause.
public final class EndingLatch: Sendable {
    private let ending = Mutex<Ending?>(nil)
    private let semaphore = DispatchSemaphore(value: 0)
    private let onEnd = Mutex<(@Sendable () -> Void)?>(nil)
    private let wasRefused = Mutex(false)

    /// This device wasn't let in, or was put out: whatever ends the program then, by a person's wish or by the time limit,
    /// that is how it has ended.
    public func noteRefusal() { wasRefused.withLock { $0 = true } }

    /// How the program has ended, with regard to `noteRefusal`.
    public func verdict(_ ending: Ending) -> Ending {
        guard wasRefused.withLock({ $0 }) else { return ending }
        return switch ending {
        case .done, .timeLimit: .peerLost(nil)
        case .failed, .peerLost: ending
        }
    }

    /// `action` is called once, on the thread that calls `end` first, or at once if it has ended already.
    public func whenEnded(_ action: @escaping @Sendable () -> Void) {
        onEnd.withLock { $0 = action }
        if current != nil { runAction() }
    }

    public func end(_ reason: Ending) {
        let isFirst = ending.withLock { ending in
            guard ending == nil else { return false }
            ending = reason
            return true
        }
        guard isFirst else { return }
        semaphore.signal()
        runAction()
    }

    public var current: Ending? { ending.withLock { $0 } }

    public func wait() -> Ending {
        semaphore.wait()
        semaphore.signal()
        return current ?? .done
    }

    private func runAction() {
        let action = onEnd.withLock { action in
            defer { action = nil }
            return action
        }
        action?()
    }
}

/// SIGINT (Ctrl-C), SIGTERM, SIGHUP and the time limit end the program in order. A second signal ends it at once.
public final class EndingSources {
    private let queue = DispatchQueue(label: "beam-ending")
    private let sources: [any DispatchSourceProtocol]

    public init(_ latch: EndingLatch, timeLimit: Double?) {
        var sources: [any DispatchSourceProtocol] = []
        for number in [SIGINT, SIGTERM, SIGHUP] {
            let before = signal(number, SIG_IGN)
            // nohup: the program goes on when its terminal is closed.
            if number == SIGHUP, unsafeBitCast(before, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self) {
                continue
            }
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                // Not `exit`: it may wait for a stream that another thread is blocked in.
                if latch.current != nil {
                    TerminalMode.shared.leave()
                    _exit(128 + number)
                }
                latch.end(.done)
            }
            source.resume()
            sources.append(source)
        }
        if let timeLimit {
            let timer = DispatchSource.makeTimerSource(queue: queue)
            timer.schedule(deadline: .now() + timeLimit)
            timer.setEventHandler { latch.end(.timeLimit) }
            timer.resume()
            sources.append(timer)
        }
        self.sources = sources
    }
}

/// Calls a function once a second until it is cancelled.
public final class EverySecond: @unchecked Sendable {
    // Sendable: both fields are immutable, and Dispatch's objects may be used by any thread.
    private let timer: any DispatchSourceTimer
    private let queue: DispatchQueue

    public init(_ action: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "beam-report")
        timer = DispatchSource.makeTimerSource(queue: queue)
        self.queue = queue
        timer.schedule(deadline: .now() + 1, repeating: 1)
        timer.setEventHandler(handler: action)
        timer.resume()
    }

    /// After this returns, the action isn't running and won't run again.
    public func cancel() {
        timer.cancel()
        queue.sync {}
    }
}
