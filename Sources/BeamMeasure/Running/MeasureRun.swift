import BeamCapture
import Foundation

/// Runs a plan: every cell once, then every cell again, so that what changes slowly on a machine changes all of them.
/// `run` is called by one thread; `cancel` by any.
public final class MeasureRun: Sendable {
    /// What happens, for a progress bar.
    public enum Progress: Sendable {
        /// Host and viewer are started for the first time.
        case preparing
        /// `done` of `total` repetitions are done; `left` is how long the rest will take, as far as that can be told.
        case measuring(cell: String, repetition: Int, done: Int, total: Int, left: Double)
        /// What the viewer of a host elsewhere says.
        case words(String)
    }

    /// A cell that could not be measured, and why.
    public struct Failure: Sendable {
        public var cell: String
        public var error: MeasureError
    }

    private let plan: MeasurePlan
    private let mailbox = Mailbox()

    public init(_ plan: MeasurePlan) { self.plan = plan }

    /// Ends what runs; `run` returns soon, with what was measured before.
    public func cancel() { mailbox.cancel() }

    public var isCancelled: Bool { mailbox.isCancelled }

    /// `onRecord` is called with each repetition's record, as it comes; an error that it throws ends the run. A cell that
    /// fails is left out from then on.
    ///
    /// - Throws: what kept everything from being measured; `cancelled` is none.
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
                        clock.leaveOut(plan.repetitions - repetition + 1)
                    }
                }
            }
        } catch .cancelled {
            return failures
        }
        return failures
    }

    /// Once for all: whoever is to know whom does so before times are measured.
    private func prepare(_ onProgress: @escaping (Progress) -> Void) throws(MeasureError) {
        guard let first = plan.cells.first, first.isHere else { return }
        try pass(first, onProgress) { pass throws(MeasureError) in try pass.meet() }
    }

    private func pass<Result>(
        _ cell: MeasureCell, _ onProgress: @escaping (Progress) -> Void,
        _ body: (Pass) throws(MeasureError) -> Result
    ) throws(MeasureError) -> Result {
        let pass = Pass(cell, plan, mailbox) { onProgress(.words($0)) }
        defer { pass.end() }
        return try body(pass)
    }

    /// First the times, then, with a host and a viewer that are started anew, the pictures.
    private func measure(
        _ cell: MeasureCell, _ repetition: Int, _ onProgress: @escaping (Progress) -> Void
    ) throws(MeasureError) -> MeasureRecord {
        let timing = try pass(cell, onProgress) { pass throws(MeasureError) in try pass.time() }
        let outcome = try pass(cell, onProgress) { pass throws(MeasureError) in
            try pass.compare(with: try Self.reference(for: cell))
        }
        return RecordMaker(cell: cell, plan: plan, timing: timing, outcome: outcome).record(repetition)
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

/// How long the rest takes, from how long repetitions have taken.
private struct RunClock {
    private let begin = ContinuousClock.now
    private let planned: Double
    private var total: Int

    init(_ plan: MeasurePlan) {
        // What starting and ending take, as a first guess.
        planned = plan.seconds + plan.qualitySeconds + 1.5
        total = plan.cells.count * plan.repetitions
    }

    mutating func leaveOut(_ count: Int) { total -= count }

    func left(done: Int) -> Double {
        let (seconds, attoseconds) = (ContinuousClock.now - begin).components
        let elapsed = Double(seconds) + Double(attoseconds) / 1e18
        let each = done > 0 ? elapsed / Double(done) : planned
        return each * Double(max(0, total - done))
    }
}
