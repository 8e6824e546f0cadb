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

    @Test func `The changed content can be read when the change is reported`() throws {
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

    @Test func `Writes without a change aren't reported`() throws {
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

    @Test func `A watch survives its directory's replacement`() throws {
        let changes = Counter()
        try store.remember(makeDevice("Studio", makeKey(1)))
        let watch = try store.watchChanges { changes.increase() }
        defer { watch.cancel() }
        #expect(rename(scratch.state, scratch.path + "/old") == 0)
        #expect(changes.reaches(1))
        try store.remember(makeDevice("Attic", makeKey(2)))
        #expect(changes.reaches(2))
        // inotify, not only polling, must watch the new directory.
        try store.remember(makeDevice("Cellar", makeKey(3)))
        #expect(changes.reaches(3))
    }

    @Test func `Nothing is reported after cancellation`() throws {
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

    @Test func `A watch ends with its owner, and leaves no descriptor open`() async throws {
        let state = scratch.state
        // In a separate process, where nothing else opens files.
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

    @Test func `A watch may be cancelled by its callback`() throws {
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

    @Test func `Without inotify the watch polls`() async throws {
        let state = scratch.state
        await #expect(processExitsWith: .success) { [state = state as String] in
            // Reserves descriptors for the store, in case files run out before inotify instances.
            let spare = (0..<16).map { _ in open("/dev/null", O_RDONLY) }
            // Uses up all instances of this user.
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

extension TrustStore {
    /// Calls `onChange` after each change of the remembered devices.
    fileprivate func watchChanges(onChange: @escaping @Sendable () -> Void) throws(TrustStoreError) -> TrustWatch {
        // The directory must exist to be watched.
        _ = try PrivateDirectory.make(at: path)
        return try TrustWatch(directory: path, file: Self.devicesName) {
            onChange()
            return true
        }
    }
}
