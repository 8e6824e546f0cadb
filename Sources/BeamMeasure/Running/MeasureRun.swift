import BeamCapture
import Foundation

/// Runs a plan: each repetition goes through all cells, so that slow changes of the machine affect all cells alike.
/// `run` is called by one thread, `cancel` by any.
public final class MeasureRun: Sendable {
    /// Progress reports for a person.
    public enum Progress: Sendable {
        /// Host and viewer are started once to be paired.
        case preparing
        /// `done` of `total` repetitions are done; `left` is the estimated remaining time in seconds.
        case measuring(cell: String, repetition: Int, done: Int, total: Int, left: Double)
        /// Output of the viewer of a remote host.
        case words(String)
    }

    /// A cell that could not be measured.
    public struct Failure: Sendable {
        public var cell: String
        public var error: MeasureError
    }

    private let plan: MeasurePlan
    private let mailbox = Mailbox()

    public init(_ plan: MeasurePlan) { self.plan = plan }

    /// Interrupts the run. `run` returns soon; records made before count.
    public func cancel() { mailbox.cancel() }

    public var isCancelled: Bool { mailbox.isCancelled }

    /// Runs the plan. A cell that fails is skipped from then on.
    ///
    /// - Parameter onRecord: called with each repetition's record; an error that it throws ends the run.
    /// - Throws: what prevented the whole run. Cancellation isn't an error here.
    public func run(
        onProgress: @escaping (Progress) -> Void, onRecord: (MeasureRecord) throws(MeasureError) -> Void
    ) throws(MeasureError) -> [Failure] {
        var failures: [Failure] = []
        let total = plan.cells.count * plan.repetitions
        var clock = RunClock(plan)
        var done = 0
        do throws(MeasureError) {
            onProgress(.preparing)
            try prepare(onProgress)
            for repetition in 1...plan.repetitions {
                for cell in plan.cells where !failures.contains(where: { $0.cell == cell.name }) {
                    onProgress(
                        .measuring(
                            cell: cell.name, repetition: repetition, done: done, total: total,
                            left: clock.left(done: done)))
                    do throws(MeasureError) {
                        try onRecord(try measure(cell, repetition, onProgress))
                        done += 1
                    } catch .cancelled {
                        throw .cancelled
                    } catch {
                        failures.append(Failure(cell: cell.name, error: error))
                        clock.skip(plan.repetitions - repetition + 1)
                    }
                }
            }
        } catch .cancelled {
            return failures
        }
        return failures
    }

    /// Pairs host and viewer once, before anything is timed.
    private func prepare(_ onProgress: @escaping (Progress) -> Void) throws(MeasureError) {
        guard let first = plan.cells.first, first.isHere else { return }
        try pass(first, onProgress) { pass throws(MeasureError) in try pass.pair() }
    }

    private func pass<Result>(
        _ cell: MeasureCell, _ onProgress: @escaping (Progress) -> Void,
        _ body: (Pass) throws(MeasureError) -> Result
    ) throws(MeasureError) -> Result {
        let pass = Pass(cell, plan, mailbox) { onProgress(.words($0)) }
        defer { pass.end() }
        return try body(pass)
    }

    /// A latency pass, a quality pass, and a sound pass if there is sound to be compared, each with a newly started host and
    /// viewer.
    private func measure(
        _ cell: MeasureCell, _ repetition: Int, _ onProgress: @escaping (Progress) -> Void
    ) throws(MeasureError) -> MeasureRecord {
        let timing = try pass(cell, onProgress) { pass throws(MeasureError) in try pass.time() }
        let outcome = try pass(cell, onProgress) { pass throws(MeasureError) in
            try pass.compare(with: try Self.reference(for: cell))
        }
        var soundSteps: [RecordedPattern.Step]?
        if timing.hasSound, let options = Self.pattern(of: cell, outcome) {
            soundSteps = try pass(cell, onProgress) { pass throws(MeasureError) in try pass.recordSound() }
                .steps(options)
        }
        return RecordMaker(cell: cell, plan: plan, timing: timing, outcome: outcome, soundSteps: soundSteps)
            .record(repetition)
    }

    /// The options of the test pattern, if that is what is streamed.
    private static func pattern(of cell: MeasureCell, _ outcome: QualityMeter.Outcome) -> PatternOptions? {
        switch cell.source {
        case .pattern(let options): options
        case .recording: nil
        case .host: outcome.found?.options
        }
    }

    private static func reference(for cell: MeasureCell) throws(MeasureError) -> sending any PictureReference {
        switch cell.source {
        case .pattern(let options):
            do throws(CaptureError) {
                return try PatternReference(options)
            } catch {
                throw .cannotStart(program: "The test pattern", reason: error.description)
            }
        case .recording(let path, _, _): return try RecordingReference(path: path)
        case .host: return PatternSearch()
        }
    }
}

/// Estimates the remaining time from the repetitions so far.
private struct RunClock {
    private let begin = ContinuousClock.now
    private let planned: Double
    private var total: Int

    init(_ plan: MeasurePlan) {
        // 2 s is a first guess for starting and ending the processes.
        planned = plan.seconds + plan.qualitySeconds + plan.soundSeconds + 2
        total = plan.cells.count * plan.repetitions
    }

    mutating func skip(_ count: Int) { total -= count }

    func left(done: Int) -> Double {
        let (seconds, attoseconds) = (ContinuousClock.now - begin).components
        let elapsed = Double(seconds) + Double(attoseconds) / 1e18
        let each = done > 0 ? elapsed / Double(done) : planned
        return each * Double(max(0, total - done))
    }
}
