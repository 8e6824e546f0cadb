import Foundation
import Glibc
import Synchronization
import Testing

@testable import BeamTrust

/// The store's own thread, and its reports when the store can't be used.
struct TrustQueueTests {
    private let scratch: Scratch
    private var store: TrustStore { scratch.store }

    init() throws { scratch = try Scratch() }

    @Test func `All devices are remembered, in order`() throws {
        let keeper = TrustQueue(store)
        for number in 0..<20 {
            keeper.remember(makeDevice("D", makeKey(1), at: Double(number))) { result in
                if case .failure(let error) = result { Issue.record("\(error)") }
            }
        }
        #expect(keeper.finish())
        #expect(try store.devices().map(\.pairedAt.timeIntervalSince1970) == [19])
    }

    @Test func `Callers don't wait for a held lock, and a full queue is reported`() throws {
        _ = try store.identity()
        let lock = open(scratch.file("lock"), O_RDWR | O_CLOEXEC)
        defer { close(lock) }
        try #require(lock >= 0 && flock(lock, LOCK_EX) == 0)
        let keeper = TrustQueue(store)
        let failures = Counter()
        for number in 0..<TrustQueue.capacity + 5 {
            keeper.remember(makeDevice("D\(number)", makeKey(number))) { result in
                if case .failure = result { failures.increase() }
            }
        }
        #expect(failures.value == 5, "the rest is queued")
        #expect(!keeper.finish(), "finish() has a timeout")
        #expect(flock(lock, LOCK_UN) == 0)
        while !keeper.finish() {}
        #expect(try store.devices().count == TrustQueue.capacity)
        #expect(failures.value == 5)
    }

    @Test func `An unreadable list is reported once, and read when it becomes readable`() throws {
        try store.remember(makeDevice("Studio", makeKey(1)))
        let good = try Data(contentsOf: URL(filePath: scratch.file("devices.json")))
        let read = Counter()
        let unread = Counter()
        let box = Box()
        let watch = try store.watchDevices { result in
            switch result {
            case .success(let devices):
                box.names.withLock { $0.append(devices.map(\.name)) }
                read.increase()
            case .failure: unread.increase()
            }
        }
        defer { watch.cancel() }
        #expect(read.reaches(1), "what there is at the beginning")
        try scratch.write("{", to: "devices.json")
        #expect(unread.reaches(1))
        // Longer than the retry interval.
        sleep(3)
        #expect(unread.value == 1 && read.value == 1)
        // inotify doesn't report a change of permissions; the retry finds it.
        try scratch.write([UInt8](good), to: "devices.json", mode: 0o644)
        #expect(unread.reaches(2), "another failure is told")
        #expect(chmod(scratch.file("devices.json"), 0o600) == 0)
        #expect(read.reaches(2))
        #expect(box.names.withLock { $0 } == [["Studio"], ["Studio"]])
    }

    private final class Box: Sendable {
        let names = Mutex<[[String]]>([])
    }
}
