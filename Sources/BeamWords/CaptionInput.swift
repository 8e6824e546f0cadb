import Glibc

/// The descriptor that captions are read from. Used by one thread.
final class CaptionInput {
    private enum Kind {
        /// Ends once: standard input, an anonymous pipe, a terminal, a socket.
        case stream
        /// A named pipe, whose writers come and go.
        case fifo
        /// An ordinary file, which is followed as it grows. With an inotify(7) descriptor, negative if there is none.
        case file(notice: CInt)
    }

    enum Chunk {
        case bytes(ArraySlice<UInt8>)
        /// Wait for more.
        case nothing
        /// The last writer of a named pipe has closed it, or a file was cut. What was begun isn't continued.
        case interrupted
        /// There will be no more.
        case ended
    }

    private let path: String
    private var descriptor: CInt
    private let kind: Kind
    private var buffer = [UInt8](repeating: 0, count: 16 << 10)
    /// Bytes read of an ordinary file.
    private var offset: off_t = 0

    /// Opens `path`; `-` is standard input.
    ///
    /// - Throws: `cannotRead`.
    init(path: String) throws(WordsError) {
        self.path = path
        let isStandardInput = path == "-"
        // With O_NONBLOCK, opening a named pipe doesn't wait for a writer. Standard input is shared with other programs, and
        // stays as it is.
        let descriptor = isStandardInput ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            let reason = SystemFile.message(errno)
            if descriptor > STDIN_FILENO { close(descriptor) }
            throw .cannotRead(path: path, reason: reason)
        }
        self.descriptor = descriptor
        switch status.st_mode & S_IFMT {
        case S_IFDIR:
            if !isStandardInput { close(descriptor) }
            throw .cannotRead(path: path, reason: "it is a directory")
        case S_IFREG:
            // With standard input, something may have been read already.
            offset = lseek(descriptor, 0, SEEK_CUR)
            kind = .file(notice: Self.watch(isStandardInput ? "/proc/self/fd/0" : path))
        case S_IFIFO:
            kind = isStandardInput || Self.isAnonymous(descriptor) ? .stream : .fifo
        default: kind = .stream
        }
    }

    deinit {
        if case .file(let notice) = kind, notice >= 0 { close(notice) }
        if path != "-" { close(descriptor) }
    }

    /// Whether a pipe has no name, as in a shell's `<(command)`: its writers can't come back (proc(5), `/proc/pid/fd`).
    private static func isAnonymous(_ descriptor: CInt) -> Bool {
        var link = [CChar](repeating: 0, count: 16)
        guard readlink("/proc/self/fd/\(descriptor)", &link, link.count) > 0 else { return false }
        return link.starts(with: "pipe:[".utf8.map { CChar($0) })
    }

    private static func watch(_ path: String) -> CInt {
        let notice = inotify_init1(CInt(IN_CLOEXEC | IN_NONBLOCK))
        guard notice >= 0 else { return -1 }
        guard inotify_add_watch(notice, path, UInt32(IN_MODIFY)) >= 0 else {
            close(notice)
            return -1
        }
        return notice
    }

    /// The descriptor to poll before `read`.
    var awaited: CInt {
        if case .file(let notice) = kind { notice } else { descriptor }
    }

    /// The longest time between two calls of `read`, in ms; negative: there is none. A network file system reports no
    /// changes that another machine makes.
    var longestWait: CInt {
        if case .file(let notice) = kind { notice >= 0 ? 1000 : 100 } else { -1 }
    }

    /// A last line without an end may be complete: nothing tells when the program that writes it has ended.
    var isFile: Bool {
        if case .file = kind { true } else { false }
    }

    /// Reads what is there. Call it when `awaited` is ready, or after `longestWait`.
    func read() -> Chunk {
        if case .file(let notice) = kind { drain(notice) }
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        if count > 0 {
            offset += off_t(count)
            return .bytes(buffer[..<count])
        }
        if count < 0 { return errno == EAGAIN || errno == EINTR ? .nothing : .ended }
        switch kind {
        case .stream: return .ended
        case .fifo: return reopen() ? .interrupted : .ended
        case .file: return restartIfCut() ? .interrupted : .nothing
        }
    }

    private func drain(_ notice: CInt) {
        guard notice >= 0 else { return }
        while Glibc.read(notice, &buffer, buffer.count) > 0 {}
    }

    /// A pipe whose writers have left reports its end without end. A new descriptor doesn't, until the next writer leaves.
    private func reopen() -> Bool {
        let next = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard next >= 0 else { return false }
        // Only now: a pipe that is open nowhere loses what is in it.
        close(descriptor)
        descriptor = next
        var status = stat()
        return fstat(next, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    }

    /// A file that has become shorter is read again from its beginning.
    private func restartIfCut() -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_size < offset else { return false }
        offset = lseek(descriptor, 0, SEEK_SET)
        return true
    }
}
