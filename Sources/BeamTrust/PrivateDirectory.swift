import Glibc

/// A directory and its files that only this user can access. All access goes through its descriptor, so that replacing
/// the directory at the path has no effect.
struct PrivateDirectory: ~Copyable {
    enum Content {
        case none
        case bytes([UInt8])
        case tooLong
    }

    private static let directoryMode: mode_t = 0o700
    private static let fileMode: mode_t = 0o600
    private static let lockName = "lock"
    /// In seconds. Changes take milliseconds.
    private static let lockTimeoutSeconds = 10.0

    let path: String
    private let descriptor: Descriptor

    func path(of name: String) -> String { path + "/" + name }

    /// Opens the directory; creates it and its parents if needed.
    static func make(at path: String) throws(TrustStoreError) -> PrivateDirectory {
        if let directory = try existing(at: path) { return directory }
        try makeDirectories(path)
        guard let directory = try existing(at: path) else {
            throw .cannotUse(path: path, reason: reason(ENOENT))
        }
        return directory
    }

    /// Nil if the directory doesn't exist.
    static func existing(at path: String) throws(TrustStoreError) -> PrivateDirectory? {
        // A symbolic link to the directory is allowed. Its target is checked and kept open.
        let descriptor = Descriptor(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
        guard let descriptor else {
            switch errno {
            case ENOENT: return nil
            case ENOTDIR: throw .notADirectory(path: path)
            case let code:
                // If it can't be opened because it belongs to another user, report that instead.
                var status = stat()
                if code == EACCES, stat(path, &status) == 0, status.st_uid != geteuid() {
                    throw .ownedByAnother(path: path, owner: status.st_uid)
                }
                throw .cannotUse(path: path, reason: reason(code))
            }
        }
        try check(descriptor, at: path, isDirectory: true, mode: directoryMode)
        return PrivateDirectory(path: path, descriptor: descriptor)
    }

    private init(path: String, descriptor: consuming Descriptor) {
        self.path = path
        self.descriptor = descriptor
    }

    private static func makeDirectories(_ path: String) throws(TrustStoreError) {
        var end = path.startIndex
        while end < path.endIndex {
            end = path[path.index(after: end)...].firstIndex(of: "/") ?? path.endIndex
            let part = String(path[..<end])
            if mkdir(part, directoryMode) == 0 {
                // A umask that removes the owner's permissions would lock this user out.
                var status = stat()
                if lstat(part, &status) == 0, status.st_mode & directoryMode != directoryMode {
                    _ = chmod(part, directoryMode)
                }
            } else if errno != EEXIST {
                // Parents above the home directory may be inaccessible. Continue; only the last part has to work.
                let code = errno
                var status = stat()
                if stat(part, &status) != 0 { throw .cannotUse(path: path, reason: reason(code)) }
            }
        }
    }

    // MARK: Files

    /// Reads the whole file.
    func read(_ name: String, atMost limit: Int) throws(TrustStoreError) -> Content {
        let path = path(of: name)
        // Non-blocking, because opening a FIFO would block before its type can be checked.
        let file = Descriptor(openat(descriptor.number, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC))
        guard let file else {
            switch errno {
            case ENOENT: return .none
            case ELOOP, ENXIO: throw .notAFile(path: path)
            case let code: throw .cannotUse(path: path, reason: Self.reason(code))
            }
        }
        try Self.check(file, at: path, isDirectory: false, mode: Self.fileMode)
        var bytes: [UInt8] = []
        while bytes.count <= limit {
            let room = min(64 << 10, limit + 1 - bytes.count)
            var code: CInt = 0
            let piece = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
                let got = Self.retrying { Glibc.read(file.number, buffer.baseAddress, room) }
                code = got < 0 ? errno : 0
                count = max(0, got)
            }
            guard code == 0 else { throw .cannotUse(path: path, reason: Self.reason(code)) }
            if piece.isEmpty { return .bytes(bytes) }
            bytes += piece
        }
        return .tooLong
    }

    /// Replaces a file atomically: after a failure the old one is still there. Needs the lock unless no other process
    /// writes this file.
    ///
    /// - Parameter isLasting: sync to disk, so that the file survives a power failure.
    func write(_ bytes: [UInt8], to name: String, isLasting: Bool = true) throws(TrustStoreError) {
        // Remove what an interrupted write has left. There is no other writer.
        let temporary = "." + name + ".new"
        _ = unlinkat(descriptor.number, temporary, 0)
        guard
            let file = Descriptor(
                openat(
                    descriptor.number, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, Self.fileMode))
        else {
            throw .cannotUse(path: path, reason: Self.reason(errno))
        }
        // The umask may have removed the owner's permissions.
        guard fchmod(file.number, Self.fileMode) == 0, writeAll(bytes, to: file),
            !isLasting || fsync(file.number) == 0,
            renameat(descriptor.number, temporary, descriptor.number, name) == 0
        else {
            let code = errno
            _ = unlinkat(descriptor.number, temporary, 0)
            throw .cannotUse(path: path(of: name), reason: Self.reason(code))
        }
        // Sync the rename, too. Some file systems can't sync a directory, so errors are ignored.
        if isLasting { _ = fsync(descriptor.number) }
    }

