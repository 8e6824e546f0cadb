import BeamMedia

/// Why capturing failed or ended. Each description is a person-facing sentence: what happened, to what, what to do.
public enum CaptureError: Error, Hashable, CustomStringConvertible, Sendable {
    /// No X server answers. `name` is the display that was asked for, or the environment's.
    case noDisplay(name: String?, reason: String)
    /// The display exists, but its pixel format isn't supported.
    case unsupportedDisplay(name: String, reason: String)
    /// The display belongs to a Wayland desktop, so that its screen has no pixels.
    case waylandDesktop(display: String)
    /// The X server went away during capture.
    case serverGone(display: String)
    /// No Wayland compositor answers. `name` is the display that was asked for, or the environment's.
    case noCompositor(name: String?, reason: String)
    /// The Wayland compositor has neither ext-image-copy-capture nor wlr-screencopy.
    case noScreencopy(display: String)
    /// The Wayland compositor went away during capture.
    case compositorGone(display: String)
    /// One monitor has to be named; empty: none is on.
    case severalMonitors([String])
    case noSuchMonitor(String, available: [String])
    /// The monitor was unplugged or switched off while it was opened.
    case monitorGone(String)
    case noSuchWindow(UInt32)
    /// No window's title contains this. `available`: those that there are.
    case noWindowTitled(String, available: [String])
    case severalWindows(String, matches: [String])
    /// The person was to choose with the pointer, and has cancelled that.
    case nothingSelected
    /// The person can't choose, because another program keeps the pointer or the keyboard for itself.
    case pointerTaken(display: String)
    /// The window has no pixels that could be captured.
    case unusableWindow(UInt32, reason: String)
    case windowClosed(UInt32)
    /// The region lies outside the screen.
    case regionOffScreen(PixelRect, screen: PixelSize)
    /// Allocating buffers for pictures of this size failed.
    case noMemory(PixelSize, reason: String)
    /// The X server keeps refusing grabs that worked before.
    case grabFailed(display: String, reason: String)
    /// The process has reached its limit of open files.
    case noFileDescriptors
    /// A recording can't be opened, or reading on failed.
    case unreadableFile(path: String, reason: String)
    /// These test pattern options aren't possible.
    case unusablePattern(reason: String)
    /// A Wayland desktop can't be shared through its portal, or no longer.
    case portal(PortalTrouble)

    public var description: String {
        switch self {
        case .noDisplay(nil, _):
            "There is no display to share: DISPLAY isn't set. Name one with --display (for example --display :0), "
                + "or share a test pattern with --source pattern."
        case .noDisplay(let name?, let reason):
            "The display \(name) can't be opened: \(reason). Name another one with --display; where the display belongs to "
                + "another person or machine, xauth has to know its key first."
        case .unsupportedDisplay(let name, let reason):
            "The display \(name) can't be captured: \(reason). Share another one with --display."
        case .waylandDesktop(let display):
            "This is a Wayland desktop, where the display \(display) has no picture of the screen: viewers would see black. "
                + "Leave out --source x11, --display and --monitor, and the desktop asks what to share (--source portal); or share one "
                + "window of an X program with --window."
        case .serverGone(let display):
            "The display \(display) has gone: its X server has ended, or the connection to it was lost. "
                + "Share again when it is back."
        case .noCompositor(nil, let reason):
            "There is no Wayland desktop to share: WAYLAND_DISPLAY isn't set, and for wayland-0 \(reason). Name one with "
                + "--display (for example --display wayland-1)."
        case .noCompositor(let name?, let reason):
            "The Wayland display \(name) can't be opened: \(reason). XDG_RUNTIME_DIR has to be that of the desktop's session, "
                + "and --display can name another one of it."
        case .noScreencopy(let display):
            "The desktop on the Wayland display \(display) doesn't let programs capture its monitors without asking: it has neither "
                + "ext-image-copy-capture nor wlr-screencopy (version 3). Desktops made with wlroots have one, as sway and labwc; "
                + "GNOME and KDE don't. Leave out --source wlr, and the desktop asks what to share."
        case .compositorGone(let display):
            "The Wayland display \(display) has gone: its desktop has ended, or the connection to it was lost. "
                + "Share again when it is back."
        case .severalMonitors(let available) where available.isEmpty:
            "There is no monitor that is on. Switch one on, and share again."
        case .severalMonitors(let available):
            "There are several monitors, of which --source wlr shares one. Name it with --monitor, by name or by number: "
                + available.joined(separator: "; ") + "."
        case .noSuchMonitor(let name, let available) where available.isEmpty:
            "There is no monitor \(name): this display lists no monitors. Leave --monitor out to share the whole screen."
        case .noSuchMonitor(let name, let available):
            "There is no monitor \(name). Choose one of these with --monitor, by name or by number: "
                + available.joined(separator: "; ") + "."
        case .monitorGone(let name):
            "The monitor \(name) has gone: it was unplugged or switched off. "
                + "Plug it in again, or share another one with --monitor."
        case .noSuchWindow(let id):
            "There is no window \(hexadecimal(id)). --list-windows lists the windows and their IDs, and --select lets you click "
                + "on one."
        case .noWindowTitled(let text, let available) where available.isEmpty:
            "No window's title contains “\(text)”: there are no windows on this display."
        case .noWindowTitled(let text, let available):
            "No window's title contains “\(text)”. Name one of these with --window, by its ID or a part of its title: "
                + available.joined(separator: "; ") + "."
        case .severalWindows(let text, let matches):
            "“\(text)” is in the titles of several windows: \(matches.joined(separator: "; ")). Name one by its ID, or by "
                + "more of its title."
        case .nothingSelected: "Nothing was selected, so nothing is shared."
        case .pointerTaken(let display):
            "You can't choose on the display \(display): another program keeps the pointer or the keyboard for itself. Close its "
                + "menu, or name what to share with --window, --monitor or --region."
        case .unusableWindow(let id, let reason):
            "The window \(hexadecimal(id)) can't be captured: \(reason). Choose another one with --window, or leave it "
                + "out to share the whole screen."
        case .windowClosed(let id):
            "The shared window \(hexadecimal(id)) was closed."
        case .regionOffScreen(let region, let screen):
            "The region \(region) doesn't lie on the screen, which is \(screen). Choose one inside it with --region."
        case .noMemory(let size, let reason):
            "There is no memory for pictures of \(size): \(reason). Close other programs, or share a smaller region with --region."
        case .grabFailed(let display, let reason):
            "The display \(display) no longer hands out its picture (\(reason)). Share again; if that doesn't help, "
                + "share a part of the screen with --monitor or --region."
        case .noFileDescriptors:
            "The display can't be captured: this program has too many files open. Raise the limit with ulimit -n."
        case .unreadableFile(let path, let reason):
            "The file \(path) can't be shared: \(reason). --source takes auto, portal, x11, wlr, pattern, or a video file that can be "
                + "read."
        case .unusablePattern(let reason):
            "The test pattern can't be made: \(reason)."
        case .portal(let trouble):
            trouble.description
        }
    }
}

/// In xwininfo's notation.
private func hexadecimal(_ id: UInt32) -> String { "0x" + String(id, radix: 16) }

extension CaptureError {
    /// Whether a person has said that nothing is to be shared, or no longer.
    public var isWish: Bool {
        switch self {
        case .portal(.declined), .portal(.ended), .nothingSelected: true
        default: false
        }
    }
}
