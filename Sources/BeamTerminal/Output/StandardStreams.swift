import BeamMedia
import CErrorStream
import Glibc

/// Makes standard input, output and error safe to use.
public enum StandardStreams {
    /// Where messages are written. Descriptor 2 is turned away while a library connects to an X server, which may take as
    /// long as the server likes.
    public static let messages: CInt = beam_error_stream_messages()

    /// To be called before anything is opened.
    public static func prepare() {
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

    /// Calls `onGone` once when nobody reads standard output any more, if that is a pipe or a socket: `… | head -1` has
    /// what it wanted. Noticed at once, whether or not something is written.
    static func whenReaderIsGone(_ onGone: @escaping @Sendable () -> Void) {
        guard isPipe else { return }
        // Never joined: it waits as long as the program runs.
        _ = StageThread("beam-reader") { if isReaderGone(within: -1) { onGone() } }
    }

    /// Somebody may read standard output.
    public static var hasReader: Bool { !isPipe || !isReaderGone(within: 0) }

    private static var isPipe: Bool {
        var status = stat()
        return fstat(STDOUT_FILENO, &status) == 0 && [S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT)
    }

    /// Waits up to `timeout` ms, or without end if that is negative, for the end of the reader.
    private static func isReaderGone(within timeout: CInt) -> Bool {
        // POLLERR and POLLHUP are reported unasked.
        var pipe = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        while true {
            let result = poll(&pipe, 1, timeout)
            if result < 0, errno == EINTR { continue }
            return result > 0 && pipe.revents & Int16(POLLERR | POLLHUP) != 0
        }
    }
}
