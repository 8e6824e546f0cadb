import BeamMedia
import BeamWire

extension CommandContext {
    /// Lets other programs of this user reach this one (`beamroom status`, `stop`, `pause` and others), until the result is
    /// closed. Nil: they can't, and the person was told why.
    ///
    /// - Parameter status: called on a thread of its own.
    public func openControl(_ status: @escaping @Sendable () -> RunningStatus) -> ControlSocket? {
        do throws(ControlError) {
            return try ControlSocket { line in
                events.line(.list(answer(to: line, status)))
            }
        } catch {
            say("Warning: `beamroom status`, `beamroom stop` and the like can't reach this program. \(error).")
            return nil
        }
    }

    /// Does what a line of another program's says.
    private func answer(to line: [UInt8], _ status: () -> RunningStatus) -> ProgramEvent.List {
        let members = (try? ProgramJSON.members(line)) ?? [:]
        func asks(for name: String) -> Bool { members[name].map { $0.elementsEqual("true".utf8) } ?? false }
        // What it is about may be closed already.
        guard latch.current == nil else { return .refused(reason: "this program is ending") }
        if asks(for: "status") {
            return .status(status().fields(seconds: events.millisecondsSinceStart / 1000))
        }
        if asks(for: "stop") {
            latch.end(.done)
            return .done
        }
        do throws(ProgramActions.Refusal) {
            // What becomes of its messages isn't told here.
            try actions.perform(line, noting: false)
            return .done
        } catch {
            return .refused(reason: error.reason)
        }
    }
}
