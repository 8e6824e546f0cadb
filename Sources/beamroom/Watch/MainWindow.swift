import ArgumentParser
import BeamDisplay
import BeamTerminal

/// Runs a command until its end: in a window, or without one.
struct MainWindow {
    var hasWindow: Bool

    /// Returns when the person, the time limit or the other side has ended the program.
    ///
    /// - Parameters:
    ///   - prepare: finds out whether there is a display.
    ///   - start: begins to watch.
    ///   - open: opens the window; returns what runs it until it is closed.
    ///   - end: makes the window close; called on any thread.
    func run(
        _ context: CommandContext, prepare: @MainActor () throws(DisplayError) -> Void, start: @MainActor () -> Void,
        open: @MainActor () throws(DisplayError) -> @MainActor () -> Void, end: @escaping @Sendable () -> Void
    ) -> Ending {
        // The command runs on the main thread, as SDL requires for a window.
        return MainActor.assumeIsolated {
            guard hasWindow else {
                start()
                return context.latch.wait()
            }
            do throws(DisplayError) {
                try prepare()
                // Connects while the window opens, because both take time.
                start()
                let run = try open()
                context.latch.whenEnded(end)
                run()
                context.latch.end(.done)
            } catch {
                context.latch.end(.failed("\(error)"))
            }
            return context.latch.wait()
        }
    }
}
