import Dispatch
import Glibc
import Synchronization

/// The terminal's settings while questions are asked on it: each key is delivered at once, and none is echoed. So the
/// program shows what is typed, below its own lines, and a message or the status line can't run into it.
///
/// The terminal's own settings come back when the program ends, when it is stopped (Ctrl-Z), and not before it is in the
/// foreground. Ctrl-C and Ctrl-Z work as ever.
final class TerminalMode: Sendable {
    /// A process has one keyboard.
    static let shared = TerminalMode()

    private struct State {
        /// The terminal's own settings, while they are changed.
        var own: Settings?
        /// The terminal that keys are read from.
        var descriptor = STDIN_FILENO
        var stop: (any DispatchSourceSignal)?
    }

    /// `termios` is a plain value.
    private struct Settings: @unchecked Sendable { var value: termios }

    private let state = Mutex(State())

    /// Changes the settings, unless they are changed already or this is a job in the background.
    ///
    /// - Parameter descriptor: the terminal that keys are read from; nil: the one of the last call.
    func enter(_ descriptor: CInt? = nil) {
        state.withLock { state in
            guard state.own == nil else { return }
            state.descriptor = descriptor ?? state.descriptor
            guard !TerminalJob.isInBackground(state.descriptor) else { return }
            var settings = termios()
            guard tcgetattr(state.descriptor, &settings) == 0 else { return }
            let own = Settings(value: settings)
            settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
            withUnsafeMutableBytes(of: &settings.c_cc) { characters in
                characters[Int(VMIN)] = 1
                characters[Int(VTIME)] = 0
            }
            guard tcsetattr(state.descriptor, TCSANOW, &settings) == 0 else { return }
            state.own = own
        }
    }

    /// Restores the terminal's own settings. In the background they are the business of the job that has the terminal.
    func leave() {
        state.withLock { state in
            guard let own = state.own else { return }
            state.own = nil
            guard !TerminalJob.isInBackground(state.descriptor) else { return }
            var settings = own.value
            _ = tcsetattr(state.descriptor, TCSANOW, &settings)
        }
    }

    /// Leaves this mode when the program is stopped by Ctrl-Z, and enters it again when it goes on in the foreground.
    ///
    /// - Parameters:
    ///   - willStop: called before the terminal's settings are restored; must be quick.
    ///   - didContinue: called when the program goes on.
    func followStops(willStop: @escaping @Sendable () -> Void, didContinue: @escaping @Sendable () -> Void) {
        state.withLock { state in
            guard state.stop == nil else { return }
            var before = sigaction()
            // A parent that ignores the signal wants it ignored here, too.
            guard sigaction(SIGTSTP, nil, &before) == 0,
                unsafeBitCast(before.__sigaction_handler.sa_handler, to: Int.self)
                    != unsafeBitCast(SIG_IGN, to: Int.self)
            else { return }
            signal(SIGTSTP, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: SIGTSTP, queue: DispatchQueue(label: "beam-stop"))
            source.setEventHandler { [self] in
                willStop()
                leave()
                // Stops all threads, and returns when the program goes on. `kill` may choose another thread for it, and this
                // one would go on for a moment, and show the last line again.
                raise(SIGSTOP)
                enter()
                didContinue()
            }
            source.resume()
            state.stop = source
        }
    }
}
