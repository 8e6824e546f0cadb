import BeamMedia
import CSDL2

/// Screenshots, and a window that stays on top.
extension VideoWindow {
    /// The last picture of a source, as it was received.
    public func picture(of source: Int) -> Picture? { grid.picture(of: source) }

    /// Why no screenshot can be taken now: a sentence without a full stop; nil: one can.
    var screenshotObstacle: String? {
        guard panels.picker == nil, panels.codeEntry == nil, let source = focus.source, grid.picture(of: source) != nil
        else { return "There is no picture to save" }
        return grid.focused?.isWithheld == true ? "This picture is hidden at its host, so it isn't saved" : nil
    }

    func wantScreenshot(_ events: inout [WindowEvent]) {
        if let obstacle = screenshotObstacle { return tell(obstacle) }
        events.append(.screenshotWanted)
    }

    // MARK: Always on top

    /// Why the window can't stay above others: a sentence without a full stop; nil: it can.
    public var alwaysOnTopObstacle: String? {
        guard let x11 else {
            return window.video.driver == "wayland"
                ? "On Wayland no program can put its window on top; the desktop's window menu may (in GNOME Alt+Space)"
                : "Only a desktop can keep a window on top"
        }
        return x11.keepsWindowsAbove ? nil : "No window manager runs here that keeps windows on top"
    }

    /// What `options` ask for and this display can't do: a sentence; nil: nothing.
    public func unmetWish(_ options: WindowOptions) -> String? {
        options.isAlwaysOnTop ? alwaysOnTopObstacle.map { "--always-on-top has no effect here. \($0)." } : nil
    }

    func setAlwaysOnTop(_ isWanted: Bool) {
        SDL_SetWindowAlwaysOnTop(window.raw, isWanted ? SDL_TRUE : SDL_FALSE)
        isAlwaysOnTop = isWanted
    }

    func toggleAlwaysOnTop(_ events: inout [WindowEvent]) {
        if !isAlwaysOnTop, let obstacle = alwaysOnTopObstacle { return tell(obstacle) }
        setAlwaysOnTop(!isAlwaysOnTop)
        tell(isAlwaysOnTop ? "The window stays on top: press a to end that" : "The window doesn't stay on top")
        events.append(.alwaysOnTop(isAlwaysOnTop))
    }
}
