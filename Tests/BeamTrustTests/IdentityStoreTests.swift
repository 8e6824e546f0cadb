import BeamIdentity
import Foundation
import Glibc
import Testing

@testable import BeamTrust

struct IdentityStoreTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    @Test func `The key is created on first use and kept`() throws {
        let first = try scratch.store.identity()
        #expect(try scratch.store.identity().deviceKey == first.deviceKey)
        let names = try FileManager.default.contentsOfDirectory(atPath: scratch.state)
        #expect(Set(names) == ["identity.pem", "lock"])
    }

    @Test func `Only the user can access it`() throws {
        _ = try scratch.store.identity()
        try scratch.store.remember(makeDevice("Studio", makeKey(1)))
        #expect(mode(scratch.state) == 0o700)
        for name in ["identity.pem", "devices.json", "lock"] { #expect(mode(scratch.file(name)) == 0o600, "\(name)") }
    }

    @Test func `Parent directories are created, private to the user`() throws {
        let store = TrustStore(path: scratch.path + "/a/b/beamroom")
        _ = try store.identity()
        for part in ["/a", "/a/b", "/a/b/beamroom"] { #expect(mode(scratch.path + part) == 0o700) }
    }

    @Test func `The default path`() throws {
        func path(_ environment: [String: String]) throws -> String {
            try TrustStore.defaultPath(environment: environment)
        }
        #expect(try path(["HOME": "/home/ada"]) == "/home/ada/.local/state/beamroom")
        #expect(try path(["HOME": "/home/ada", "XDG_STATE_HOME": "/var/ada"]) == "/var/ada/beamroom")
        // The specification says that relative paths are ignored.
        #expect(try path(["HOME": "/home/ada", "XDG_STATE_HOME": "state"]) == "/home/ada/.local/state/beamroom")
        #expect(try path(["HOME": "/home/ada", "XDG_STATE_HOME": ""]) == "/home/ada/.local/state/beamroom")
        #expect(try path([:]).hasSuffix("/.local/state/beamroom"))
    }

    @Test(arguments: ["", "nonsense", "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n"])
    func `A damaged key file is an error, and isn't overwritten`(text: String) throws {
        try scratch.write(text, to: "identity.pem")
        let error = refusal { () throws(TrustStoreError) in try scratch.store.identity() }
        #expect(error == .damagedIdentity(path: scratch.file("identity.pem")))
        #expect(try String(contentsOfFile: scratch.file("identity.pem"), encoding: .utf8) == text)
    }

    @Test func `An oversized key file is an error`() throws {
        try scratch.write([UInt8](repeating: 0x41, count: TrustStore.maxIdentityBytes + 1), to: "identity.pem")
        let error = refusal { () throws(TrustStoreError) in try scratch.store.identity() }
        #expect(error == .damagedIdentity(path: scratch.file("identity.pem")))
    }

    @Test func `Leftovers of an interrupted write don't matter`() throws {
        try scratch.write("half a key", to: ".identity.pem.new", mode: 0o644)
        _ = try scratch.store.identity()
        #expect(mode(scratch.file("identity.pem")) == 0o600)
        #expect(mode(scratch.file(".identity.pem.new")) == nil)
    }

    @Test func `Concurrent tasks get the same key`() async throws {
        let store = scratch.store
        let keys = try await withThrowingTaskGroup { group in
            for _ in 0..<32 { group.addTask { try store.identity().deviceKey } }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(keys.count == 1)
    }

    @Test func `Concurrent processes get the same key`() async throws {
        let state = scratch.state
        let results = scratch.path
        await withTaskGroup { group in
            for number in 0..<4 {
                group.addTask {
                    await #expect(processExitsWith: .success) {
                        [state = state as String, results = results as String, number = number as Int] in
                        let key = try TrustStore(path: state).identity().deviceKey
                        try Data(key.bytes).write(to: URL(filePath: "\(results)/key\(number)"))
                    }
                }
            }
        }
        let keys = try (0..<4).map { try Data(contentsOf: URL(filePath: "\(results)/key\($0)")) }
        #expect(Set(keys).count == 1)
        #expect(try Array(keys[0]) == scratch.store.identity().deviceKey.bytes)
    }

    @Test(arguments: [0o000, 0o077, 0o777] as [mode_t])
    func `Any umask works`(mask: mode_t) async throws {
        let path = scratch.path
        await #expect(processExitsWith: .success) { [path = path as String, mask = mask as mode_t] in
            _ = umask(mask)
            // As an ordinary user, to whom permissions apply.
            if geteuid() == 0 {
                try #require(chown(path, 65534, 65534) == 0)
                try #require(setuid(65534) == 0)
            }
            let store = TrustStore(path: path + "/above/state")
            let key = try store.identity().deviceKey
            try store.remember(makeDevice("Studio", makeKey(1)))
            #expect(try store.identity().deviceKey == key)
            #expect(try store.devices().count == 1)
            #expect(mode(path + "/above/state") == 0o700)
            for name in ["identity.pem", "devices.json", "lock"] {
                #expect(mode(path + "/above/state/" + name) == 0o600)
            }
        }
    }
}
