import BeamClock
import BeamMedia
import Foundation
import Synchronization
import Testing

/// Waits with a deadline.
struct DeadlineTests {
    @Test func aWaitEndsAtItsDeadline() {
        let slot = LatestSlot<Int>()
        let deadline = MediaTime.now + .milliseconds(50)
        guard case .nudged = slot.take(until: deadline) else {
            Issue.record("something was there")
            return
        }
        #expect(MediaTime.now >= deadline)
    }

    @Test(arguments: [MediaTime.zero, .distantPast]) func aPastDeadlineDoesNotWait(_ deadline: MediaTime) {
        let slot = LatestSlot<Int>()
        guard case .nudged = slot.take(until: deadline) else {
            Issue.record("something was there")
            return
        }
        // A value has precedence over the deadline.
        slot.put(1)
        guard case .value(1) = slot.take(until: deadline) else {
            Issue.record("the value was left in the slot")
            return
        }
    }

    @Test func aValueComesBeforeTheDeadline() {
        let slot = LatestSlot<Int>()
        let taken = Mutex<Int?>(nil)
        let taker = StageThread("taker") {
            if case .value(let value) = slot.take(until: .distantFuture) { taken.withLock { $0 = value } }
        }
        slot.put(7)
        taker.join()
        #expect(taken.withLock { $0 } == 7)
    }

    /// A test can't set the system's clock, but /proc shows which clock a thread waits on.
    @Test(.enabled(if: Waiting.isShown, "the kernel doesn't show system calls in /proc"))
    func waitsUseTheMonotonicClock() async throws {
        let slot = LatestSlot<Int>()
        let thread = Mutex<String?>(nil)
        let taker = StageThread("taker") {
            thread.withLock { $0 = Waiting.thisThread }
            _ = slot.take(until: .now + .seconds(600))
        }
        defer {
            slot.close()
            taker.join()
        }
        var waiting: Waiting?
        for _ in 0..<1000 where waiting == nil {
            try await Task.sleep(for: .milliseconds(10))
            waiting = thread.withLock { $0 }.flatMap(Waiting.init)
        }
        let found = try #require(waiting, "the thread never waited with a deadline")
        #expect(!found.isByWallClock)
    }

    /// A thread's futex wait with a deadline (futex(2)), as shown in /proc.
    private struct Waiting {
        /// FUTEX_CLOCK_REALTIME; otherwise the deadline is on the monotonic clock.
        private static let wallClock = 0x100
        #if arch(x86_64)
            private static let futex = "202"
        #else
            private static let futex = "98"
        #endif

        let isByWallClock: Bool

        /// `self/task/NUMBER` in /proc; nil if it doesn't exist.
        static var thisThread: String? {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")).map { "/proc/\($0)" }
        }

        static var isShown: Bool {
            thisThread.map { FileManager.default.contents(atPath: $0 + "/syscall")?.isEmpty == false } ?? false
        }

        /// Nil while the thread isn't waiting.
        init?(_ thread: String) {
            // The system call's number, then its arguments: the futex, the operation, the value, the deadline's
            // address.
            let bytes = FileManager.default.contents(atPath: thread + "/syscall") ?? Data()
            let words = String(decoding: bytes, as: UTF8.self).split(separator: " ")
            guard words.count > 4, words[0] == Self.futex, words[4] != "0x0",
                let operation = Int(words[2].dropFirst(2), radix: 16)
            else { return nil }
            isByWallClock = operation & Self.wallClock != 0
        }
    }
}
