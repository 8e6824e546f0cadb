import Foundation
import Testing

/// Runs several tests at once, each on its own threads, because most of the time they wait for processes. Tests that
/// count frames or processor time have the tag `.alone` and run without others.
struct TurnTrait: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let isAlone = test.tags.contains(.alone)
        await Turns.shared.begin(alone: isAlone, first: test.tags.contains(.long))
        let start = secondsNow()
        // The log's time of a test includes its wait for a place.
        defer { report("time of \(test.name)", "\((secondsNow() - start).short) s") }
        do {
            // A test blocks its thread, which threads of the shared pool (one for each processor) must not do.
            try await withTaskExecutorPreference(FreshThreads.shared) { try await function() }
        } catch {
            await Turns.shared.end()
            throw error
        }
        await Turns.shared.end()
    }
}

extension Trait where Self == TurnTrait {
    static var inTurns: Self { TurnTrait() }
}

extension Tag {
    /// The test measures something that others would disturb.
    @Tag static var alone: Self
    /// The test takes minutes, in which it mostly waits. It begins before the others, so that they don't wait for it at the
    /// end.
    @Tag static var long: Self
}

/// Admits a few tests at once, or one alone. The mode changes only when no test of the current one runs or waits, so
/// that the machine rarely waits for a single test to end.
private actor Turns {
    static let shared = Turns(places: places)

    /// BEAMROOM_TESTS_AT_ONCE, or five for two processors: with four, these were idle half of the time.
    private static var places: Int {
        let wanted = ProcessInfo.processInfo.environment["BEAMROOM_TESTS_AT_ONCE"].flatMap { Int($0) }
        return max(1, wanted ?? ProcessInfo.processInfo.activeProcessorCount * 5 / 2)
    }

    private let places: Int
    private var isTurnOfThoseAlone = false
    private var running = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var waitingAlone: [CheckedContinuation<Void, Never>] = []

    init(places: Int) { self.places = places }

    /// Waits for a place, before those that wait already if `isFirst`; `end` frees it.
    func begin(alone isAlone: Bool, first isFirst: Bool) async {
        await withCheckedContinuation { continuation in
            if isAlone {
                waitingAlone.append(continuation)
            } else {
                waiting.insert(continuation, at: isFirst ? 0 : waiting.count)
            }
            admit()
        }
    }

    func end() {
        running -= 1
        admit()
    }

    private func admit() {
        let isOthersTurn = isTurnOfThoseAlone ? waitingAlone.isEmpty : waiting.isEmpty
        if running == 0 && isOthersTurn { isTurnOfThoseAlone.toggle() }
        if isTurnOfThoseAlone {
            guard running == 0, !waitingAlone.isEmpty else { return }
            running = 1
            waitingAlone.removeFirst().resume()
        } else {
            while running < places, !waiting.isEmpty {
                running += 1
                waiting.removeFirst().resume()
            }
        }
    }
}

/// Runs each job on a new thread.
private final class FreshThreads: TaskExecutor {
    static let shared = FreshThreads()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Thread.detachNewThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
