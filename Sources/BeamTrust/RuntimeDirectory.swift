import Foundation
import Glibc

/// The folder in which this user's running programs leave sockets, by which the user's other programs find them:
/// `$XDG_RUNTIME_DIR/beamroom`, or a folder `running` beside the keys where there is no such directory of this user
/// (XDG Base Directory Specification). Mode 0700: nobody else can get at what is in it.
public struct RuntimeDirectory: ~Copyable, Sendable {
    /// The longest list that is read.
    private static let mostNames = 256

    private let directory: PrivateDirectory

    public var path: String { directory.path }

    /// Opens it, and makes it if needed.
    public static func make() throws(RuntimeDirectoryError) -> RuntimeDirectory {
        let environment = ProcessInfo.processInfo.environment
        do throws(TrustStoreError) {
            if let runtime = runtimePath(environment: environment) { return try make(at: runtime) }
            return try make(at: try statePath(environment: environment))
        } catch {
            throw RuntimeDirectoryError(error)
        }
    }

    package static func make(at path: String) throws(TrustStoreError) -> RuntimeDirectory {
        RuntimeDirectory(directory: try PrivateDirectory.make(at: path))
    }

    /// The paths of all in which a program of this user may have left its socket, whatever that one's environment was:
    /// programs that the system starts for the user have no `XDG_RUNTIME_DIR`, and those of a session have.
    public static var candidates: [String] {
        let environment = ProcessInfo.processInfo.environment
        let usual = runtimePath(environment: ["XDG_RUNTIME_DIR": "/run/user/\(geteuid())"])
        let paths = [runtimePath(environment: environment), usual, try? statePath(environment: environment)]
        return paths.compactMap { $0 }.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// Nil if no program has made it yet.
    public static func existing(at path: String) throws(RuntimeDirectoryError) -> RuntimeDirectory? {
        do throws(TrustStoreError) {
            guard let directory = try PrivateDirectory.existing(at: path) else { return nil }
            return RuntimeDirectory(directory: directory)
        } catch {
            throw RuntimeDirectoryError(error)
        }
    }

    /// The names of the entries that are wanted, in order.
    public func names(where isWanted: (String) -> Bool) -> [String] {
        Array(directory.names().filter(isWanted).sorted().prefix(Self.mostNames))
    }

    /// A path of the entry `name` that is short enough for a socket's address (108 bytes, unix(7)), however long the
    /// directory's own is. Valid while this value lives, in this process.
    public func socketPath(_ name: String) -> String { "/proc/self/fd/\(directory.number)/\(name)" }

    public func remove(_ name: String) { directory.remove(name) }

    /// In place of an entry of the new name.
    public func rename(_ name: String, to new: String) -> Bool { directory.rename(name, to: new) }

    /// Nil: there is none that is this user's. After `su` the variable may name another user's.
    static func runtimePath(environment: [String: String]) -> String? {
        guard let runtime = environment["XDG_RUNTIME_DIR"], runtime.hasPrefix("/"), isOwn(runtime) else { return nil }
        return runtime + "/beamroom"
    }

    private static func statePath(environment: [String: String]) throws(TrustStoreError) -> String {
        try TrustStore.defaultPath(environment: environment) + "/running"
    }

    private static func isOwn(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_uid == geteuid()
    }
}

/// Why the folder can't be used.
public struct RuntimeDirectoryError: Error, CustomStringConvertible {
    /// Without a full stop.
    public let description: String

    init(_ error: TrustStoreError) {
        description =
            switch error {
            case .noHome: "there is no home directory; set HOME or XDG_RUNTIME_DIR"
            case .cannotUse(let path, let reason): "\(path): \(reason)"
            case .notADirectory(let path): "\(path) is no directory; move the file away"
            case .ownedByAnother(let path, let owner): "\(path) belongs to another user (ID \(owner))"
            case .openToOthers(let path, mode: _, needed: _):
                "\(path) can be reached by other users; run `chmod 700 '\(path)'`"
            default: "\(error)"
            }
    }
}
