import Foundation
import Testing

/// Several tests at once, each on threads of its own: most of the time they wait for processes.
///
/// Tests that count frames or processor time are tagged `.alone` and run when no other does.
struct TurnTrait: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let isAlone = test.tags.contains(.alone)
        await Turns.shared.begin(alone: isAlone)
        let start = secondsNow()
        // The time that the log has for a test includes its waiting for a place.
        defer { report("time of \(test.name)", "\((secondsNow() - start).short) s") }
        do {
            // Threads of the shared pool, as many as there are processors, aren't for those who block.
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
    /// It measures what others would disturb.
    @Tag static var alone: Self
}

/// Who may run: a few tests at once, or one alone.
///
/// Which of the two it is changes only when nobody of the one kind runs or waits any more, so that the machine is seldom kept waiting
/// for a single test to end.
private actor Turns {
    static let shared = Turns(places: places)

    /// BEAMROOM_TESTS_AT_ONCE, or two for each processor.
    private static var places: Int {
        let wanted = ProcessInfo.processInfo.environment["BEAMROOM_TESTS_AT_ONCE"].flatMap { Int($0) }
        return max(1, wanted ?? ProcessInfo.processInfo.activeProcessorCount * 2)
    }

    private let places: Int
    private var isTurnOfThoseAlone = false
    private var running = 0
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var waitingAlone: [CheckedContinuation<Void, Never>] = []

    init(places: Int) { self.places = places }

    /// Waits for a place; `end` gives it back.
    func begin(alone isAlone: Bool) async {
        await withCheckedContinuation { continuation in
            if isAlone { waitingAlone.append(continuation) } else { waiting.append(continuation) }
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

/// A thread for each job, for as long as the job runs.
private final class FreshThreads: TaskExecutor {
    static let shared = FreshThreads()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Thread.detachNewThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
