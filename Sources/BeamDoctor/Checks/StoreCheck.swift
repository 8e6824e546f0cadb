import BeamTrust
import Foundation
import Glibc

/// Where this machine's key and the paired devices are kept.
enum StoreCheck {
    static func keys() -> Finding {
        do throws(TrustStoreError) {
            let store = try TrustStore()
            let isThere = FileManager.default.fileExists(atPath: store.path)
            let folder = isThere ? store.path : existing(store.path)
            if let problem = problem(ofFolder: folder, for: store.path) { return problem }
            guard isThere else { return Finding("keys", .good, "\(store.path) is made when it is first needed.") }
            let count = try store.devices().count
            return Finding(
                "keys", .good,
                "\(store.path) is private, and has \(count == 1 ? "1 paired device" : "\(count) paired devices").")
        } catch {
            return Finding("keys", .broken, "\(error)")
        }
    }

    /// Why nothing can be written into the folder; nil: it can.
    private static func problem(ofFolder folder: String, for path: String) -> Finding? {
        var state = stat()
        let isFolder = stat(folder, &state) == 0 && state.st_mode & S_IFMT == S_IFDIR
        guard !isFolder || access(folder, W_OK | X_OK) != 0 else { return nil }
        let reason = isFolder ? "can't be written to" : "isn't a folder"
        return Finding(
            "keys", .broken,
            "\(folder) \(reason), so this machine's key and the paired devices can't be kept in \(path). Let your user "
                + "write there, or set XDG_STATE_HOME to a folder of your own.")
    }

    static func disk() -> Finding {
        guard let path = try? TrustStore().path else {
            return Finding("disk", .improvable, "There is no home directory, so its disk can't be looked at. Set HOME.")
        }
        let folder = existing(path)
        var state = statvfs()
        guard statvfs(folder, &state) == 0 else {
            return Finding(
                "disk", .improvable, "The disk of \(folder) can't be looked at: \(String(cString: strerror(errno))).")
        }
        // File systems of programs and of the network may say anything.
        guard state.f_blocks > 0 else {
            return Finding("disk", .improvable, "The file system of \(folder) doesn't say how much is free on it.")
        }
        let (free, isTooMuch) = Int(clamping: state.f_bavail).multipliedReportingOverflow(
            by: Int(clamping: state.f_frsize))
        return disk(free: isTooMuch ? .max : free, folder: folder)
    }

    /// - Parameter free: bytes.
    static func disk(free: Int, folder: String) -> Finding {
        let room = free >= 1 << 30 ? "\(free >> 30) GiB" : "\(free >> 20) MiB"
        if free < 1 << 20 {
            return Finding(
                "disk", .broken,
                "The disk of \(folder) is full: keys and paired devices can't be kept. Delete something there.")
        }
        // Some minutes of a recording.
        if free < 1 << 30 {
            return Finding(
                "disk", .improvable, "The disk of \(folder) has only \(room) left: a recording fills that in minutes.")
        }
        return Finding("disk", .good, "\(room) are free on the disk of \(folder).")
    }

    /// The path, or the nearest folder above it that there is.
    private static func existing(_ path: String) -> String {
        var path = path
        while path.count > 1, !FileManager.default.fileExists(atPath: path) {
            path = (path as NSString).deletingLastPathComponent
        }
        return path
    }
}
