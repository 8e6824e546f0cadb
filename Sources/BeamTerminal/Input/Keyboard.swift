import Glibc

/// Where a person types.
public enum Keyboard: Equatable, Sendable {
    /// Standard input, whether it is a terminal or not.
    case standardInput
    /// The terminal that messages are shown on: standard input is something else's, such as a captioner's.
    case terminal(CInt)
    /// Nobody can type.
    case none

    /// Whether `besideInput` finds a terminal.
    public static var isBesideInput: Bool {
        // In a pipe from a captioner, standard error still is the terminal that the shell has given to the job. A captioner
        // that types on the same terminal would get every second key.
        isatty(STDIN_FILENO) == 0 && tcgetsid(StandardStreams.messages) == getsid(0)
    }

    /// For a program whose standard input is read by something else: its controlling terminal, if messages are shown there.
    /// Opened once for the life of the program.
    public static let besideInput: Keyboard = {
        guard isBesideInput else { return .none }
        let descriptor = open("/dev/tty", O_RDONLY | O_CLOEXEC)
        return descriptor < 0 ? .none : .terminal(descriptor)
    }()
}
