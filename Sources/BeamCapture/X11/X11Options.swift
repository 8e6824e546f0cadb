import BeamMedia

/// What to capture from an X11 display, and how.
public struct X11Options: Sendable, Equatable {
    /// The part of the display that is shared.
    public enum Area: Sendable, Equatable {
        case screen
        /// By name ("HDMI-1") or by number, counted from 0 in the order in which `X11Source.monitors` lists them.
        case monitor(String)
        /// By X window id. The capture follows the window's size. With the Composite extension, other windows don't
        /// cover it.
        case window(UInt32)
        /// The window whose title contains this text, in upper or lower case, or whose id this is, in decimal.
        case windowNamed(String)
        /// A rectangle that lies entirely on the screen.
        case region(PixelRect)
    }

    /// In DISPLAY's syntax; nil: the environment's DISPLAY.
    public var display: String?
    public var area: Area
    /// Whether the pointer is drawn into the pictures.
    public var drawsCursor: Bool
    /// Maximum pictures per second.
    public var maxFrameRate: Double
    /// Whether a thin frame on the screen shows what is shared: around a region, or a window that isn't BeamRoom's own.
    public var showsFrame: Bool
    /// False: polls the pointer's position, as on a server without XInput 2. For tests.
    var usesPointerEvents = true

    public init(
        display: String? = nil, area: Area = .screen, drawsCursor: Bool = true, maxFrameRate: Double = 60,
        showsFrame: Bool = false
    ) {
        self.display = display
        self.area = area
        self.drawsCursor = drawsCursor
        self.maxFrameRate = maxFrameRate
        self.showsFrame = showsFrame
    }
}

/// A monitor of an X11 display (XRandR 1.5).
public struct Monitor: Sendable, Hashable, CustomStringConvertible {
    /// Position in the server's list, from 0.
    public var number: Int
    /// "HDMI-1".
    public var name: String
    /// Position on the screen.
    public var frame: PixelRect
    public var isPrimary: Bool

    /// "0: HDMI-1 (1920x1080+0+0)".
    public var description: String { "\(number): \(name) (\(frame))" }
}
