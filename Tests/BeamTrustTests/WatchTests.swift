import Foundation
import Glibc
import Synchronization
import Testing

@testable import BeamTrust

struct WatchTests {
    private let scratch: Scratch
    private var store: TrustStore { scratch.store }

    init() throws { scratch = try Scratch() }

    @Test func `Each change is noticed`() throws {
        let changes = Counter()
        let watch = try store.watchChanges { changes.increase() }
        defer { watch.cancel() }
        try store.remember(makeDevice("Studio", makeKey(1)))
        #expect(changes.reaches(1))
        try store.remember(makeDevice("Attic", makeKey(2)))
        #expect(changes.reaches(2))
        _ = try store.forget(matching: "Studio")
        #expect(changes.reaches(3))
        #expect(unlink(scratch.file("devices.json")) == 0)
        #expect(changes.reaches(4))
    }

    @Test func `What is read then is the change`() throws {
        let gone = Counter()
        let store = store
        try store.remember(makeDevice("Studio", makeKey(1)))
        let watch = try store.watchChanges { if (try? store.devices().isEmpty) == true { gone.increase() } }
        defer { watch.cancel() }
        _ = try store.forget(matching: "Studio")
        #expect(gone.reaches(1))
    }

    @Test func `Another process's change is noticed`() async throws {
        let changes = Counter()
        let state = scratch.state
        let watch = try store.watchChanges { changes.increase() }
        await #expect(processExitsWith: .success) { [state = state as String] in
            try TrustStore(path: state).remember(makeDevice("Studio", makeKey(1)))
        }
        #expect(changes.reaches(1))
        watch.cancel()
    }

    @Test func `What changes nothing isn't told`() throws {
        let changes = Counter()
        try store.remember(makeDevice("Studio", makeKey(1)))
        let watch = try store.watchChanges { changes.increase() }
        _ = try store.identity()
        _ = try store.devices()
        try store.remember(makeDevice("Studio", makeKey(1)))
        try store.remember(makeDevice("Attic", makeKey(2)))
        #expect(changes.reaches(1))
        watch.cancel()
        #expect(changes.value == 1)
    }

    @Test func `It outlives its directory`() throws {
        let changes = Counter()
        try store.remember(makeDevice("Studio", makeKey(1)))
        let watch = try store.watchChanges { changes.increase() }
        defer { watch.cancel() }
        #expect(rename(scratch.state, scratch.path + "/old") == 0)
        #expect(changes.reaches(1))
        try store.remember(makeDevice("Attic", makeKey(2)))
        #expect(changes.reaches(2))
        // Not only what polling sees: the new directory is listened to again.
        try store.remember(makeDevice("Cellar", makeKey(3)))
        #expect(changes.reaches(3))
    }

    @Test func `After the end nothing is told`() throws {
        let changes = Counter()
        let watch = try store.watchChanges { changes.increase() }
        try store.remember(makeDevice("Studio", makeKey(1)))
        #expect(changes.reaches(1))
        watch.cancel()
        watch.cancel()
        try store.remember(makeDevice("Attic", makeKey(2)))
        usleep(300_000)
        #expect(changes.value == 1)
    }

    @Test func `It ends with its owner, and leaves nothing open`() async throws {
        let state = scratch.state
        // In a process of its own, where nobody else opens files.
        await #expect(processExitsWith: .success) { [state = state as String] in
            let store = TrustStore(path: state)
            _ = try store.watchChanges {}
            func entries(_ name: String) throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/" + name).count
            }
            let (files, threads) = (try entries("fd"), try entries("task"))
            for _ in 0..<50 { _ = try store.watchChanges {} }
            #expect(try entries("fd") < files + 10)
            #expect(try entries("task") < threads + 10)
        }
    }

    @Test func `It may be ended by what it calls`() throws {
        let changes = Counter()
        let box = Box()
        let watch = try store.watchChanges {
            box.watch.withLock { $0 }?.cancel()
            changes.increase()
        }
        box.watch.withLock { $0 = watch }
        try store.remember(makeDevice("Studio", makeKey(1)))
        #expect(changes.reaches(1))
        try store.remember(makeDevice("Attic", makeKey(2)))
        usleep(300_000)
        #expect(changes.value == 1)
        box.watch.withLock { $0 = nil }
    }

    @Test func `Without the kernel's notices it looks by itself`() async throws {
        let state = scratch.state
        await #expect(processExitsWith: .success) { [state = state as String] in
            // Room for what the store itself opens, should files run out before instances do.
            let spare = (0..<16).map { _ in open("/dev/null", O_RDONLY) }
            // Takes all instances that this user may have.
            while inotify_init1(0) >= 0 {}
            for number in spare { _ = close(number) }
            let changes = Counter()
            let store = TrustStore(path: state)
            let watch = try store.watchChanges { changes.increase() }
            try store.remember(makeDevice("Studio", makeKey(1)))
            #expect(changes.reaches(1))
            watch.cancel()
        }
    }

    private final class Box: Sendable {
        let watch = Mutex<TrustWatch?>(nil)
    }
}
