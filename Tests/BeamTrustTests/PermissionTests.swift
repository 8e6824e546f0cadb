import Foundation
import Glibc
import Testing

@testable import BeamTrust

private let isRoot = geteuid() == 0

struct PermissionTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private var identityRefusal: TrustStoreError? {
        refusal { () throws(TrustStoreError) in try scratch.store.identity() }
    }

    @Test(arguments: [0o755, 0o710, 0o701, 0o720, 0o777] as [mode_t])
    func `A directory that others can access is refused`(mode: mode_t) throws {
        _ = try scratch.store.identity()
        #expect(chmod(scratch.state, mode) == 0)
        let expected = TrustStoreError.openToOthers(path: scratch.state, mode: UInt32(mode), needed: 0o700)
        #expect(identityRefusal == expected)
        #expect(refusal { () throws(TrustStoreError) in try scratch.store.devices() } == expected)
        #expect(expected.description.contains("chmod 0700 '\(scratch.state)'"))
    }

    @Test(arguments: [0o640, 0o604, 0o644, 0o620] as [mode_t])
    func `A key file that others can access is refused`(mode: mode_t) throws {
        _ = try scratch.store.identity()
        let file = scratch.file("identity.pem")
        #expect(chmod(file, mode) == 0)
        #expect(identityRefusal == .openToOthers(path: file, mode: UInt32(mode), needed: 0o600))
    }

    @Test func `A list of devices that others can write is refused`() throws {
        try scratch.store.remember(makeDevice("Studio", makeKey(1)))
        let file = scratch.file("devices.json")
        #expect(chmod(file, 0o622) == 0)
        let expected = TrustStoreError.openToOthers(path: file, mode: 0o622, needed: 0o600)
        #expect(refusal { () throws(TrustStoreError) in try scratch.store.devices() } == expected)
        let again = refusal { () throws(TrustStoreError) in try scratch.store.remember(makeDevice("A", makeKey(2))) }
        #expect(again == expected)
    }

    @Test(.enabled(if: isRoot, "only root can give a file away"))
    func `Another user's files are refused`() throws {
        _ = try scratch.store.identity()
        let file = scratch.file("identity.pem")
        #expect(chown(file, 65534, 65534) == 0)
        #expect(identityRefusal == .ownedByAnother(path: file, owner: 65534))
        #expect(chown(file, 0, 0) == 0)
        #expect(chown(scratch.state, 65534, 65534) == 0)
        #expect(identityRefusal == .ownedByAnother(path: scratch.state, owner: 65534))
    }

    @Test(.enabled(if: isRoot, "only root can be another user"))
    func `Another user's directory is reported as such, even if it can't be opened`() async throws {
        _ = try scratch.store.identity()
        let state = scratch.state
        #expect(chmod(scratch.path, 0o755) == 0)
        await #expect(processExitsWith: .success) { [state = state as String] in
            try #require(setuid(65534) == 0)
            let error = refusal { () throws(TrustStoreError) in try TrustStore(path: state).identity() }
            #expect(error == .ownedByAnother(path: state, owner: 0))
        }
    }

    @Test func `A directory that can't be written is named in the error`() async throws {
        let path = scratch.path
        await #expect(processExitsWith: .success) { [path = path as String] in
            if geteuid() == 0 {
                try #require(chmod(path, 0o755) == 0)
                try #require(setuid(65534) == 0)
            } else {
                try #require(chmod(path, 0o500) == 0)
            }
            let error = refusal { () throws(TrustStoreError) in try TrustStore(path: path + "/state").identity() }
            #expect(error == .cannotUse(path: path + "/state", reason: "Permission denied"))
        }
        _ = chmod(path, 0o700)
    }

    @Test func `A store that becomes read-only reports it, and keeps its content`() async throws {
        try scratch.store.remember(makeDevice("Studio", makeKey(1)))
        let path = scratch.path
        await #expect(processExitsWith: .success) { [path = path as String] in
            if geteuid() == 0 {
                for name in ["", "/state", "/state/lock", "/state/devices.json"] {
                    try #require(chown(path + name, 65534, 65534) == 0)
                }
                try #require(setuid(65534) == 0)
            }
            try #require(chmod(path + "/state", 0o500) == 0)
            let store = TrustStore(path: path + "/state")
            let error = refusal { () throws(TrustStoreError) in try store.remember(makeDevice("A", makeKey(2))) }
            guard case .cannotUse(_, "Permission denied") = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(try store.devices().map(\.name) == ["Studio"])
        }
        _ = chmod(scratch.state, 0o700)
    }

    @Test(arguments: ["/dev/null/state", "/proc/beamroom"])
    func `A path where no directory can be created is an error`(path: String) {
        let error = refusal { () throws(TrustStoreError) in try TrustStore(path: path).identity() }
        #expect(error?.description.hasPrefix(path) == true || error?.description.hasPrefix("/dev/null") == true)
    }

    @Test func `A file instead of the directory is an error`() throws {
        try Data().write(to: URL(filePath: scratch.state))
        #expect(identityRefusal == .notADirectory(path: scratch.state))
    }

    // MARK: Links and special files

    @Test(arguments: ["identity.pem", "devices.json", "lock"])
    func `Symbolic links to files are refused`(name: String) throws {
        try scratch.write("", to: "other")
        #expect(symlink("other", scratch.file(name)) == 0)
        let error = refusal { () throws(TrustStoreError) in
            _ = try scratch.store.identity()
            try scratch.store.remember(makeDevice("A", makeKey(1)))
        }
        #expect(error == .notAFile(path: scratch.file(name)))
        #expect(try Data(contentsOf: URL(filePath: scratch.file("other"))).isEmpty)
    }

    @Test(arguments: ["identity.pem", "devices.json", "lock"])
    func `A FIFO is refused without blocking`(name: String) throws {
        try scratch.write("", to: "other")
        #expect(mkfifo(scratch.file(name), 0o600) == 0)
        let error = refusal { () throws(TrustStoreError) in
            _ = try scratch.store.identity()
            try scratch.store.remember(makeDevice("A", makeKey(1)))
        }
        #expect(error == .notAFile(path: scratch.file(name)))
    }

    @Test(arguments: ["identity.pem", "devices.json", "lock"])
    func `A directory instead of a file is refused`(name: String) throws {
        try scratch.write("", to: "other")
        #expect(mkdir(scratch.file(name), 0o700) == 0)
        let error = refusal { () throws(TrustStoreError) in
            _ = try scratch.store.identity()
            try scratch.store.remember(makeDevice("A", makeKey(1)))
        }
        #expect(error == .notAFile(path: scratch.file(name)))
    }

    @Test func `A link at the temporary file's path isn't followed`() throws {
        try scratch.write("untouched", to: "other")
        #expect(symlink("other", scratch.file(".identity.pem.new")) == 0)
        _ = try scratch.store.identity()
        #expect(try String(contentsOfFile: scratch.file("other"), encoding: .utf8) == "untouched")
        #expect(
            try FileManager.default.attributesOfItem(atPath: scratch.file("identity.pem"))[.type] as? FileAttributeType
                == .typeRegular)
    }

    @Test func `The directory may be a symbolic link`() throws {
        let elsewhere = scratch.path + "/elsewhere"
        #expect(mkdir(elsewhere, 0o700) == 0)
        #expect(symlink("elsewhere", scratch.state) == 0)
        _ = try scratch.store.identity()
        #expect(mode(elsewhere + "/identity.pem") == 0o600)
        #expect(chmod(elsewhere, 0o755) == 0)
        #expect(identityRefusal == .openToOthers(path: scratch.state, mode: 0o755, needed: 0o700))
    }

    // MARK: Core dumps

    /// The soft and the hard limit on core dumps.
    private static var coreLimit: (soft: rlim_t, hard: rlim_t) {
        var limit = rlimit()
        _ = getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        return (limit.rlim_cur, limit.rlim_max)
    }

    /// In this process, because exit tests start with core dumps disabled and may not be able to enable them.
    @Test(.enabled(if: coreLimit.hard > 1, "no core dumps are allowed here, so there is nothing to forbid"))
    func `Core dumps are disabled`() {
        ProcessHardening.apply()
        #expect(Self.coreLimit == (1, 1))
        ProcessHardening.apply()
        #expect(Self.coreLimit == (1, 1))
    }
}
