import Glibc

/// A person's file of settings, read once.
public struct SettingsFile: Sendable {
    public let path: String
    public let entries: [SettingsEntry]
    /// Other users can read it, so that it may hold no secret.
    public let isOpenToOthers: Bool
    /// It belongs to this user; if not, to root.
    public let isOwn: Bool

    /// In bytes. A file with every option and its description takes 20 kB.
    static let maxBytes = 1 << 20

    /// `$XDG_CONFIG_HOME/beamroom/config.toml`, or `~/.config/beamroom/config.toml`. Nil: there is no home directory.
    ///
    /// XDG Base Directory Specification: relative paths are ignored.
    public static func usualPath(environment: [String: String]) -> String? {
        let folder = "beamroom/config.toml"
        if let settings = environment["XDG_CONFIG_HOME"], settings.hasPrefix("/") { return "\(settings)/\(folder)" }
        return home(environment: environment).map { "\($0)/.config/\(folder)" }
    }

    /// HOME, or what the system's list of users says.
    public static func home(environment: [String: String]) -> String? {
        if let home = environment["HOME"], home.hasPrefix("/") { return home }
        guard let entry = getpwuid(getuid()), let home = entry.pointee.pw_dir else { return nil }
        let path = String(cString: home)
        return path.hasPrefix("/") ? path : nil
    }

    /// Nil: there is no such file.
    public init?(path: String) throws(SettingsFileError) {
        try self.init(path: path, user: getuid(), isPrivate: PrivateGroup.isPrivate)
    }

    /// - Parameters:
    ///   - user: who uses the file.
    ///   - isPrivate: whether a group has this one member only.
    init?(path: String, user: uid_t, isPrivate: (gid_t, uid_t) -> Bool) throws(SettingsFileError) {
        // Without O_NONBLOCK, opening a pipe without a writer would wait for one.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw .unreadable(path, reason: String(cString: strerror(errno)))
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw .unreadable(path, reason: String(cString: strerror(errno)))
        }
        try Self.check(status, path, user, isPrivate)
        isOwn = status.st_uid == user
        isOpenToOthers = status.st_mode & 0o077 != 0
        self.path = path
        let bytes = try Self.read(descriptor, path)
        do throws(SettingsText.Failure) {
            entries = try SettingsText.entries(of: bytes)
        } catch {
            throw .malformed(path, line: error.line, reason: error.reason)
        }
    }

    /// Settings can name commands to run, so nobody else may be able to write them.
    private static func check(
        _ status: stat, _ path: String, _ user: uid_t, _ isPrivate: (gid_t, uid_t) -> Bool
    ) throws(SettingsFileError) {
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: throw .notAFile(path, what: "a folder")
        default: throw .notAFile(path, what: "a device or a pipe")
        }
        guard status.st_uid == user || status.st_uid == 0 else { throw .foreign(path, owner: status.st_uid) }
        guard status.st_mode & 0o002 == 0 else { throw .writable(path, by: "Every user") }
        guard status.st_mode & 0o020 == 0 || isPrivate(status.st_gid, status.st_uid) else {
            throw .writable(path, by: "Its group")
        }
        guard status.st_size <= maxBytes else { throw .tooLarge(path) }
    }

    private static func read(_ descriptor: CInt, _ path: String) throws(SettingsFileError) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .unreadable(path, reason: String(cString: strerror(errno))) }
            guard count > 0 else { return bytes }
            bytes += buffer[..<count]
            // It may grow while it is read.
            guard bytes.count <= maxBytes else { throw .tooLarge(path) }
        }
    }
}

public enum SettingsFileError: Error, Equatable, CustomStringConvertible {
    case unreadable(String, reason: String)
    case notAFile(String, what: String)
    case foreign(String, owner: UInt32)
    case writable(String, by: String)
    case tooLarge(String)
    case malformed(String, line: Int, reason: String)

    public var description: String {
        switch self {
        case .unreadable(let path, let reason):
            "The settings in \(path) can't be read: \(reason). Correct that, or start with --no-config."
        case .notAFile(let path, let what):
            "\(path) is \(what), and no file with settings. Move it away, or start with --no-config."
        case .foreign(let path, let owner):
            "\(path) belongs to another user (ID \(owner)), so its settings aren't used: they can name commands to run. "
                + "Copy it, or start with --no-config."
        case .writable(let path, let who):
            "\(who) can write to \(path), so its settings aren't used: they can name commands to run. "
                + "Look through it, and run `chmod go-w \(path)`."
        case .tooLarge(let path):
            "\(path) is larger than 1 MiB, and no file with settings. Make it smaller, or start with --no-config."
        case .malformed(let path, let line, let reason):
            "\(path), line \(line): this can't be read as TOML. \(reason)\(reason.hasSuffix(".") ? "" : ".")"
        }
    }
}
