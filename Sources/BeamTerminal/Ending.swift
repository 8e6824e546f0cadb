import BeamMedia
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

/// What several may answer, from any thread; the first answer counts.
public final class FirstAnswer<Answer: Sendable>: Sendable {
    private struct State {
        var answer: Answer?
        var onAnswer: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())
    private let semaphore = DispatchSemaphore(value: 0)

    public init() {}

    public var current: Answer? { state.withLock { $0.answer } }

    /// Returns whether it is the first.
    @discardableResult public func give(_ answer: Answer) -> Bool {
        let (isFirst, action) = state.withLock { state -> (Bool, (@Sendable () -> Void)?) in
            guard state.answer == nil else { return (false, nil) }
            state.answer = answer
            return (true, state.onAnswer.take())
        }
        guard isFirst else { return false }
        semaphore.signal()
        action?()
        return true
    }

    /// `action` is called once, on the thread that gives the first answer, or at once if it was given. It takes the place
    /// of the last one; nil: nothing is called any more.
    public func whenGiven(_ action: (@Sendable () -> Void)?) {
        let isGiven = state.withLock { state in
            state.onAnswer = state.answer == nil ? action : nil
            return state.answer != nil
        }
        if isGiven { action?() }
    }

    @discardableResult public func wait() -> Answer? {
        semaphore.wait()
        semaphore.signal()
        return current
    }

    /// Nil: there was none within the time.
    @discardableResult public func wait(atMost time: Duration) -> Answer? {
        if semaphore.wait(timeout: .now() + time.inSeconds) == .success { semaphore.signal() }
        return current
    }
}

/// Waits for the end of the program, which any thread may cause.
public final class EndingLatch: Sendable {
    private let ending = FirstAnswer<Ending>()
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
    public func whenEnded(_ action: @escaping @Sendable () -> Void) { ending.whenGiven(action) }
    public func end(_ reason: Ending) { ending.give(reason) }
    public var current: Ending? { ending.current }
    public func wait() -> Ending { ending.wait() ?? .done }
}

/// SIGINT (Ctrl-C), SIGTERM, SIGHUP and the time limit end the program in order. A second signal ends it at once.
///
/// A terminal that is closed sends SIGHUP. To a program that has none, as a service, the signal says what it says to all
/// services: to read its settings again.
public final class EndingSources {
    private let queue = DispatchQueue(label: "beam-ending")
    private let sources: [any DispatchSourceProtocol]

    /// - Parameter reload: reads the settings again; called on a queue of its own. Nil: the program can't do that, and
    ///   every SIGHUP ends it.
    public init(_ latch: EndingLatch, timeLimit: Double?, reload: (@Sendable () -> Void)? = nil) {
        var sources: [any DispatchSourceProtocol] = []
        for number in [SIGINT, SIGTERM, SIGHUP] {
            let before = signal(number, SIG_IGN)
            if number == SIGHUP, let reload, !TerminalJob.hasTerminal {
                let source = DispatchSource.makeSignalSource(
                    signal: number, queue: DispatchQueue(label: "beamroom.reload"))
                source.setEventHandler { if latch.current == nil { reload() } }
                source.resume()
                sources.append(source)
                continue
            }
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
