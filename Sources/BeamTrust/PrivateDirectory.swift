import Glibc

/// A directory, and files in it, that only this user can reach. Owns its descriptor; everything in it is reached through
/// that, so that another directory put in its place meanwhile changes nothing.
struct PrivateDirectory: ~Copyable {
    enum Content {
        case none
        case bytes([UInt8])
        case tooLong
    }

    private static let directoryMode: mode_t = 0o700
    private static let fileMode: mode_t = 0o600
    private static let lockName = "lock"
    /// How long another process may take for a change; they take milliseconds.
    private static let lockTimeout = 10.0

    let path: String
    private let descriptor: Descriptor

    func path(of name: String) -> String { path + "/" + name }

    /// Makes the directory, and those above it, if they aren't there.
    static func make(at path: String) throws(TrustStoreError) -> PrivateDirectory {
        if let directory = try existing(at: path) { return directory }
        try makeDirectories(path)
        guard let directory = try existing(at: path) else {
            throw .cannotUse(path: path, reason: reason(ENOENT))
        }
        return directory
    }

    /// Nil if there is none.
    static func existing(at path: String) throws(TrustStoreError) -> PrivateDirectory? {
        // It may be reached by a link: what it leads to is looked at, and kept open.
        let descriptor = Descriptor(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
        guard let descriptor else {
            switch errno {
            case ENOENT: return nil
            case ENOTDIR: throw .notADirectory(path: path)
            case let code:
                // One of another user's that can't be opened is better called that.
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
                // A umask that takes the owner's own rights away would shut us out.
                var status = stat()
                if lstat(part, &status) == 0, status.st_mode & directoryMode != directoryMode {
                    _ = chmod(part, directoryMode)
                }
            } else if errno != EEXIST {
                // Above the home directory there may be what can't even be looked into; what counts is whether the last
                // part can be made.
                let code = errno
                var status = stat()
                if stat(part, &status) != 0 { throw .cannotUse(path: path, reason: reason(code)) }
            }
        }
    }

    // MARK: Files

    /// The whole file.
    func read(_ name: String, atMost limit: Int) throws(TrustStoreError) -> Content {
        let path = path(of: name)
        // Non-blocking, so that a FIFO in its place doesn't hold us up before it is told from a file.
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

    /// Puts a whole new file in the place of the old one, or, if anything fails, leaves the old one. Under the lock only,
    /// unless nobody else writes this file.
    ///
    /// - Parameter isLasting: the file has to outlive a power cut, and the disk is waited for.
    func write(_ bytes: [UInt8], to name: String, isLasting: Bool = true) throws(TrustStoreError) {
        // What a crash has left; nobody else is writing.
        let temporary = "." + name + ".new"
        _ = unlinkat(descriptor.number, temporary, 0)
        guard
            let file = Descriptor(
                openat(
                    descriptor.number, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, Self.fileMode))
        else {
            throw .cannotUse(path: path, reason: Self.reason(errno))
        }
        // The umask may have taken rights away from the owner.
        guard fchmod(file.number, Self.fileMode) == 0, writeAll(bytes, to: file),
            !isLasting || fsync(file.number) == 0,
            renameat(descriptor.number, temporary, descriptor.number, name) == 0
        else {
            let code = errno
            _ = unlinkat(descriptor.number, temporary, 0)
            throw .cannotUse(path: path(of: name), reason: Self.reason(code))
        }
        // So that the new name outlives a power cut, too; where a file system can't, it stands all the same.
        if isLasting { _ = fsync(descriptor.number) }
    }

    func remove(_ name: String) { _ = unlinkat(descriptor.number, name, 0) }

    /// The files in it, in no order; none if that can't be told. At most 10,000 entries are looked at.
    func names() -> [String] {
        // A descriptor of its own: reading moves its position, and closing the stream closes it.
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

    /// Runs `body` while no other thread or process is in here.
    func locked<Result>(_ body: () throws(TrustStoreError) -> Result) throws(TrustStoreError) -> Result {
        let path = path(of: Self.lockName)
        let lock = Descriptor(
            openat(
                descriptor.number, Self.lockName, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, Self.fileMode)
        )
        guard let lock else {
            switch errno {
            case ELOOP, ENXIO, EISDIR: throw .notAFile(path: path)
            case let code: throw .cannotUse(path: path, reason: Self.reason(code))
            }
        }
        try Self.check(lock, at: path, isDirectory: false, mode: Self.fileMode)
        // The umask may have taken rights away from the owner.
        _ = fchmod(lock.number, Self.fileMode)
        // flock has no timeout, and a process that has been stopped (Ctrl-Z) never lets go.
        var waited = 0.0
        while flock(lock.number, LOCK_EX | LOCK_NB) != 0 {
            guard errno == EWOULDBLOCK || errno == EINTR else {
                throw .cannotUse(path: path, reason: Self.reason(errno))
            }
            guard waited < Self.lockTimeout else { throw .busy(path: path) }
            usleep(5000)
            waited += 0.005
        }
        // Closing it lets go.
        return try body()
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

/// An open file, closed with its owner.
struct Descriptor: ~Copyable {
    let number: CInt

    /// Nil for the -1 of a failed call.
    init?(_ number: CInt) {
        guard number >= 0 else { return nil }
        self.number = number
    }

    deinit { _ = close(number) }
}

/// The user's entry in the system's list of accounts.
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
