/// A source of pictures that a window shows.
public struct WindowSource: Hashable, Sendable {
    /// What a window has before it is told its sources.
    static let onlyOne = WindowSource(id: .min, name: nil)

    /// Distinguishes the sources; any number, the same as long as it is the same source.
    public var id: Int
    /// Shown under its picture in the grid, and over it where it is alone; nil: the window's title is enough.
    public var name: String?
    /// What is shown in the tile's middle instead of a live picture: a short sentence; nil: the picture is live.
    public var state: String?
    /// More about it, in the second line if there is room.
    public var detail: String?
    /// The state is a fault, not a step on the way to the picture.
    public var isFault: Bool
    /// The last picture is shown without colours, because the source has paused.
    public var isHeld: Bool
    /// A few words in the colour of warnings beside the name: `not encrypted`.
    public var warning: String?
    /// Its last picture isn't to be kept: no screenshot is taken of it.
    public var isWithheld = false
    /// A short piece of news beside the name; at most one line is shown.
    public var news: String?

    public init(
        id: Int, name: String?, state: String? = nil, detail: String? = nil, isFault: Bool = false,
        isHeld: Bool = false, warning: String? = nil, news: String? = nil
    ) {
        self.id = id
        self.name = name
        self.state = state
        self.detail = detail
        self.isFault = isFault
        self.isHeld = isHeld
        self.warning = warning
        self.news = news
    }
}
