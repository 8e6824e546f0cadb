import Foundation
import Glibc

/// The folder in which this user's running programs leave sockets, by which the user's other programs find them:
/// `$XDG_RUNTIME_DIR/beamroom`, or a folder `running` beside the keys where there is no such directory of this user
/// (XDG Base Directory Specification). Mode 0700: nobody else can get at what is in it.
public struct RuntimeDirectory: ~Copyable, Sendable {
    /// The longest list that is read.
    private static let mostNames = 256

    private let directory: PrivateDirectory

    /// For people.
    public var path: String { directory.path }

    /// Opens it, and makes it if needed.
    public static func make() throws(TrustStoreError) -> RuntimeDirectory { try make(at: try defaultPath()) }

    package static func make(at path: String) throws(TrustStoreError) -> RuntimeDirectory {
        RuntimeDirectory(directory: try PrivateDirectory.make(at: path))
    }

    /// Nil if no program has made it yet.
    public static func existing() throws(TrustStoreError) -> RuntimeDirectory? {
        guard let directory = try PrivateDirectory.existing(at: try defaultPath()) else { return nil }
        return RuntimeDirectory(directory: directory)
    }

    /// The entries' names, in order.
    public var names: [String] { Array(directory.names().sorted().prefix(Self.mostNames)) }

    /// A path of the entry `name` that is short enough for a socket's address (108 bytes, unix(7)), however long the
    /// directory's own is. Valid while this value lives, in this process.
    public func socketPath(_ name: String) -> String { "/proc/self/fd/\(directory.number)/\(name)" }

    public func remove(_ name: String) { directory.remove(name) }

    /// In place of an entry of the new name.
    public func rename(_ name: String, to new: String) -> Bool { directory.rename(name, to: new) }

    private static func defaultPath() throws(TrustStoreError) -> String {
        try path(environment: ProcessInfo.processInfo.environment)
    }

    static func path(environment: [String: String]) throws(TrustStoreError) -> String {
        if let runtime = environment["XDG_RUNTIME_DIR"], runtime.hasPrefix("/") {
            var status = stat()
            // After `su` the variable may name another user's.
            if stat(runtime, &status) == 0, status.st_uid == geteuid() { return runtime + "/beamroom" }
        }
        return try TrustStore.defaultPath(environment: environment) + "/running"
    }
}
