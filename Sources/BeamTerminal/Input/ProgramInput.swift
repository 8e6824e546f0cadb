import Dispatch
import Synchronization

/// What another program writes on standard input with `--json`: one JSON object a line, as `ProgramActions` describes. A
/// bad line gets an event `error` and disturbs nothing.
public final class ProgramInput: Sendable {
    private struct State {
        var isEnded = false
        /// The number of the line that is being read, from 1.
        var line = 0
    }

    private let actions: ProgramActions
    private let events: EventWriter
    private let state = Mutex(State())

    init(_ actions: ProgramActions, _ events: EventWriter) { (self.actions, self.events) = (actions, events) }

    /// The next call is about this line of standard input, counted from 1.
    func begin(line: Int) { state.withLock { $0.line = line } }

    /// A line of standard input. Waits, on the reading thread, until there is somebody to take it, and while too many
    /// messages have no result: nothing waits for this program but the other one.
    func take(_ line: [UInt8]) {
        wait { !actions.isConnected }
        do throws(ProgramActions.Refusal) {
            try actions.perform(line)
        } catch {
            report(error)
        }
        wait { actions.isBusy }
    }

    private func wait(while isBusy: () -> Bool) {
        while !state.withLock({ $0.isEnded }), isBusy() {
            _ = actions.changed.wait(timeout: .now() + .milliseconds(200))
        }
    }

    /// A line that is neither an object nor an answer to a question.
    func refuse() { report(ProgramActions.Refusal(reason: "it isn't a JSON object")) }

    func lineTooLong() {
        report(ProgramActions.Refusal(reason: "it is longer than \(ProgramActions.longestLine) bytes"))
    }

    private func report(_ error: ProgramActions.Refusal) {
        events.write(.words(.badLine(state.withLock { $0.line }, id: error.id, reason: error.reason)))
    }

    func end() {
        state.withLock { $0.isEnded = true }
        actions.changed.signal()
    }
}