    /// For calls that take one, while the directory lives.
    var number: CInt { descriptor.number }

    /// In place of an entry of the new name.
    func rename(_ name: String, to new: String) -> Bool {
        renameat(descriptor.number, name, descriptor.number, new) == 0
    }

    func remove(_ name: String) { _ = unlinkat(descriptor.number, name, 0) }

    /// The names of the entries, unordered, at most 10,000; empty on errors.
    func names() -> [String] {
        // A separate descriptor, because reading changes its position and closedir closes it.
        let copy = openat(descriptor.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0 else { return [] }
        guard let stream = fdopendir(copy) else {
            close(copy)
            return []
        }
        defer { closedir(stream) }
        var names: [String] = []
        for _ in 0..<10_000 {
            guard let entry = readdir(stream) else { break }
            let length = MemoryLayout.size(ofValue: entry.pointee.d_name)
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: length) { String(cString: $0) }
            }
            names.append(name)
        }
        return names
    }

    private func writeAll(_ bytes: [UInt8], to file: borrowing Descriptor) -> Bool {
        let number = file.number
        return bytes.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let written = Self.retrying {
                    Glibc.write(number, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                }
                guard written > 0 else { return false }
                rest = rest.dropFirst(written)
            }
            return true
        }
    }

    // MARK: The lock

    /// Runs `body` while holding the lock, which excludes other threads and processes.
    func locked<Result>(_ body: () throws(TrustStoreError) -> Result) throws(TrustStoreError) -> Result {
        let path = path(of: Self.lockName)
        let lock = try lockFile(Self.lockName)
        // Polls, because flock has no timeout, and a stopped process (Ctrl-Z) keeps its lock.
        var waited = 0.0
        while flock(lock.number, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else {
                throw .cannotUse(path: path, reason: Self.reason(errno))
            }
            guard waited < Self.lockTimeoutSeconds else { throw .busy(path: path) }
            usleep(5000)
            waited += 0.005
        }
        // The lock is released when the descriptor is closed.
        return try body()
    }

    private func lockFile(_ name: String) throws(TrustStoreError) -> Descriptor {
        let path = path(of: name)
        let lock = Descriptor(
            openat(descriptor.number, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, Self.fileMode))
        guard let lock else {
            switch errno {
            case ELOOP, ENXIO, EISDIR: throw .notAFile(path: path)
            case let code: throw .cannotUse(path: path, reason: Self.reason(code))
            }
        }
        try Self.check(lock, at: path, isDirectory: false, mode: Self.fileMode)
        // The umask may have removed the owner's permissions.
        _ = fchmod(lock.number, Self.fileMode)
        return lock
    }

    /// Takes a place in the file `name` that only one opened file holds at a time, until the result is closed. Nil: it is
    /// taken.
    func place(_ number: Int, in name: String) throws(TrustStoreError) -> Descriptor? {
        let file = try lockFile(name)
        // Of the opened file, not of the process: also within one, each claim is another one (fcntl(2), F_OFD_SETLK, which
        // Swift can't import).
        var lock = Glibc.flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = number
        lock.l_len = 1
        guard fcntl(file.number, 37, &lock) == 0 else {
            if errno == EAGAIN || errno == EACCES { return nil }
            throw .cannotUse(path: path(of: name), reason: Self.reason(errno))
        }
        return file
    }

    // MARK: Safety

    private static func check(
        _ descriptor: borrowing Descriptor, at path: String, isDirectory: Bool, mode: mode_t
    ) throws(TrustStoreError) {
        var status = stat()
        guard fstat(descriptor.number, &status) == 0 else { throw .cannotUse(path: path, reason: reason(errno)) }
        if !isDirectory, status.st_mode & S_IFMT != S_IFREG { throw .notAFile(path: path) }
        guard status.st_uid == geteuid() else { throw .ownedByAnother(path: path, owner: status.st_uid) }
        guard status.st_mode & 0o077 == 0 else {
            throw .openToOthers(path: path, mode: status.st_mode & 0o777, needed: mode)
        }
    }

    private static func retrying(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }

    private static func reason(_ code: CInt) -> String { String(cString: strerror(code)) }
}

/// Owns a file descriptor, and closes it.
struct Descriptor: ~Copyable {
    let number: CInt

    /// Nil for -1, a failed call's result.
    init?(_ number: CInt) {
        guard number >= 0 else { return nil }
        self.number = number
    }

    deinit { _ = close(number) }
}

/// The user's entry in the password database.
enum Account {
    static var home: String? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16 << 10) { buffer in
            guard let base = buffer.baseAddress, getpwuid_r(geteuid(), &entry, base, buffer.count, &found) == 0,
                found != nil, let home = entry.pw_dir
            else { return nil }
            return String(cString: home)
        }
    }
}
