import BeamDisplay
import BeamMedia
import Synchronization

/// Takes screenshots of what a window shows, and says there what became of them. Main thread.
@MainActor final class Screenshots {
    private let window: VideoWindow
    private let grid: ViewerGrid
    private let writer = ScreenshotWriter()
    private let done = Done()

    private final class Done: Sendable {
        let outcomes = Mutex<[ScreenshotOutcome]>([])
    }

    init(_ window: VideoWindow, _ grid: ViewerGrid) {
        (self.window, self.grid) = (window, grid)
    }

    /// Of the viewer in focus: its last picture, all of it, in the size in which it was received, with the pointer.
    func take() {
        guard let index = grid.focusIndex, let picture = window.picture(of: grid.slots[index].id) else { return }
        let viewer = grid.panes[index].viewer
        let name = grid.slots[index].name
        let host = viewer.shared.read { $0.status.hostName } ?? name ?? ""
        let pointer = window.pointer(of: grid.slots[index].id)
        let isTaken = writer.write(picture, pointer, of: host) { [weak window, done] outcome in
            viewer.tell(outcome)
            done.outcomes.withLock { $0.append(outcome) }
            window?.wake()
        }
        if !isTaken { window.tell("The last screenshots are still being saved") }
    }

    /// Passes on to the window what has become of them.
    func update() {
        let outcomes = done.outcomes.withLock { outcomes in
            defer { outcomes = [] }
            return outcomes
        }
        for outcome in outcomes {
            window.setNotice(nil)
            window.setNotice(Self.notice(outcome))
        }
    }

    /// Before the program ends: waits for those that are being saved, at most some seconds.
    func finish() { writer.finish() }

    private static func notice(_ outcome: ScreenshotOutcome) -> WindowNotice {
        switch outcome {
        case .written(let path, _):
            let name = path.lastIndex(of: "/").map { path[path.index(after: $0)...] } ?? path[...]
            return WindowNotice(text: "Saved as \(name) in \(path.prefix(max(1, path.count - name.count - 1)))")
        case .failed(let reason): return WindowNotice(text: reason, isWarning: true, time: .seconds(10))
        }
    }
}
