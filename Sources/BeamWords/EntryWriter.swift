import Glibc

/// Writes whole entries into a new file. Used by one thread.
///
/// Each write(2) has whole entries. It stays within a page of the file unless it is one entry that crosses into the next,
/// because the system may cut a write at the end of a page when it kills the process. After a failed write the file is cut back to the last
/// whole entry.
final class EntryWriter {
    private static let page = 4096

    let path: String
    private var descriptor: CInt
    /// Bytes written.
    private var offset = 0
    private var waiting: [UInt8] = []
    /// The ends of the entries in `waiting`.
    private var ends: [Int] = []

    /// Creates the file, which only its owner can read.
    ///
    /// - Throws: `fileExists` or `cannotCreateFile`.
    init(path: String) throws(WordsError) {
        self.path = path
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw errno == EEXIST
                ? .fileExists(path: path) : .cannotCreateFile(path: path, reason: SystemFile.message(errno))
        }
    }

    /// The file's length in bytes, with what waits.
    var length: Int { offset + waiting.count }

    deinit { if descriptor >= 0 { Glibc.close(descriptor) } }

    /// Adds an entry, which is written by `flush` at the latest.
    func append(_ entry: String) throws(WordsError) {
        let bytes = entry.utf8
        let end = offset + waiting.count + bytes.count
        if !waiting.isEmpty, end > (offset / Self.page + 1) * Self.page { try flush() }
        waiting += bytes
        ends.append(waiting.count)
    }

    func flush() throws(WordsError) {
        var done = 0
        defer {
            waiting.removeAll(keepingCapacity: true)
            ends.removeAll(keepingCapacity: true)
        }
        while done < waiting.count {
            let written = waiting.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + done, $0.count - done) }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else {
                let code = written < 0 ? errno : ENOSPC
                offset += ends.last { $0 <= done } ?? 0
                ftruncate(descriptor, off_t(offset))
                throw .cannotWriteFile(path: path, reason: SystemFile.message(code))
            }
            done += written
        }
        offset += done
    }

    /// Writes what waits, and closes the file. One without an entry is removed, unless another file has its name by now.
    func close() throws(WordsError) {
        try flush()
        var (mine, named) = (stat(), stat())
        if offset == 0, fstat(descriptor, &mine) == 0, lstat(path, &named) == 0, mine.st_ino == named.st_ino,
            mine.st_dev == named.st_dev
        {
            unlink(path)
        }
        let result = Glibc.close(descriptor)
        descriptor = -1
        guard result == 0 else { throw .cannotWriteFile(path: path, reason: SystemFile.message(errno)) }
    }
}
