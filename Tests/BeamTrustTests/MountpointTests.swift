import BeamWire
import Foundation
import Testing

@testable import BeamTrust

/// What hosts have made at gateways.
struct MountpointTests {
    private func point() -> GatewayMountpoint {
        var random = SystemRandomNumberGenerator()
        return GatewayMountpoint(random: &random)
    }

    private func withStore(_ body: (TrustStore) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "beamroom-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(TrustStore(path: path))
    }

    @Test func onlyThoseOfHostsThatHaveEndedAreAbandoned() throws {
        try withStore { store in
            let run = try #require(HostRun.current)
            // The same process ID, an earlier process.
            let ended = HostRun(pid: run.pid, start: run.start &- 1)
            let (own, old, elsewhere) = (point(), point(), point())
            #expect(try store.abandonedMountpoints(at: "wss://a") == [])
            try store.keepMountpoint(own, at: "wss://a", of: run)
            try store.keepMountpoint(old, at: "wss://a", of: ended)
            try store.keepMountpoint(elsewhere, at: "wss://b", of: ended)
            let abandoned = try store.abandonedMountpoints(at: "wss://a")
            #expect(abandoned.map(\.id) == [old.id] && abandoned.map(\.secret) == [old.secret])
            try store.forgetMountpoint(old)
            #expect(try store.abandonedMountpoints(at: "wss://a") == [])
            #expect(try store.abandonedMountpoints(at: "wss://b").count == 1)
            var status = stat()
            #expect(stat(store.path + "/gateways.json", &status) == 0 && status.st_mode & 0o777 == 0o600)
        }
    }

    /// A file that can't be read counts as empty, and the list doesn't grow for ever.
    @Test func damagedAndLongListsAreBounded() throws {
        try withStore { store in
            let run = try #require(HostRun.current)
            let ended = HostRun(pid: run.pid, start: run.start &- 1)
            try store.keepMountpoint(point(), at: "wss://a", of: ended)
            try Data("{\"version\":1,\"mountpoints\":[{\"id\":".utf8).write(
                to: URL(filePath: store.path + "/gateways.json"))
            #expect(chmod(store.path + "/gateways.json", 0o600) == 0)
            #expect(try store.abandonedMountpoints(at: "wss://a") == [])
            for _ in 0..<TrustStore.maxMountpoints + 5 { try store.keepMountpoint(point(), at: "wss://a", of: ended) }
            #expect(try store.abandonedMountpoints(at: "wss://a").count == TrustStore.maxMountpoints)
        }
    }

    /// So many entries with names of the longest kind are more than what is read: the newest stay.
    @Test func longNamesForgetTheOldestOnly() throws {
        try withStore { store in
            let run = try #require(HostRun.current)
            let ended = HostRun(pid: run.pid, start: run.start &- 1)
            let name = "wss://a/" + String(repeating: "a", count: 504)
            let points = (0..<TrustStore.maxMountpoints).map { _ in point() }
            for point in points { try store.keepMountpoint(point, at: name, of: ended) }
            let kept = try store.abandonedMountpoints(at: name).map(\.id)
            #expect((50..<TrustStore.maxMountpoints).contains(kept.count), "\(kept.count)")
            #expect(kept == points.suffix(kept.count).map(\.id))
        }
    }
}
