import BeamMedia

/// What to capture from a Wayland compositor that has ext-image-copy-capture or wlr-screencopy, and how. It captures without
/// asking the person.
public struct WlrOptions: Sendable, Equatable {
    /// In WAYLAND_DISPLAY's syntax; nil: the environment's.
    public var display: String?
    /// By name ("HDMI-A-1") or by number, counted from 0 in the order in which `WlrSource.monitors` lists them. Nil: the only
    /// one.
    public var monitor: String?
    /// A part of the monitor, in its pixels as a person sees them; nil: all of it.
    public var region: PixelRect?
    /// Whether the compositor draws the pointer into the pictures.
    public var drawsCursor: Bool
    /// Maximum pictures per second.
    public var maxFrameRate: Double
    /// How long nothing may come of a monitor until it is looked at whether it is still refreshed: a compositor that no longer
    /// has the screen, as another user is at the machine, doesn't say so. For tests.
    var probeInterval = Duration.seconds(5)

    public init(
        display: String? = nil, monitor: String? = nil, region: PixelRect? = nil, drawsCursor: Bool = true,
        maxFrameRate: Double = 60
    ) {
        self.display = display
        self.monitor = monitor
        self.region = region
        self.drawsCursor = drawsCursor
        self.maxFrameRate = maxFrameRate
    }
}
