import BeamMedia

/// The renderer to use.
public enum RendererChoice: String, CaseIterable, Sendable {
    /// OpenGL if there is a graphics processor, otherwise software.
    case automatic
    /// OpenGL, even if emulated in software.
    case opengl
    /// The CPU, into the window's memory.
    case software
}

/// Whether presenting waits for the vertical blank. The software renderer never waits.
public enum VerticalSync: String, CaseIterable, Sendable {
    /// As little waiting as possible without tearing: none with a compositor, otherwise until the next vertical blank,
    /// except that a late picture is shown at once.
    case automatic = "auto"
    /// Always: adds up to one refresh interval of delay.
    case on
    /// Never: least delay, but pictures tear without a compositor.
    case off
}

/// A window's initial state.
public struct WindowOptions: Sendable {
    public var title: String
    public var isFullscreen: Bool
    public var renderer: RendererChoice
    public var verticalSync: VerticalSync
    /// The X display in `DISPLAY`'s syntax; nil: the environment's.
    public var display: String?
    /// Whether the statistics are shown from the start.
    public var showsStatistics: Bool
    /// Whether captions and notes are shown from the start.
    public var showsCaptions: Bool
    /// Whether notes can be written from the start. Only if so are dead keys and the Compose key prepared for on X11,
    /// which takes about 9 ms when the window opens.
    public var allowsNotes: Bool
    /// How many sources the window is going to show; it sets the first size.
    public var sources: Int
    /// What is shown comes from the members of a room: captions, notes and the transcript are the room's, whichever source
    /// is in focus, and there are keys for what a member does (`shareToggled`, `pauseToggled`, `people`).
    public var isRoom = false
    /// The window stays above others, where that can be done.
    public var isAlwaysOnTop = false
    /// It is a receiver's, which waits for senders: Escape ends what is shown, and doesn't leave full screen; the screen
    /// saver is off while it waits, too.
    public var isReceiver = false
    /// For some seconds after the first picture, a line names a few keys.
    public var hintsKeys = false

    public init(
        title: String = "BeamRoom", isFullscreen: Bool = false, renderer: RendererChoice = .automatic,
        verticalSync: VerticalSync = .automatic, display: String? = nil, showsStatistics: Bool = false,
        showsCaptions: Bool = true, allowsNotes: Bool = false, sources: Int = 1
    ) {
        self.title = title
        self.isFullscreen = isFullscreen
        self.renderer = renderer
        self.verticalSync = verticalSync
        self.display = display
        self.showsStatistics = showsStatistics
        self.showsCaptions = showsCaptions
        self.allowsNotes = allowsNotes
        self.sources = sources
    }
}

/// Something the person did, or that happened to the window.
public enum WindowEvent: Hashable, Sendable {
    /// The person closed the window or pressed `q`.
    case quit
    /// `wake()` was called at least once since the last report.
    case wake
    /// The person toggled the statistics with `i`; the window has already done so.
    case statistics(isShown: Bool)
    /// The person pressed `m`: sound off, or on again.
    case muteToggled
    /// The person pressed `+` or `-`: sound louder (positive) or softer by so many steps.
    case volumeChanged(steps: Int)
    /// The person toggled the captions with `c`; the window has already done so.
    case captions(isShown: Bool)
    /// In a room: the person pressed `s`, to share or to end that.
    case shareToggled
    /// In a room: the person pressed `p`, to hold what is shared from here, or to go on.
    case pauseToggled
    /// In a room: the person showed or hid the list of people with `w`; the window has already done so.
    case people(isShown: Bool)
    /// The person opened or closed the transcript; the window has already done so.
    case transcript(isShown: Bool)
    /// The person wrote this note: one line, not empty, at most 2,000 bytes of UTF-8, without control, bidirectional and
    /// invisible characters. Its line is closed.
    case noteWritten(String)
    /// The person chose the entry with this index in the list last given to `setPicker`.
    case chosen(Int)
    /// The person typed an address below the list, which `setPicker`'s check didn't refuse.
    case addressEntered(String)
    /// The person wants to go back to the list of hosts, by a button or the menu.
    case listWanted
    /// The person wants a screenshot of the picture in focus, which `picture(of:)` has.
    case screenshotWanted
    /// The person has put the window above all others, or not any more.
    case alwaysOnTop(Bool)
    /// The person typed or pasted the six digits that `setCodeEntry` asked for.
    case codeEntered(String)
    /// The person pressed Escape instead of typing the code. The prompt stays until `setCodeEntry` removes it.
    case codeGivenUp
    /// The person has taken the offer of the code entry (`CodePrompt.offer`), or pressed a button of `WindowButton` that says
    /// so.
    case offerTaken
    /// The person pressed Escape, and there was nothing in the window to close or to leave.
    case escaped
    /// The person has answered the question with this number (`setAsk`): with yes, or with no.
    case answered(ask: Int, yes: Bool)
    /// Another source is in focus, or the grid has come or gone (see `VideoWindow.focus`).
    case focusChanged
    /// The window's inner size in pixels has changed.
    case resized(PixelSize)
    case fullscreen(Bool)
}
