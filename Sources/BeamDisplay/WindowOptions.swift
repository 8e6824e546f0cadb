import BeamMedia

/// What draws the pictures.
public enum RendererChoice: String, CaseIterable, Sendable {
    /// OpenGL where there is a graphics processor for it, else software.
    case automatic
    /// OpenGL, even where it is emulated by the processor.
    case opengl
    /// The processor, straight into the window's memory.
    case software
}

/// Whether pictures wait for the screen's beat. Drawing in software never does.
public enum VerticalSync: String, CaseIterable, Sendable {
    /// The least wait that doesn't tear: none where a compositor takes whole pictures, else until the next beat, but a picture
    /// that is late isn't held back for another one.
    case automatic = "auto"
    /// Always: up to a beat's more delay.
    case on
    /// Never: the least delay, and pictures that tear where there is no compositor.
    case off
}

/// How a window begins.
public struct WindowOptions: Sendable {
    /// What stands in the title bar.
    public var title: String
    public var isFullscreen: Bool
    public var renderer: RendererChoice
    public var verticalSync: VerticalSync
    /// The X display, as `DISPLAY` has it; nil takes the environment's.
    public var display: String?
    /// Whether the statistics stand in the window from the beginning.
    public var showsStatistics: Bool

    public init(
        title: String = "BeamRoom", isFullscreen: Bool = false, renderer: RendererChoice = .automatic,
        verticalSync: VerticalSync = .automatic, display: String? = nil, showsStatistics: Bool = false
    ) {
        self.title = title
        self.isFullscreen = isFullscreen
        self.renderer = renderer
        self.verticalSync = verticalSync
        self.display = display
        self.showsStatistics = showsStatistics
    }
}

/// What a person did, or what happened to the window.
public enum WindowEvent: Hashable, Sendable {
    /// The person closed the window or pressed `q`.
    case quit
    /// `wake()` was called, once or more often, since the last time.
    case wake
    /// The person switched the statistics on or off with `i`; the window has already done so.
    case statistics(isShown: Bool)
    /// The person chose an entry of the list, by its index in what was last given to `setPicker`.
    case chosen(Int)
    /// The person typed or pasted the six digits that `setCodeEntry` asked for.
    case codeEntered(String)
    /// The person pressed Escape instead of typing the code; the question stands until `setCodeEntry` takes it away.
    case codeGivenUp
    /// The window's inner size in pixels has changed.
    case resized(PixelSize)
    case fullscreen(Bool)
    /// The display's server has gone away: nothing more can be shown.
    case displayLost
}
