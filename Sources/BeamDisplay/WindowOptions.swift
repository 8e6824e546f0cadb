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

/// How a window begins.
public struct WindowOptions: Sendable {
    /// What stands in the title bar.
    public var title: String
    public var isFullscreen: Bool
    public var renderer: RendererChoice
    /// The X display, as `DISPLAY` has it; nil takes the environment's.
    public var display: String?
    /// Whether the statistics stand in the window from the beginning.
    public var showsStatistics: Bool

    public init(
        title: String = "BeamRoom", isFullscreen: Bool = false, renderer: RendererChoice = .automatic,
        display: String? = nil, showsStatistics: Bool = false
    ) {
        self.title = title
        self.isFullscreen = isFullscreen
        self.renderer = renderer
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
    /// The window's inner size in pixels has changed.
    case resized(PixelSize)
    case fullscreen(Bool)
    /// The display's server has gone away: nothing more can be shown.
    case displayLost
}

/// Words that stand in the window: over the dimmed picture if there is one, on a calm background if not.
public struct WindowMessage: Hashable, Sendable {
    /// One short sentence: `Connecting to Anna's iPhone…`.
    public var headline: String
    /// What more there is to say, or what to do next.
    public var detail: String?
    /// A code to compare or to type, shown large; six digits are shown as two groups of three.
    public var code: String?

    public init(headline: String, detail: String? = nil, code: String? = nil) {
        self.headline = headline
        self.detail = detail
        self.code = code
    }
}

/// A request for six digits, which the person types into the window.
public struct CodePrompt: Hashable, Sendable {
    /// `“desk” shows six digits`.
    public var headline: String
    /// What to do, or what was wrong with the last ones.
    public var detail: String

    public init(headline: String, detail: String) {
        self.headline = headline
        self.detail = detail
    }
}

/// A warning that stays at the window's edge as long as there is a picture.
public struct WindowWarning: Hashable, Sendable {
    /// A sentence, shown for some seconds, and again when the pointer moves.
    public var words: String
    /// A word or two, shown in between.
    public var short: String

    public init(words: String, short: String) {
        self.words = words
        self.short = short
    }
}

/// A host that can be chosen in the window.
public struct PickerEntry: Hashable, Sendable {
    public var name: String
    /// A second, smaller line: the address, say.
    public var detail: String?

    public init(name: String, detail: String? = nil) {
        self.name = name
        self.detail = detail
    }
}
