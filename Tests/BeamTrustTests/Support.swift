import BeamWire
import Foundation
import Glibc
import Synchronization

@testable import BeamTrust

/// A temporary directory, removed in `deinit`.
final class Scratch: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/beamroom-trust-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw POSIXError(.EIO) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// A path at which no store exists yet.
    var state: String { path + "/state" }
    var store: TrustStore { TrustStore(path: state) }

    func file(_ name: String) -> String { state + "/" + name }

    func write(_ text: String, to name: String, mode: mode_t = 0o600) throws {
        try write(Array(text.utf8), to: name, mode: mode)
    }

    func write(_ bytes: [UInt8], to name: String, mode: mode_t = 0o600) throws {
        if mkdir(state, 0o700) != 0, errno != EEXIST { throw POSIXError(.EIO) }
        // Written beside it, then renamed, so that watchers never see it with a wrong mode.
        let fresh = file(name + ".fresh")
        try Data(bytes).write(to: URL(filePath: fresh))
        guard chmod(fresh, mode) == 0, rename(fresh, file(name)) == 0 else { throw POSIXError(.EIO) }
    }
}

/// The permission bits at `path`; nil if nothing is there.
func mode(_ path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}

func makeKey(_ number: Int) -> DeviceKey {
    DeviceKey(hex: String(repeating: "0", count: 56) + String(format: "%08x", number)) ?? zeroKey
}

/// A key that starts with `digits`.
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

/// The error that `body` throws; nil if it throws none.
func refusal<Result>(_ body: () throws(TrustStoreError) -> Result) -> TrustStoreError? {
    do throws(TrustStoreError) {
        _ = try body()
        return nil
    } catch {
        return error
    }
}

/// A counter that can be waited for.
final class Counter: @unchecked Sendable {
    // Sendable: `count` is accessed under `condition`'s lock only.
    private let condition = NSCondition()
    private var count = 0

    func increase() {
        condition.withLock {
            count += 1
            condition.broadcast()
        }
    }

    var value: Int { condition.withLock { count } }

    /// Whether the count reaches `wanted` within `seconds`, which is far more than needed.
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
