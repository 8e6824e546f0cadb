/// Why the window can't be opened. Each description is a person-facing sentence.
public enum DisplayError: Error, Hashable, CustomStringConvertible {
    /// No display to open a window on. `name` is the display that was asked for, or the environment's.
    case noDisplay(name: String?, reason: String)
    /// `--renderer opengl` was given, but OpenGL isn't available.
    case noOpenGL(reason: String)
    /// The display works, but the window can't be created.
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
