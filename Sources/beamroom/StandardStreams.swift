import Glibc

/// Standard input, output and error, as the rest of the program relies on them.
enum StandardStreams {
    /// To be called before anything is opened.
    static func prepare() {
        // A socket or file that got the number of a closed stream would have the program's words written into it. The
        // lowest free number is given first, so each stream gets its own back.
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) < 0 && errno == EBADF {
            _ = open("/dev/null", O_RDWR)
        }
        // Writing to a peer or reader that has gone is an error to handle, not a signal to die of.
        signal(SIGPIPE, SIG_IGN)
    }
}
