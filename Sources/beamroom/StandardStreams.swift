import CErrorStream
import Glibc

/// Makes standard input, output and error safe to use.
enum StandardStreams {
    /// To be called before anything is opened.
    static func prepare() {
        // If a stream is closed, a socket or file could get its number, and messages would be written into it. open(2) takes
        // the lowest free number, so each closed stream gets /dev/null under its own number.
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) < 0 && errno == EBADF {
            _ = open("/dev/null", O_RDWR)
        }
        // Writing to a peer or reader that has gone must return an error instead of ending the process.
        signal(SIGPIPE, SIG_IGN)
        TerminalJob.ignoreStops()
        // The graphics driver's, D-Bus's and others' own lines are no help to a person.
        beam_error_stream_silence_libraries()
    }
}
