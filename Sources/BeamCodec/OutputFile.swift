import BeamLibAV
import BeamMedia
import Glibc

/// Names and creation of output files.
enum OutputFile {
    /// The path of a part: `path` for the first, then `NAME-2.ending`, `NAME-3.ending` beside it.
    static func path(_ path: String, part: Int) -> String {
        guard part > 1 else { return path }
        let nameStart = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        guard let dot = path.lastIndex(of: "."), dot > nameStart else { return "\(path)-\(part)" }
        return "\(path[..<dot])-\(part)\(path[dot...])"
    }

    /// The most parts of one recording. A host that changes its picture's size without end doesn't fill the disk with
    /// files.
    static let mostParts = 100

    /// The path of the part after `part`. `reason` says why there are so many, if there are.
    static func next(
        _ path: String, after part: Int, reason: String = "the picture's size has changed \(mostParts) times"
    ) throws(CodecError) -> String {
        guard part < mostParts else { throw .cannotWriteFile(path: path, reason: reason) }
        return Self.path(path, part: part + 1)
    }

    /// The file name's ending, in lower case.
    static func ending(_ path: String) -> String {
        let name = path.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return "" }
        return name[name.index(after: dot)...].lowercased()
    }

    /// Creates a file that only its owner can read, because it holds what was on a screen. An existing file is taken
    /// only if it is empty and nobody is about to write it: what a program leaves that was killed before its first
    /// picture. A pipe with a reader, or a device, is opened as it is.
    ///
    /// - Returns: its file descriptor, which the caller closes.
    static func create(_ path: String) throws(CodecError) -> CInt {
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            _ = flock(descriptor, LOCK_EX | LOCK_NB)
            return descriptor
        }
        guard errno == EEXIST else { throw .cannotCreateFile(path: path, reason: systemMessage(errno)) }
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else { throw .fileExists(path: path) }
        guard status.st_mode & S_IFMT != S_IFREG else { return try reopen(path) }
        // Without O_NONBLOCK, opening a pipe without a reader would block.
        let existing = Glibc.open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK)
        guard existing >= 0 else {
            let reason = errno == ENXIO ? "no program reads this pipe. Start one first" : systemMessage(errno)
            throw .cannotCreateFile(path: path, reason: reason)
        }
        _ = fcntl(existing, F_SETFL, fcntl(existing, F_GETFL) & ~O_NONBLOCK)
        return existing
    }

    /// The same for a path that may be `-`, standard output.
    static func open(_ path: String) throws(CodecError) -> CInt {
        guard path == "-" else { return try create(path) }
        let descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else {
            throw .cannotCreateFile(path: "standard output", reason: systemMessage(errno))
        }
        return descriptor
    }

    /// Writes all of `bytes`. Returns the `errno` of a failure, or nil.
    static func write(_ bytes: UnsafeRawBufferPointer, to file: CInt) -> CInt? {
        var rest = bytes[...]
        while let base = UnsafeRawBufferPointer(rebasing: rest).baseAddress, !rest.isEmpty {
            let written = Glibc.write(file, base, rest.count)
            if written < 0, errno == EINTR { continue }
            if written < 0, errno == EAGAIN {
                // Another program that has this pipe open may have made it non-blocking.
                var room = pollfd(fd: file, events: Int16(POLLOUT), revents: 0)
                poll(&room, 1, -1)
                continue
            }
            guard written >= 0 else { return errno }
            rest = rest.dropFirst(written)
        }
        return nil
    }

    /// Opens an empty file for writing.
    private static func reopen(_ path: String) throws(CodecError) -> CInt {
        let descriptor = Glibc.open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { throw .fileExists(path: path) }
        var status = stat()
        // The lock first: whoever holds it may write at any time.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &status) == 0, status.st_size == 0,
            fchmod(descriptor, 0o600) == 0
        else {
            close(descriptor)
            throw .fileExists(path: path)
        }
        return descriptor
    }

    /// Closes a file, and removes it if it is an ordinary one of which nothing was written.
    static func discard(_ descriptor: CInt, _ path: String) {
        var status = stat()
        // Not a pipe or a device, which existed before.
        if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size == 0 { unlink(path) }
        close(descriptor)
    }

    /// The path is that of something other than an ordinary file: a pipe or a device, whose name has no ending.
    static func isSpecial(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG && status.st_mode & S_IFMT != S_IFDIR
    }

    /// Why a file was given up whose disk or reader has stopped.
    static let takesNothing = "its disk, or the program that reads it, takes nothing any more"

    /// The system's description of an `errno`, as part of a sentence.
    static func systemMessage(_ code: CInt) -> String {
        var text = [CChar](repeating: 0, count: 256)
        guard strerror_r(code, &text, text.count) == 0 else { return "error \(code)" }
        return LibAV.words(text)
    }
}
