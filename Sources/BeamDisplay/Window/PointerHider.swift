import BeamClock
import BeamMedia
import CSDL2

/// Hides the mouse pointer in fullscreen when it hasn't moved for a while.
@MainActor struct PointerHider {
    private static let hideDelay = Duration.seconds(2)
    private var isHidden = false
    /// When to hide the pointer, unless it moves before.
    private(set) var deadline: MediaTime?

    /// Must be called when the pointer moves and when `mayHide` changes.
    mutating func restart(mayHide: Bool) {
        if isHidden { SDL_ShowCursor(SDL_ENABLE) }
        isHidden = false
        deadline = mayHide ? .now + Self.hideDelay : nil
    }

    mutating func hideIfDue() {
        guard let deadline, deadline <= .now else { return }
        self.deadline = nil
        isHidden = true
        SDL_ShowCursor(SDL_DISABLE)
    }
}
