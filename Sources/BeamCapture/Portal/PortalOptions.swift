import BeamBus
import BeamMedia

/// What to capture of a Wayland desktop through its portal (xdg-desktop-portal, interface ScreenCast), and how.
public struct PortalOptions: Sendable {
    /// What the desktop's dialog offers the person.
    public enum Choice: String, Sendable, CaseIterable {
        /// One monitor or one window.
        case any
        case monitor
        case window
        /// Any number of monitors and windows, side by side in one picture.
        case several
    }

    public var choice: Choice
    /// Whether the pointer is drawn into the pictures.
    public var drawsCursor: Bool
    /// Maximum pictures per second.
    public var maxFrameRate: Double
    /// The part of the picture that is shared; nil: all of it.
    public var region: PixelRect?
    /// The consent of earlier times isn't used: the person is asked.
    public var asksAgain: Bool
    /// Where consent is kept.
    public var tokens: PortalTokens
    /// Whose session bus the portal is on.
    public var buses: BusAddresses
    /// A session is begun once the screen is unlocked, if it is locked and the desktop begins none then.
    var waitsForUnlock = true
    /// The desktop's name as XDG_CURRENT_DESKTOP has it, and its display as WAYLAND_DISPLAY has it.
    var desktop: String?
    var display: String?

    public init(
        choice: Choice = .any, drawsCursor: Bool = true, maxFrameRate: Double = 60, region: PixelRect? = nil,
        asksAgain: Bool = false, tokens: PortalTokens = .none, buses: BusAddresses = .ofThisMachine
    ) {
        self.choice = choice
        self.drawsCursor = drawsCursor
        self.maxFrameRate = maxFrameRate
        self.region = region
        self.asksAgain = asksAgain
        self.tokens = tokens
        self.buses = buses
        desktop = BusAddresses.environment("XDG_CURRENT_DESKTOP")
        display = BusAddresses.environment("WAYLAND_DISPLAY")
    }

    /// The name under which consent is kept: it serves one display, and one choice.
    var tokenKey: String { "\(display ?? "wayland-0") \(choice.rawValue)" }
}

/// Keeps what the portal gives for a consent, so that the person isn't asked again: restore tokens. Each serves once.
public struct PortalTokens: Sendable {
    /// Takes the token of that name out, so that nobody else uses it.
    public var take: @Sendable (String) -> String?
    /// Keeps a token under that name. Returns why it can't be kept, as a sentence; nil: it is.
    public var keep: @Sendable (String, String) -> String?

    public init(take: @escaping @Sendable (String) -> String?, keep: @escaping @Sendable (String, String) -> String?) {
        self.take = take
        self.keep = keep
    }

    /// Keeps nothing.
    public static let none = PortalTokens(take: { _ in nil }, keep: { _, _ in nil })
}
