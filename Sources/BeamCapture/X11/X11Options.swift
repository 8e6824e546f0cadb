import BeamMedia

/// What to capture of an X11 display, and how.
public struct X11Options: Sendable, Equatable {
    /// The part of the display that is shared.
    public enum Area: Sendable, Equatable {
        case screen
        /// By name ("HDMI-1") or by number, counted from 0 in the order in which `X11Source.monitors` lists them.
        case monitor(String)
        /// By id. Followed as it is resized; seen whole when others cover it, where the server has Composite.
        case window(UInt32)
        /// A rectangle of the screen, wholly on it.
        case region(PixelRect)
    }

    /// As DISPLAY has it; nil: the environment's.
    public var display: String?
    public var area: Area
    /// Draws the pointer into the pictures.
    public var drawsCursor: Bool
    /// Pictures a second, at most.
    public var maxFrameRate: Double
    /// False: asks for the pointer's place now and then, as on a server without XInput 2. For tests.
    var usesPointerEvents = true

    public init(
        display: String? = nil, area: Area = .screen, drawsCursor: Bool = true, maxFrameRate: Double = 60
    ) {
        self.display = display
        self.area = area
        self.drawsCursor = drawsCursor
        self.maxFrameRate = maxFrameRate
    }
}

/// A monitor of an X11 display, as XRandR 1.5 knows it.
public struct Monitor: Sendable, Hashable, CustomStringConvertible {
    /// Its place in the list, from 0.
    public var number: Int
    /// "HDMI-1".
    public var name: String
    /// Its place on the screen.
    public var frame: PixelRect
    public var isPrimary: Bool

    /// "0: HDMI-1 (1920x1080+0+0)".
    public var description: String { "\(number): \(name) (\(frame))" }
}
