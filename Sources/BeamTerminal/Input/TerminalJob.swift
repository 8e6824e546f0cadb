import Glibc

/// Whether the terminal that started this program still belongs to it. A shell with job control gives its terminal to
/// one job at a time; the others run in the background (`share &`, or Ctrl-Z and `bg`).
enum TerminalJob {
    /// A job in the background has no terminal: it can't read answers, and must not change the terminal's settings nor
    /// move its cursor. `descriptor`: the terminal.
    static func isInBackground(_ descriptor: CInt = STDIN_FILENO) -> Bool {
        let foreground = tcgetpgrp(descriptor)
        // It fails if that isn't this session's terminal. Then no job control keeps us from reading.
        return foreground >= 0 && foreground != getpgrp()
    }

    /// Whether this process has a terminal at all (its *controlling terminal*), from which Ctrl-C and its closing come.
    static var hasTerminal: Bool {
        let descriptor = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { return false }
        close(descriptor)
        return true
    }

    /// Reading from the terminal in the background returns an error instead of stopping the program; writing to it works,
    /// even after `stty tostop`.
    static func ignoreStops() {
        signal(SIGTTIN, SIG_IGN)
        signal(SIGTTOU, SIG_IGN)
    }
}
