/// Why there is no window. Each description is the sentence that the person reads.
public enum DisplayError: Error, Hashable, CustomStringConvertible {
    /// No display to open a window on; `name` is the one asked for, or the environment's.
    case noDisplay(name: String?, reason: String)
    /// `--renderer opengl` was asked for and can't be had.
    case noOpenGL(reason: String)
    /// The display is there, the window isn't.
    case noWindow(reason: String)

    public var description: String {
        switch self {
        case .noDisplay(nil, _):
            "There is no display to open a window on: DISPLAY isn't set. "
                + "Name one with --display (for example --display :0), or use --no-window."
        case .noDisplay(let name?, let reason):
            "The display \(name) can't be opened (\(reason)). "
                + "Name another one with --display, or use --no-window."
        case .noOpenGL(let reason):
            "OpenGL can't be used on this display: \(reason). Use --renderer software, or leave --renderer out."
        case .noWindow(let reason):
            "The window can't be opened: \(reason). Try another --renderer or --display, or use --no-window."
        }
    }
}
