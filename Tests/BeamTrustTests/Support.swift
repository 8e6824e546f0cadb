import BeamProtocol
import Foundation
import Glibc
import Synchronization

@testable import BeamTrust

/// A directory of its own, gone with its owner.
final class Scratch: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/beamroom-trust-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw POSIXError(.EIO) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Where no store is yet.
    var state: String { path + "/state" }
    var store: TrustStore { TrustStore(path: state) }

    func file(_ name: String) -> String { state + "/" + name }

    func write(_ text: String, to name: String, mode: mode_t = 0o600) throws {
        try write(Array(text.utf8), to: name, mode: mode)
    }

    func write(_ bytes: [UInt8], to name: String, mode: mode_t = 0o600) throws {
        if mkdir(state, 0o700) != 0, errno != EEXIST { throw POSIXError(.EIO) }
        // Beside it, then renamed: whoever watches the file sees it with its mode, or not at all.
        let fresh = file(name + ".fresh")
        try Data(bytes).write(to: URL(filePath: fresh))
        guard chmod(fresh, mode) == 0, rename(fresh, file(name)) == 0 else { throw POSIXError(.EIO) }
    }
}

/// Permission bits of what is at `path`; nil if nothing is.
func mode(_ path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}

func makeKey(_ number: Int) -> DeviceKey {
    DeviceKey(hex: String(repeating: "0", count: 56) + String(format: "%08x", number)) ?? zeroKey
}

/// A key that begins with `digits`.
func makeKey(_ digits: String) -> DeviceKey {
    DeviceKey(hex: digits + String(repeating: "0", count: 64 - digits.count)) ?? zeroKey
}

private let zeroKey = DeviceKey(Array(repeating: 0, count: 32))!

func makeDevice(
    _ name: String, _ key: DeviceKey, _ roles: Set<RememberedDevice.Role> = [.viewer],
    at seconds: Double = 1_800_000_000
) -> RememberedDevice {
    RememberedDevice(name: name, key: key, roles: roles, pairedAt: Date(timeIntervalSince1970: seconds))
}

/// What the store says when it refuses; nil when it doesn't.
func refusal<Result>(_ body: () throws(TrustStoreError) -> Result) -> TrustStoreError? {
    do throws(TrustStoreError) {
        _ = try body()
        return nil
    } catch {
        return error
    }
}

/// Counts, and waits for a count.
final class Counter: @unchecked Sendable {
    // Sendable: `count` is read and written under `condition`'s lock only.
    private let condition = NSCondition()
    private var count = 0

    func increase() {
        condition.withLock {
            count += 1
            condition.broadcast()
        }
    }

    var value: Int { condition.withLock { count } }

    /// Whether it comes to `wanted` within `seconds`, which no healthy run comes near.
    func reaches(_ wanted: Int, seconds: Double = 60) -> Bool {
        let deadline = Date(timeIntervalSinceNow: seconds)
        return condition.withLock {
            while count < wanted {
                guard condition.wait(until: deadline) else { return count >= wanted }
            }
            return true
        }
    }
}
